"""The drawing rule: what every draw must satisfy, on any seed."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.crankback import crankback_cases
from experiments.campaign.draws.paths import (
    BACKTRACKING_PAIRS,
    MOST_FAILURES,
    PAIRS_A_ROUND,
    Draw,
    draw_rounds,
    links_met,
    most_sharing,
    primary_paths,
)
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.failure_sets import default_max_failures
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.walk import Learning, Network
from ryu_apps.schemes import plan_network
from te_solver.routes import ResidualRoutes
from tests.examples import examples, scaled

TOPOLOGIES = ("darkstrand", "usnet")
ROUNDS = 5


@lru_cache(maxsize=64)
def drawn(topology: str, seed: int) -> tuple[Draw, ...]:
    return draw_rounds(load_topology(topology), ROUNDS, seed)


anything = examples(8)
seeds = st.integers(1, scaled(4))  # few, since a draw is long and all laws share it
names = st.sampled_from(TOPOLOGIES)


@anything
@given(names, seeds)
def test_every_primary_crosses_exactly_one_of_the_links(name: str, seed: int) -> None:
    topology = load_topology(name)
    primaries = primary_paths(topology)
    for draw in drawn(name, seed):
        for pair in draw.pairs:
            crossed = {topology.link_id(direction) for direction in primaries[pair]}
            assert len(crossed & set(draw.links)) == 1


@anything
@given(names, seeds)
def test_the_network_stays_connected_however_many_of_the_links_fail(name: str, seed: int) -> None:
    topology = load_topology(name)
    for draw in drawn(name, seed):
        assert len(set(draw.links)) == MOST_FAILURES
        assert all(topology.is_connected(draw.links[:count]) for count in range(MOST_FAILURES + 1))


@anything
@given(names, seeds)
def test_sixty_pairs_of_five_rounds_are_all_different_in_either_direction(name: str, seed: int) -> None:
    pairs = [frozenset(pair) for draw in drawn(name, seed) for pair in draw.pairs]
    assert len(pairs) == len(set(pairs)) == ROUNDS * PAIRS_A_ROUND
    assert all(len(pair) == 2 for pair in pairs)


@anything
@given(names, seeds)
def test_links_are_ordered_by_the_primaries_they_hit_and_each_hits_one(name: str, seed: int) -> None:
    topology = load_topology(name)
    primaries = primary_paths(topology)
    for draw in drawn(name, seed):
        hits = [
            sum(link in {topology.link_id(each) for each in primaries[pair]} for pair in draw.pairs)
            for link in draw.links
        ]
        assert hits == sorted(hits, reverse=True)
        assert hits[-1] >= 1


@anything
@given(names, seeds)
def test_two_thirds_of_the_pairs_backtrack_there_or_back(name: str, seed: int) -> None:
    topology = load_topology(name)
    walks = {
        (case.source, case.destination, case.link): len(case.first_walk) - len(case.new_path)
        for case in crankback_cases(topology)
    }
    for draw in drawn(name, seed):
        back = [
            any(walks.get((*ends, link)) for ends in (pair, pair[::-1]) for link in draw.links) for pair in draw.pairs
        ]
        assert sum(back) >= BACKTRACKING_PAIRS


@anything
@given(names, seeds, st.integers(1, ROUNDS))
def test_first_rounds_do_not_depend_on_how_many_follow(name: str, seed: int, rounds: int) -> None:
    assert draw_rounds(load_topology(name), rounds, seed) == drawn(name, seed)[:rounds]


@pytest.mark.slow
def test_different_seeds_draw_differently() -> None:
    assert len({drawn("darkstrand", seed) for seed in range(1, 6)}) == 5


def test_a_network_that_cannot_lose_four_links_is_refused_by_name() -> None:
    with pytest.raises(BadInputError, match="'figure2'"):
        draw_rounds(load_topology("figure2"), 1, 1)


def test_most_sharing_counts_directions_apart() -> None:
    topology = load_topology("square")
    assert most_sharing(topology, (("s1", "s2"), ("s2", "s1"))) == 1
    assert most_sharing(topology, (("s1", "s2"), ("s1", "s2"))) == 2


def test_traffic_that_has_lost_its_link_shares_the_links_that_are_left() -> None:
    topology = load_topology("square")
    pairs = (("s2", "s1"), ("s2", "s3"))
    assert most_sharing(topology, pairs) == 1
    assert most_sharing(topology, pairs, frozenset([topology.parse_link("s1-s2")])) == 2


def test_a_packet_meets_only_the_links_that_lie_on_its_way() -> None:
    topology = load_topology("figure2")
    routes = ResidualRoutes(topology)
    primaries = primary_paths(topology)
    for pair, directions in primaries.items():
        on_path = [topology.link_id(direction) for direction in directions]
        assert links_met(routes, pair, frozenset()) == 0
        for link in topology.link_ids:
            if topology.is_connected([link]):
                assert links_met(routes, pair, frozenset([link])) == (1 if link in on_path else 0)


@anything
@given(names, seeds)
def test_packets_of_drawn_pairs_come_to_know_of_no_more_links_than_tags_name(name: str, seed: int) -> None:
    topology = load_topology(name)
    routes = ResidualRoutes(topology)
    named = default_max_failures(len(topology.link_ids))
    for draw in drawn(name, seed)[:2]:
        for count in range(1, MOST_FAILURES + 1):
            failed = frozenset(draw.links[:count])
            assert all(links_met(routes, way, failed) <= named for pair in draw.pairs for way in (pair, pair[::-1]))
        assert all(links_met(routes, pair, frozenset(draw.links)) >= 1 for pair in draw.pairs)


@pytest.mark.slow
def test_learned_rules_deliver_every_pair_of_a_round_however_many_links_fail() -> None:
    topology = load_topology("darkstrand")
    addresses = {node: host.ipv4 for node, host in hosts_of(topology).items()}
    plans = plan_network("sdfast", topology, PlanOptions(mode="learned", planner="tree"))
    draw = drawn("darkstrand", 1)[0]
    for count in range(1, MOST_FAILURES + 1):
        network = Network(topology, plans, Learning(), frozenset(draw.links[:count]))
        for pair in draw.pairs:
            for source, destination in (pair, pair[::-1]):
                sent = network.send(source, Packet(addresses[source], addresses[destination]))
                assert sent.outcome == "delivered"
