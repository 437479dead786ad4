"""1+1 protection as plans: connections, rows, hairpins; packets arrive once while a tunnel is left, and never twice."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.flow_match import PortRange
from experiments.cli.main import main
from experiments.verify.streams.protection import all_flows, verify_protect
from mininet_topos import generators, toy
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.check import violations
from ryu_apps.plan.diff import diff, install_phases
from ryu_apps.plan.fields import IP_TCP, IP_UDP
from ryu_apps.plan.ids import PROTECT_PORT
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.order import canonical
from ryu_apps.plan.protect.document import flow_to_data, parse_flows, read_flows
from ryu_apps.plan.protect.tunnels import find_pairs_of_paths
from ryu_apps.plan.protection import ProtectedFlow, protection_of, with_flow, without_flow
from ryu_apps.plan.rows import PushVlan, RulePlan
from ryu_apps.plan.serial import plan_from_json, plan_to_json
from ryu_apps.plan.text import names_of, plan_text
from ryu_apps.schemes import find_scheme, plan_network
from tests.examples import examples

PROTECT = find_scheme("protect")

GOLDEN = Path(__file__).resolve().parent / "golden"
UDP_5000 = ProtectedFlow("s1", "s3", IP_UDP, destination_ports=PortRange(5000, 5000))


def plans(topology: Topology, *flows: ProtectedFlow) -> dict[int, RulePlan]:
    return plan_network("protect", topology, PlanOptions(protection=protection_of(topology, flows)))


@st.composite
def protected_networks(draw: st.DrawFn) -> tuple[Topology, tuple[ProtectedFlow, ...]]:
    """Small connected networks, and some of the flows that can be protected in them."""
    nodes = draw(st.integers(3, 7))
    links = draw(st.integers(nodes - 1, min(nodes + 4, nodes * (nodes - 1) // 2)))
    topology = generators.random_connected("random", nodes, links, draw(st.integers(0, 10_000)))
    every = all_flows(topology)
    return topology, tuple(draw(st.lists(st.sampled_from(every), unique=True, max_size=6))) if every else ()


@examples(30)
@given(protected_networks())
def test_packets_arrive_once_with_a_tunnel_left_and_never_twice_whatever_two_links_fail(
    network: tuple[Topology, tuple[ProtectedFlow, ...]],
) -> None:
    topology, flows = network
    failed = [frozenset(links) for size in (1, 2) for links in combinations(topology.link_ids, size)]
    result = verify_protect(PROTECT, topology, flows, failed)
    assert result.holds, result.examples
    assert (result.looped, result.duplicated, result.dropped) == (0, 0, 0)
    assert result.cases == result.delivered + result.disconnected
    single = verify_protect(PROTECT, topology, flows, [frozenset([link]) for link in topology.link_ids])
    assert single.cases == single.delivered


@given(protected_networks())
@examples(30)
def test_plans_are_sound_canonical_and_survive_being_written_down(
    network: tuple[Topology, tuple[ProtectedFlow, ...]],
) -> None:
    topology, flows = network
    ports = assign_ports(topology)
    for plan in plans(topology, *flows).values():
        own = {port for node, port in ports.direction_at if node == plan.node} | {HOST_PORT, PROTECT_PORT}
        assert violations(plan, own) == ()
        assert canonical(plan) == plan
        assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan


def test_a_row_less_is_found_by_the_verifier() -> None:
    topology = toy.square()
    whole = plans(topology, UDP_5000)
    smaller = {
        dpid: replace(plan, flows=tuple(row for row in plan.flows if row.priority != 46000))
        for dpid, plan in whole.items()
    }
    assert sum(len(plan.flows) for plan in smaller.values()) < sum(len(plan.flows) for plan in whole.values())
    result = verify_protect(PROTECT, topology, [UDP_5000], [frozenset([topology.link_ids[0]])], planned=smaller)
    assert not result.holds
    assert "s1 to s3, udp to port 5000" in result.examples[0]


def test_a_switch_may_end_one_connection_of_a_packet_and_begin_the_next() -> None:
    topology = load_topology("ladder")
    chain = ProtectedFlow("s1", topology.node_names[-1], IP_TCP, via=("s1", "s3", topology.node_names[-1]))
    result = verify_protect(
        PROTECT, topology, [chain, chain.reverse], [frozenset([link]) for link in topology.link_ids]
    )
    assert result.holds, result.examples
    assert result.cases == result.delivered > 0
    middle = next(plan for plan in plans(topology, chain).values() if plan.node == "s3")
    anew = [row for row in middle.flows if PushVlan() in row.apply_actions]
    assert [{name: value for name, value, _ in row.match}["in_port"] for row in anew] == [PROTECT_PORT]


def test_behind_the_last_connection_packets_are_plain_again() -> None:
    topology = load_topology("ladder")
    part = ProtectedFlow("s1", topology.node_names[-1], IP_UDP, via=("s1", "s3"))
    link = next(iter(find_pairs_of_paths(topology, [("s1", "s3")])["s1", "s3"] or ()))[0]
    result = verify_protect(PROTECT, topology, [part], [frozenset([topology.link_id(link)])])
    assert (result.cases, result.delivered) == (1, 1)


def test_one_number_may_end_at_two_switches_but_not_twice_at_one() -> None:
    topology = toy.square()
    flows = [ProtectedFlow("s1", "s3", number=7), ProtectedFlow("s1", "s2", number=7)]
    protection = protection_of(topology, flows)
    assert [(each.number, each.egress, each.slot) for each in protection.connections] == [(7, "s3", 1), (7, "s2", 2)]
    with pytest.raises(BadInputError, match="connection 7 ends at s3 already, from s1; give the flow from s4"):
        with_flow(protection, ProtectedFlow("s4", "s3", number=7), topology)
    result = verify_protect(PROTECT, topology, flows, [frozenset([link]) for link in topology.link_ids])
    assert result.holds
    assert result.cases == result.delivered > 0


def test_adding_and_removing_a_flow_leaves_the_slots_and_rows_of_the_others() -> None:
    topology = toy.square()
    first, second, third = UDP_5000, ProtectedFlow("s1", "s2"), ProtectedFlow("s1", "s4")
    three = protection_of(topology, [first, second, third])
    two = without_flow(three, second, topology)
    assert set(two.connections) < set(three.connections)
    again = with_flow(two, second, topology)
    assert set(again.connections) == set(three.connections)
    assert without_flow(without_flow(two, first, topology), third, topology) == protection_of(topology, [])
    options = PlanOptions()
    before, after = (plan_network("protect", topology, replace(options, protection=each)) for each in (three, two))
    kept = [row for row in after[1].flows if row not in before[1].flows]
    assert kept == []
    assert install_phases(diff(before[1], after[1]))


def test_a_removed_flow_is_plain_ip_again() -> None:
    topology = toy.square()
    protection = without_flow(protection_of(topology, [UDP_5000]), UDP_5000, topology)
    plain = plan_network("protect", topology, PlanOptions())
    assert plan_network("protect", topology, PlanOptions(protection=protection)) == plain


def test_flows_are_read_both_ways_and_written_back() -> None:
    topology = toy.square()
    text = "flows:\n  - {from: h1, to: s3, protocol: udp, to_port: 5000, number: 9}\n"
    there, back = parse_flows(text, "flows.yaml", topology)
    assert there == replace(UDP_5000, number=9)
    assert back == ProtectedFlow("s3", "s1", IP_UDP, source_ports=PortRange(5000, 5000), number=9)
    assert read_flows([flow_to_data(flow, topology) for flow in (there, back)], topology) == (there, back)
    assert parse_flows(json.dumps([{"from": "h1", "to": "h3", "both_ways": False}]), "x", topology) == (
        ProtectedFlow("s1", "s3"),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("flows: []", "protected flows are a list"),
        ("- {from: h1, to: h9}", "flows.yaml:1: protected flow 1 has to 'h9', which is no host"),
        ("- {from: h1, to: h3, protocoll: udp}", "did you mean 'protocol'?"),
        ("- {from: h1, to: h3, protocol: icmp}", "protocol 'icmp'; use tcp or udp"),
        (
            "- {from: h1, to: h3, protocol: udp, to_port: 0}",
            "to_port 0; give a port from 1 to 65535, or a range such as 5000-5010",
        ),
        ("- {from: h1, to: h3, to_port: 80}", "has a port but no protocol"),
        ("- {from: h1, to: h3, protocol: udp, to_port: 9-5}", "to_port '9-5'; give a port from 1 to 65535"),
        ("- {from: h1, to: h3, protocol: udp, to_port: 1-65536}", "to_port '1-65536'; give a port"),
        ("- {from: h1, to: h3, protocol: udp, to_port: true}", "to_port True; give a port"),
        ("- {from: h1, to: h3, to_prefix: 10.0.0.3/24}", "to_prefix '10.0.0.3/24'; write a prefix without host bits"),
        ("- {from: h1, to: h3, to_prefix: 24}", "to_prefix 24; write a prefix"),
        ("- {from: h1, to: h3, to_prefix: 10.1.0.0/16}", "10.1.0.0/16 of a protected flow does not hold 10.0.0.3"),
        (
            "- {from: h1, to: h3, protocol: tcp, from_port: 1-65534, to_port: 1-65534}",
            "takes 900 rows in a switch, and 512 are allowed",
        ),
        (
            "- {from: h1, to: h3}\n- {from: h1, to: h3, protocol: udp, to_port: 1-9}",
            "flow s1 to s3, udp to port 1-9 never matches a packet, since flow s1 to s3 comes first",
        ),
        ("- {from: h1, to: h3, via: s2}", "has via 's2'; write a list"),
        ("- {from: h1, to: h3, via: [s2, s3]}", "does not lead on from s1"),
        ("- {from: h1, to: h3, both_ways: 1}", "both_ways 1; write true or false"),
        ("- {from: h1, to: h3, number: 16777216}", "number 16777216"),
        ("- {from: h1, to: h1}", "from s1 to itself"),
        ("- {from: h1, to: h3}\n- {from: h1, to: h3}", "s1 to s3 is protected already"),
        ("[", "flows.yaml:1: this is not YAML"),
        ("- 5", "protected flow 1 is 5"),
        ("", "flows.yaml is empty"),
        ("flows: {a: 1}", "flows.yaml:1: protected flows are a list"),
        (
            "- {from: h1, to: h3}\n- {from: h1, to: h2, via: [s1, h2]}",
            "flows.yaml:2: a protected flow names 'h2', which is no node",
        ),
        ("- {from: h1, from: h2, to: h3}", "flows.yaml:1: key 'from' stands twice"),
        ("- {from: h1, to: h3, protocol: [udp]}", "protocol ['udp']; use tcp or udp"),
        ("- &flow {from: h1, to: h3}\n- *flow", "flows.yaml:1: anchors"),
        ("[" * 500, "nested more than"),
    ],
)
def test_wrong_flows_are_one_sentence_with_the_repair(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "flows.yaml"
    file.write_text(text, encoding="utf-8")
    assert main(["plan", "protect", "square", "--protect", str(file)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert words in said.err


def test_a_pair_without_two_disjoint_paths_is_refused_by_name() -> None:
    with pytest.raises(BadInputError, match="no two disjoint paths lead from s1 to s2"):
        plans(toy.pair(), ProtectedFlow("s1", "s2"))


def test_the_commands_plan_and_verify_know_protected_flows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "flows.yaml"
    file.write_text("- {from: h1, to: h3, protocol: udp}\n", encoding="utf-8")
    assert main(["verify", "protect", "square", "--protect", str(file), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["cases"], value["delivered"], value["duplicated"], value["holds"]) == (8, 8, 0, True)
    assert main(["verify", "protect", "square"]) == 0
    assert "the promise holds" in capsys.readouterr().out
    assert main(["verify", "sdfast", "square", "--protect", str(file)]) == 2
    assert "--protect is for schemes that protect flows" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "node"), [("square", "s1"), ("square", "s2"), ("darkstrand", "s4")])
def test_the_rules_of_the_hairpin_are_what_they_were(request: pytest.FixtureRequest, name: str, node: str) -> None:
    topology = load_topology(name)
    flows = (
        [UDP_5000, UDP_5000.reverse] if name == "square" else [ProtectedFlow("s4", "s10"), ProtectedFlow("s1", "s9")]
    )
    plan = next(plan for plan in plans(topology, *flows).values() if plan.node == node)
    text = plan_text(plan, names_of(topology, node))
    file = GOLDEN / f"{name}-{node}.txt"
    if request.config.getoption("--update-golden"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
