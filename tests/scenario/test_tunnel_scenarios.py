# ruff: noqa: E501 - a case of the table reads best on one line
"""The keys of a scenario about tunnels, queues and flows: what is read, and every way in which one can be wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.scenario.document import to_document
from experiments.scenario.flow_values import Flow
from experiments.scenario.parse import ScenarioContext, parse_scenario
from experiments.scenario.tunnel_values import Expected, Rerun, TunnelConfiguration, WantedFlow
from experiments.scenario.values import Scenario
from experiments.terminal.inputs import parse as parse_file
from experiments.testbed.runs.flow_run import failed_at_once, timing_of
from experiments.testbed.runs.run import plan_scenario
from experiments.testbed.runs.tunnels import flows_of, queues_of, tunnel_planner
from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId
from ryu_apps.schemes import find_scheme

EXAMPLES = Path(__file__).parents[2] / "examples"
SQUARE = from_edges("figure1", numbered_nodes(["s1", "s2", "s3", "s4"]), ((1, 2), (2, 4), (1, 4), (1, 3), (3, 4)))
SCHEMES = ("kuijia", "rescaling", "te", "sdfast")
GOOD = """\
topology: figure1
schemes: [rescaling, kuijia]
capacity_mbps: 10
flows:
  - {from: h1, to: h4, mbps: 4, tunnel: [s1, s2, s4], moves_to: 2}
  - {name: other, from: s1, to: s4, kind: udp, mbps: 8, priority: high, start_s: 1}
failures:
  - {link: [s2, s4], at_s: 5}
