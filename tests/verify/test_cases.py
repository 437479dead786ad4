"""Which failures are tried, and what is left of the network."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.verify.cases import Residual, failure_masks
from experiments.verify.wiring import bits
from mininet_topos.errors import BadInputError
from tests.examples import examples
from tests.verify.networks import connected


@given(st.integers(1, 9), st.data())
def test_all_sets_of_a_size_are_tried_once(n_links, data):
    failures = data.draw(st.integers(1, n_links))
    masks = failure_masks(n_links, failures, None, 1)
    assert [tuple(bits(mask)) for mask in masks] == list(combinations(range(n_links), failures))


@given(st.integers(2, 12), st.integers(1, 20), st.integers(0, 5))
def test_a_sample_is_drawn_by_its_seed_without_repeats(n_links, sample, seed):
    masks = failure_masks(n_links, 2, sample, seed)
    everything = failure_masks(n_links, 2, None, seed)
    assert len(set(masks)) == len(masks) == min(sample, len(everything))
    assert set(masks) <= set(everything)
    assert failure_masks(n_links, 2, sample, seed) == masks


def test_another_seed_draws_other_sets():
    assert failure_masks(30, 3, 20, 1) != failure_masks(30, 3, 20, 2)


@pytest.mark.parametrize(("n_links", "said"), [(0, "no links that could fail"), (3, "use 1..3")])
def test_what_cannot_fail_is_refused(n_links, said):
    with pytest.raises(BadInputError, match=said):
        failure_masks(n_links, 4, None, 1)


@examples(60)
@given(connected(), st.data())
def test_distances_without_failed_links_are_those_of_networkx(topology, data):
    failed = sorted(data.draw(st.sets(st.integers(0, len(topology.link_ids) - 1))))
    order = topology.index_of
    ends = [(order[link.a], order[link.b]) for link in topology.link_ids]
    found = Residual(ends, len(order)).distances(failed)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(order)))
    graph.add_edges_from(pair for number, pair in enumerate(ends) if number not in failed)
    expected = dict(nx.all_pairs_shortest_path_length(graph))
    for (a, b), hops in np.ndenumerate(found):
        assert hops == expected[a].get(b, np.inf)
