"""Packings of arborescences, each with its certificate: what they span, and that they share no arc."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from ryu_apps.plan.arborescences.packing import MOST, Arc, pack
from ryu_apps.plan.arborescences.plan import arcs_of
from tests.examples import examples
from tests.verify.networks import connected


def fewest_cut(n_nodes, arcs, root):
    """By node the fewest arcs that leave a set with the node and without the root, over all sets."""
    found = [len(arcs)] * n_nodes
    for chosen in range(1, 1 << n_nodes):
        if chosen >> root & 1:
            continue
        leaving = sum(chosen >> arc.tail & 1 and not chosen >> arc.head & 1 for arc in arcs)
        for node in range(n_nodes):
            if chosen >> node & 1:
                found[node] = min(found[node], leaving)
    return found


def assert_arborescence(tree, arcs, root):
    for node, arc in tree.items():
        assert arcs[arc].tail == node != root
        seen = set()
        while node != root:
            assert node not in seen
            seen.add(node)
            node = arcs[tree[node]].head


def assert_certified(packing, arcs, root, n_nodes):
    taken = [arc for tree in packing.trees for arc in tree.values()]
    assert len(taken) == len(set(taken))
    for tree in packing.trees:
        assert_arborescence(tree, arcs, root)
    assert packing.trees[0].keys() == set(range(n_nodes)) - {root}
    assert all(packing.inner - {root} <= tree.keys() for tree in packing.trees[: packing.full])


@examples(150)
@given(connected(max_nodes=7, max_extra=12), st.integers(0, 6))
def test_as_many_span_as_every_node_with_two_paths_has_paths(topology, number):
    n_nodes = len(topology.node_names)
    root, arcs = number % n_nodes, arcs_of(topology, "hops")
    packing, cuts = pack(n_nodes, arcs, root), fewest_cut(n_nodes, arcs, root)
    assert_certified(packing, arcs, root, n_nodes)
    assert packing.inner == {node for node in range(n_nodes) if node == root or cuts[node] > 1}
    inner = [cuts[node] for node in packing.inner - {root}]
    assert packing.full == min([MOST, *inner]) if inner else packing.full == 1


@pytest.mark.parametrize(("name", "full"), [("darkstrand", 2), ("usnet", 2), ("gscale", 2)])
def test_known_networks_have_as_many_as_their_connectivity(name, full):
    topology = load_topology(name)
    arcs = arcs_of(topology, "hops")
    for root in range(len(topology.node_names)):
        packing = pack(len(topology.node_names), arcs, root)
        assert_certified(packing, arcs, root, len(topology.node_names))
        assert packing.full == full


def test_a_node_that_nothing_joins_to_the_root_is_in_none():
    assert pack(3, [], 1).trees == ()


NEEDS_BACKWARD_STEP = (
    (0, 4),
    (2, 3),
    (2, 5),
    (1, 5),
    (2, 4),
    (3, 6),
    (0, 6),
    (1, 4),
    (3, 7),
    (0, 5),
    (1, 2),
    (4, 7),
    (6, 7),
)
"""While the first arborescence to node 5 grows, a node's second path needs an arc that its first one took."""


def test_paths_give_way_to_each_other():
    arcs = [Arc(tail, head, 1.0) for a, b in NEEDS_BACKWARD_STEP for tail, head in ((a, b), (b, a))]
    packing = pack(8, arcs, 5)
    assert_certified(packing, arcs, 5, 8)
    assert packing.full == MOST