"""


def parse(text: str) -> Scenario:
    scenario_context = ScenarioContext(lambda _name: SQUARE, {name: find_scheme(name) for name in SCHEMES})
    return parse_scenario(text, "run.yaml", scenario_context)


def test_flows_get_documented_defaults() -> None:
    scenario = parse(GOOD)
    assert scenario.flows == (
        WantedFlow(Flow("f1", "s1", "s4", "tcp", 4.0, port=20000, moves_to=2), via=("s1", "s2", "s4")),
        WantedFlow(Flow("other", "s1", "s4", "udp", 8.0, "high", port=20001, start_s=1.0)),
    )
    assert scenario.tunnels == TunnelConfiguration()
    assert {link.capacity_mbps for link in scenario.topology.links} == {10.0}
    assert (scenario.duration_s, scenario.measures_flows) == (20.0, True)
    assert timing_of(scenario).before_s == 5.0
    assert failed_at_once(scenario) == {LinkId("s2", "s4", 0)}


def test_a_scenario_of_flows_survives_being_written_down() -> None:
    more = "demands: [{src: s1, dst: s4, demand_mbps: 20, priority: 6}]\ntunnels: 2\nshape: decomposed\nnotified_by: agent\nqueues: four\nexpect: [{flow: f1, scheme: kuijia, after_mbps: 2}]\n"
    scenario = parse(GOOD + more)
    assert json.loads(scenario.tunnels.given) == [{"src": "s1", "dst": "s4", "demand_mbps": 20.0, "priority": 6}]
    assert scenario.expected == (Expected("f1", "kuijia", after_mbps=2.0),)
    assert parse(json.dumps(to_document(scenario))) == scenario
    in_dscp = parse(GOOD + "tunnel_field: dscp\n")
    assert in_dscp.tunnels == TunnelConfiguration(tunnel_field="dscp")
    assert parse(json.dumps(to_document(in_dscp))) == in_dscp
    rerun = GOOD.replace(
        "failures:\n  - {link: [s2, s4], at_s: 5}\n",
        "reoptimise: {at_s: 4, demands: [{src: s1, dst: s4, demand_mbps: 2}]}\n",
    )
    assert parse(rerun).rerun == Rerun(4.0, '[{"src": "s1", "dst": "s4", "demand_mbps": 2.0}]')
    assert parse(json.dumps(to_document(parse(rerun)))) == parse(rerun)


def test_flows_can_be_made_from_demands() -> None:
    text = "topology: figure1\nscheme: kuijia\ncapacity_mbps: 10\ndemands: [{src: s1, dst: s4, demand_mbps: 12}]\nflows: tcp\nfailures: [{link: s2-s4, at_s: 5}]\n"
    scenario = parse(text)
    planner = tunnel_planner(scenario, scenario.variations[0])
    flows = flows_of(scenario, scenario.variations[0], planner)
    assert len(flows) == 6
    assert sum(flow.offered_mbps or 0 for flow in flows) == pytest.approx(12.0 * 1448 / 1518)
    assert {(flow.tunnel, flow.moves_to) for flow in flows} == {(a, b) for a in range(3) for b in range(3) if a != b}


def test_tunnels_named_by_their_nodes_become_numbers() -> None:
    planned = plan_scenario(parse(GOOD.replace(", priority: high", "")))
    first = next(iter(planned.values())).flows[0]
    assert (first.tunnel, first.moves_to) == (1, 2)


def test_schemes_of_tunnels_have_three_queues_unless_others_are_asked_for() -> None:
    scenario = parse(GOOD)
    setup = queues_of(scenario, scenario.variations[0])
    assert setup is not None
    assert setup.name == "single"
    assert (setup.queue_of_ecn, bool(setup.queue_of_tc)) == ((), True)
    in_dscp = parse(GOOD + "tunnel_field: dscp\n")
    setup = queues_of(in_dscp, in_dscp.variations[0])
    assert setup is not None
    assert (setup.queue_of_ecn, setup.queue_of_tc) == (((0, 1), (3, 2)), ())
    text = GOOD.replace("[rescaling, kuijia]", "[sdfast]").replace(", tunnel: [s1, s2, s4], moves_to: 2", "")
    routes = parse(text)
    assert queues_of(routes, routes.variations[0]) is None
    low_queue = parse(text + "queues: low-queue\n")
    assert getattr(queues_of(low_queue, low_queue.variations[0]), "name", None) == "low-queue"


BAD = [
    (GOOD.replace("capacity_mbps: 10\n", ""), "has no capacity (10 directions have none); add 'capacity_mbps: 10'"),
    ("topology: figure1\nscheme: kuijia\ntraffic: [{from: h1, to: h2}]\n", "add 'capacity_mbps: 10'"),
    (GOOD + "split: select\n", "split select is for 'armor plan' only"),
    (GOOD + "queues: fuor\n", "did you mean 'four'?"),
    (GOOD + "queues: low-queue\n", "queues low-queue is not for rescaling"),
    (GOOD + "shape: flat\n", "shape 'flat' is not known"),
    (GOOD + "notified_by: rumour\n", "notified_by 'rumour' is not known"),
    (GOOD + "tunnel_field: vlan\n", "tunnel_field 'vlan' is not known"),
    (GOOD + "tunnel_field: dscp\nqueues: four\n", "both tunnel and class (priorities four)"),
    (GOOD + "tunnel_field: dscp\nnotified_by: agent\n", "agents notify each other by labels"),
    (
        GOOD.replace("[rescaling, kuijia]", "[sdfast]") + "tunnel_field: dscp\n",
        "tunnel_field is for schemes of tunnels, not for 'sdfast'",
    ),
    (
        GOOD.replace("failures:\n  - {link: [s2, s4], at_s: 5}\n", "reoptimise: {at_s: 4}\n") + "notified_by: agent\n",
        "agents keep the tunnels that they know",
    ),
    (GOOD + "tunnels: 0\n", "give a whole number from 1 to 16"),
    (GOOD + "demands: [{src: s1, dst: s9, demand_mbps: 1}]\n", "dst 's9' is no node"),
    (GOOD + "demands: [{src: s1, dst: s2}]\n", "a demand needs demand_mbps"),
    (GOOD + "traffic: [{from: h1, to: h2}]\n", "traffic and flows are both given"),
    (GOOD + "expect: [{flow: f9, after_mbps: 2}]\n", "expect names flow 'f9', which is none"),
    (GOOD + "expect: [{flow: f1}]\n", "an entry of expect says nothing"),
    (GOOD + "expect: [{flow: f1, scheme: te, after_mbps: 1}]\n", "scheme 'te' is not known"),
    (GOOD.replace("tunnel: [s1, s2, s4]", "tunnel: [s1, s2, s3]"), "does not lead from s1 to s4"),
    (GOOD.replace("name: other", "name: f1"), "flow 'f1' stands twice"),
    (GOOD.replace("kind: udp, mbps: 8", "kind: udp"), "a flow of kind udp needs mbps"),
    (GOOD.replace("to: s4", "to: s1"), "a flow goes from s1 to itself"),
    (GOOD.replace("{from: h1, to: h4,", "{from: h1,"), "a flow needs 'to'"),
    (GOOD.replace("at_s: 5", "at_s: 5, repair_at_s: 9"), "must last until the end; remove its repair"),
    (GOOD + "  - {link: [s1, s3], at_s: 6}\n", "with flows only one thing may happen"),
    (GOOD.replace("failures:\n  - {link: [s2, s4], at_s: 5}\n", ""), "flows are compared before and after something"),
    (GOOD + "reoptimise: {at_s: 4}\n", "with flows only one thing may happen"),
    (GOOD.replace("at_s: 5", "at_s: 0"), "give at_s above 0"),
    (GOOD.replace("start_s: 1", "start_s: 9"), "flow 'other' begins at 9 s, after the warm-up (settle_s 2)"),
    (
        GOOD.replace("[rescaling, kuijia]", "[sdfast]") + "shape: decomposed\n",
        "shape is for schemes of tunnels, not for 'sdfast'",
    ),
    (
        GOOD.replace("[rescaling, kuijia]", "[sdfast]") + "notified_by: agent\n",
        "notified_by is for schemes of tunnels, not for 'sdfast'",
    ),
    ("topology: figure1\nscheme: sdfast\ntraffic: [{from: h1, to: h2}]\nexpect: []\n", "expect needs flows"),
    (GOOD.replace("flows:\n", "flows: []\nold:\n"), "has no key 'old'"),
]


@pytest.mark.parametrize(("text", "complaint"), BAD, ids=[complaint[:40] for _, complaint in BAD])
def test_mistakes_are_named_with_their_line(text: str, complaint: str) -> None:
    with pytest.raises(BadInputError) as error:
        parse(text)
    assert complaint in str(error.value)
    assert str(error.value).startswith("run.yaml:")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD.replace("tunnel: [s1, s2, s4]", "tunnel: [s1, s2, s3, s4]"), "which is none of its pair's"),
        (GOOD, "priority 'high'"),
        (GOOD.replace(", priority: high", "").replace("moves_to: 2", "moves_to: 1"), "moves no slot of it there"),
    ],
)
def test_what_the_tunnels_cannot_do_is_refused_before_anything_is_built(text: str, complaint: str) -> None:
    with pytest.raises(BadInputError, match=complaint):
        plan_scenario(parse(text))


@pytest.mark.parametrize("name", ["kuijia_table2.yaml", "kuijia_table3.yaml"])
def test_the_examples_of_kuijia_can_be_planned(name: str) -> None:
    path = EXAMPLES / name
    planned = plan_scenario(parse_file(path.read_text(encoding="utf-8"), str(path)))
    assert [variation.scheme for variation in planned] == ["rescaling", "kuijia"]
    for prepared in planned.values():
        assert [(flow.tunnel, flow.moves_to) for flow in prepared.flows] == [(1, 0), (1, 2), (0, None), (2, None)]
