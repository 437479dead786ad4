"""Walks of packets over arborescences in circular order: where they arrive, and where they need not."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import assume, given

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import PlanError
from ryu_apps.plan.arborescences.plan import fewer_failures_than_arborescences, packings
from ryu_apps.plan.ids import ports_group
from ryu_apps.plan.options import PlanOptions
from tests.examples import examples
from tests.verify.networks import case_of, connected, send, topology_of

OPTIONS = PlanOptions()
WHEEL = ((1, 2), (2, 3), (3, 4), (4, 1), (1, 5), (2, 5), (3, 5), (4, 5))
"""Three arborescences to every node, and no link too many."""


def walks(topology, failed):
    """Outcome of a packet of every pair."""
    case = case_of("arborescences", topology, OPTIONS, failed)
    network = case.network()
    return {pair: send(network, *pair).outcome for pair in case.pairs}


def mask_of(topology, failed):
    return sum(1 << topology.link_ids.index(link) for link in failed)


def assert_kept(topology, failed):
    """Every pair that is promised to arrive arrives."""
    promised = fewer_failures_than_arborescences(topology, OPTIONS)
    mask = mask_of(topology, failed)
    found = walks(topology, failed)
    assert {found[pair] for pair in found if promised(*pair, mask)} <= {"delivered"}


@examples(60)
@given(connected(max_nodes=6, max_extra=8))
def test_one_failure_is_survived_wherever_the_pair_has_two_paths_from_it(topology):
    for failed in topology.link_ids:
        assert_kept(topology, [failed])


@examples(40)
@given(connected(max_nodes=5, max_extra=12))
def test_two_failures_are_survived_where_three_arborescences_span(topology):
    assume(max(packing.full for packing in packings(topology, "hops")) > 2)
    for failed in combinations(topology.link_ids, 2):
        assert_kept(topology, failed)


def test_a_third_failure_can_lead_round_though_the_pair_is_joined():
    topology = topology_of(WHEEL)
    promised = fewer_failures_than_arborescences(topology, OPTIONS)
    assert all(set(walks(topology, failed).values()) == {"delivered"} for failed in combinations(topology.link_ids, 2))
    assert promised(0, 2, 0b11)
    assert not promised(0, 2, 0b111)
    outcomes = [set(walks(topology, failed).values()) for failed in combinations(topology.link_ids, 3)]
    assert any("looped" in each for each in outcomes)


def test_packets_carry_no_mark_and_leave_by_the_port_they_came_by_where_they_must():
    topology = load_topology("square")
    turned = 0
    for failed in topology.link_ids:
        case = case_of("arborescences", topology, OPTIONS, [failed])
        network = case.network()
        for pair in case.pairs:
            walk = send(network, *pair)
            assert walk.outcome == "delivered"
            assert {hop.packet for hop in walk.hops} == {walk.hops[0].packet}
            turned += any(walk.path[at] == walk.path[at + 2] for at in range(len(walk.path) - 2))
    assert turned


@pytest.mark.parametrize("ports", [(2, 3, 4, 5), (1024,), (0,)])
def test_ports_without_a_group_id_are_refused(ports):
    with pytest.raises(PlanError, match="have no group id"):
        ports_group(ports)


def test_orders_of_ports_have_groups_of_their_own():
    orders = [(2,), (3,), (2, 3), (3, 2), (2, 3, 4), (3, 4, 2), (1023, 1023, 1023)]
    assert len({ports_group(order) for order in orders}) == len(orders)
