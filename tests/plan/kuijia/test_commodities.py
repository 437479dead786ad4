"""From what traffic engineering decides to pairs with tunnels, weights, ways back and labels."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError, PlanLimitError
from mininet_topos.topology import LinkId
from mininet_topos.toy import TOYS
from ryu_apps.plan.kuijia.commodities import (
    TunnelCommodity,
    label_key,
    nodes_of,
    reverse_path,
    with_ways_back,
)
from ryu_apps.plan.kuijia.sources import allocated_commodities, equal_commodities
from ryu_apps.plan.kuijia.tunnel_field import FIRST_LABEL, MplsField, assign_labels
from te_solver.demands import random_pairs, with_classes
from te_solver.network import to_network
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem
from te_solver.values import Demand
from tests.plan.kuijia.networks import figure1, figure1_traffic, path

GSCALE = load_topology("gscale")


def test_an_allocation_becomes_commodities_with_its_tunnels_and_weights() -> None:
    demands = with_classes(random_pairs(GSCALE, 5, 900.0, seed=4), low_to_high=10)
    allocation = solve(to_problem(to_network(GSCALE), demands), SolveOptions())
    found = allocated_commodities(allocation)
    assert [(each.src, each.dst, each.priority) for each in found] == [(d.src, d.dst, d.priority) for d in demands]
    weights = [weight for each in found for weight in each.weights]
    assert weights == allocation.splitting_weights.tolist()
    assert [path for each in found for path in each.paths] == [tunnel.links for tunnel in allocation.problem.tunnels]
    assert all(sum(each.weights) == pytest.approx(1) for each in found)


def test_demands_that_nothing_can_carry_are_left_out() -> None:
    island = replace(TOYS["pair"](), nodes=(*TOYS["pair"]().nodes, replace(TOYS["pair"]().nodes[0], name="s3")))
    demands = (Demand("s1", "s3", 5.0), Demand("s2", "s1", 5.0))
    found = allocated_commodities(solve(to_problem(to_network(island), demands), SolveOptions()))
    assert [each.pair for each in found] == [("s2", "s1")]
    assert [each.pair for each in equal_commodities(island)] == [("s1", "s2"), ("s2", "s1")]


def test_without_demands_every_pair_gets_three_tunnels_of_equal_weight() -> None:
    found = equal_commodities(GSCALE)
    assert [each.pair for each in found] == list(permutations(GSCALE.node_names, 2))
    assert {len(each.paths) for each in found} == {3}
    assert {each.weights for each in found} == {(1 / 3, 1 / 3, 1 / 3)}


def test_tunnels_of_gscale_never_all_fail_with_one_link() -> None:
    for each in equal_commodities(GSCALE):
        for link in GSCALE.link_ids:
            assert len(each.down(GSCALE, [link])) < 3


def test_failed_tunnels_are_those_that_cross_a_failed_link_in_either_direction() -> None:
    traffic = figure1_traffic()
    assert traffic.down(figure1(), [LinkId("s2", "s4")]) == {0}
    assert traffic.reverse.down(figure1(), [LinkId("s2", "s4"), LinkId("s1", "s3")]) == {0, 2}
    assert traffic.down(figure1(), []) == frozenset()


def test_the_way_back_is_the_same_links_with_the_same_weights() -> None:
    traffic = figure1_traffic((0.5, 0.3, 0.2))
    back = traffic.reverse
    assert nodes_of(back.paths[0]) == ("s4", "s2", "s1")
    assert (back.weights, back.reverse) == (traffic.weights, traffic)
    assert with_ways_back([traffic]) == (traffic, back)
    assert with_ways_back([back, traffic]) == (back, traffic)


def test_a_pair_and_priority_that_stands_twice_is_refused() -> None:
    with pytest.raises(BadInputError, match="'s1' to 's4' of priority 1 stands twice"):
        with_ways_back([figure1_traffic(), figure1_traffic((1, 0, 0))])
    assert len(with_ways_back([figure1_traffic(), replace(figure1_traffic(), priority=6)])) == 4


@pytest.mark.parametrize(
    ("paths", "weights", "words"),
    [
        ((), (), "0 tunnels and 0 weights"),
        ((path("s1", "s4"),), (0.5, 0.5), "1 tunnels and 2 weights"),
        ((path("s1", "s4"),), (-1.0,), "numbers of at least 0"),
        ((path("s1", "s4"),), (float("nan"),), "numbers of at least 0"),
        ((path("s1", "s2"),), (1.0,), "has the tunnel s1>s2; give simple paths"),
        ((path("s1", "s2") + path("s3", "s4"),), (1.0,), "give simple paths"),
        ((path("s1", "s2", "s1", "s4"),), (1.0,), "give simple paths"),
        (((),), (1.0,), "give simple paths"),
    ],
)
def test_a_commodity_that_means_nothing_is_refused(paths: object, weights: object, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        TunnelCommodity("s1", "s4", paths, weights)  # type: ignore[arg-type]


def test_a_label_stands_for_one_path_in_both_directions() -> None:
    both_ways = with_ways_back(equal_commodities(GSCALE))
    labels = assign_labels(both_ways)
    paths = {path for each in both_ways for path in each.paths}
    assert len(labels) == len(set(labels.values())) == len({label_key(path) for path in paths})
    assert all(label_key(path) == label_key(reverse_path(path)) for path in paths)
    assert sorted(labels.values()) == list(range(FIRST_LABEL, FIRST_LABEL + len(labels)))


def test_paths_that_stay_keep_their_labels_and_none_of_those_in_force_changes_its_meaning() -> None:
    before, after = (
        equal_commodities(GSCALE, [("s1", node) for node in nodes]) for nodes in (("s5", "s9"), ("s9", "s12"))
    )
    held = assign_labels(before)
    labels = assign_labels(after, held)
    kept = labels.keys() & held.keys()
    assert kept
    assert all(labels[path] == held[path] for path in kept)
    assert not {labels[path] for path in labels.keys() - kept} & set(held.values())


def test_more_paths_than_labels_are_refused() -> None:
    assert len(assign_labels([figure1_traffic()], field=MplsField(range(3)))) == 3
    with pytest.raises(PlanLimitError, match="the network has more tunnels than the 2 that"):
        assign_labels([figure1_traffic()], field=MplsField(range(2)))
