"""Walks of packets through plans of TI-LFA: where repairs lead, and what stands on the packets meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.verify.verify import coverage
from mininet_topos.catalogue import load_topology
from mininet_topos.ports import HOST_PORT
from mininet_topos.toy import TOYS
from ryu_apps.plan.check import violations
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.ti_lfa.plan import adjacency_label, node_label, not_covered, plan_ti_lfa, repaired_at_the_failure
from ryu_apps.plan.ti_lfa.repairs import MOST_LABELS
from tests.examples import examples
from tests.verify.networks import case_of, connected, send, topology_of

OPTIONS = PlanOptions()


@examples(60)
@given(connected(max_nodes=7), st.sampled_from(["spt", "mst"]))
def test_every_single_failure_with_a_repair_is_survived_and_no_other(topology, routes):
    options = PlanOptions(routes=routes)
    promised = repaired_at_the_failure(topology, options)
    for number, failed in enumerate(topology.link_ids):
        case = case_of("ti_lfa", topology, options, [failed])
        healthy, network = case_of("ti_lfa", topology, options, []).network(), case.network()
        for pair in case.pairs:
            planned, walk = send(healthy, *pair), send(network, *pair)
            assert planned.outcome == "delivered"
            assert not any(hop.packet.mpls for hop in planned.hops)
            assert all(len(hop.packet.mpls) <= MOST_LABELS for hop in walk.hops)
            if walk.path != planned.path or walk.outcome != "delivered":
                assert (walk.outcome == "delivered") == promised(*pair, 1 << number)


def test_on_darkstrand_packets_carry_up_to_two_labels_and_lose_each_before_its_segment_ends():
    topology = load_topology("darkstrand")
    planned = case_of("ti_lfa", topology, PlanOptions(routes="mst"), ())
    depths = set()
    for failed in topology.link_ids:
        network = planned._replace(failed=frozenset([failed])).network()
        for end in (failed.a, failed.b):
            for target in range(len(topology.nodes)):
                source = topology.index_of[end]
                if target == source:
                    continue
                walk = send(network, source, target)
                assert walk.outcome == "delivered"
                depths |= {len(hop.packet.mpls) for hop in walk.hops}
                ends = [
                    (hop.packet.mpls[0][0], node_label(topology.index_of[hop.node] + 1))
                    for hop in walk.hops
                    if hop.packet.mpls
                ]
                assert all(label != own for label, own in ends)
    assert depths == {0, 1, 2}


def test_an_end_pops_by_what_is_below_and_hosts_may_send_no_labels():
    topology = TOYS["square"]()
    plan = plan_ti_lfa(topology, OPTIONS, owner=20)[1]
    model, live = SwitchModel(plan), frozenset({1, 2, 3})
    for label in (node_label(2), adjacency_label(2)):
        for below in ((), ((node_label(3), 0),)):
            packet = Packet(1, 2, mpls=((label, 0), *below))
            ((port, sent, _),) = interpret_switch(model, packet, 3, live).outputs
            assert (port, sent) == (2, Packet(1, 2, mpls=below))
            assert interpret_switch(model, packet, 2, live).outputs[0][0] == 2  # back by its in-port
            assert interpret_switch(model, packet, HOST_PORT, live).is_drop
    assert violations(plan, {1, 2, 3}) == ()


def test_what_is_not_covered_is_named_by_switch_and_link():
    topology = topology_of([(1, 2), (2, 3), (3, 1), (3, 4), (4, 5)])
    bridge, last = topology.parse_link("s3-s4"), topology.parse_link("s4-s5")
    found = not_covered(topology, OPTIONS)
    assert found[("s3", bridge)] == ("s4", "s5")
    assert found[("s4", bridge)] == ("s1", "s2", "s3")
    assert found[("s4", last)] == ("s5",)
    assert {link for _, link in found} == {bridge, last}


@pytest.mark.parametrize("scheme", ["ti_lfa", "ti_lfa_restoration"])
@pytest.mark.parametrize("name", ["usnet", "gscale"])
def test_known_networks_are_covered_whole_against_one_failure(scheme, name):
    found = coverage(load_topology(name), scheme, OPTIONS)
    assert found["holds"]
    assert found["dropped"] == found["looped"] == 0
    assert found["delivered"] == found["promised"] == found["cases"]
