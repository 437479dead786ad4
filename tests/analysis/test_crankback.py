"""The crankback is arithmetic on trees; the interpreter, walking real plans, must say the same."""

from __future__ import annotations

import pytest

from experiments.analysis.crankback import crankback_cases, find_case, longest_crankback, node_path
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.walk import DELIVERED, Learning, Network
from ryu_apps.schemes import plan_network


@pytest.mark.slow
@pytest.mark.parametrize("name", ["figure2", "tail", "ladder", "parallel"])
def test_first_walk_is_what_the_interpreter_does_with_the_first_packet(name: str) -> None:
    topology = load_topology(name)
    plans, hosts = plan_network("sdfast", topology, PlanOptions(notification="off")), hosts_of(topology)
    cases = list(crankback_cases(topology))
    assert cases
    for case in cases:
        network = Network(topology, plans, Learning(), frozenset([case.link]))
        packet = Packet(ipv4_src=hosts[case.source].ipv4, ipv4_dst=hosts[case.destination].ipv4)
        first, later = network.send(case.source, packet), network.send(case.source, packet)
        assert first.outcome == DELIVERED
        assert first.path == node_path(case.first_walk)
        assert later.path == node_path(case.new_path)


def test_the_long_tail_backtracks_five_hops() -> None:
    case = longest_crankback(load_topology("tail"))
    assert (case.hops_back, str(case.link)) == (5, "s6-s7")
    assert len(case.first_walk) == len(case.new_path) + 2 * case.hops_back


def test_a_given_pair_and_link_is_found() -> None:
    topology = load_topology("figure2")
    longest = longest_crankback(topology)
    found = find_case(topology, longest.source, longest.destination, longest.link)
    assert found == longest
    assert find_case(topology, longest.source, longest.destination, None).hops_back == longest.hops_back


def test_a_tree_has_no_case() -> None:
    with pytest.raises(BadInputError, match="every link of 'star' is a bridge"):
        longest_crankback(load_topology("star"))


def test_a_link_off_the_primary_is_refused() -> None:
    topology = load_topology("square")
    with pytest.raises(BadInputError, match="choose another pair"):
        find_case(topology, "s1", "s2", LinkId("s3", "s4"))
