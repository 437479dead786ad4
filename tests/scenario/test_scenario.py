# ruff: noqa: E501 - a case of the table reads best on one line
"""Scenario files: what is read, and every way in which one can be wrong."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.decide.delay_line import MAX_LINK_DELAY_MS as MAX_EMULATED_LINK_MS
from emulation.decide.options import MAX_CONTROL_DELAY_MS as MAX_EMULATED_MS
from experiments.scenario.document import to_document
from experiments.scenario.failure import Failure
from experiments.scenario.failures import controller, flap, kill, node, one_way, silent
from experiments.scenario.parse import MAX_CONTROL_DELAY_MS as MAX_SCENARIO_MS
from experiments.scenario.parse import MAX_LINK_DELAY_MS as MAX_SCENARIO_LINK_MS
from experiments.scenario.parse import ScenarioContext, parse_scenario
from experiments.scenario.stream import Traffic
from experiments.scenario.traffic import iperf3_tcp, ping, probe
from experiments.scenario.values import Control, Replay, Scenario, Variation
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Link, LinkId, Node, Topology
from ryu_apps.plan.scheme import Scheme
from ryu_apps.schemes import find_scheme


def ring(size: int = 5) -> Topology:
    """s1-s2-...-s1, and a second, parallel s1-s2."""
    names = [f"s{number}" for number in range(1, size + 1)]
    pairs = [(names[index], names[(index + 1) % size], 0) for index in range(size)] + [("s1", "s2", 1)]
    links = tuple(Link(*ends) for a, b, key in pairs for ends in ((a, b, key), (b, a, key)))
    return Topology("ring", tuple(Node(name) for name in names), links)


RING = ring()


def load(name: str) -> Topology:
    if name != "ring":
        raise BadInputError(f"topology {name!r} is not known; use ring")
    return RING


def schemes(*names: str) -> dict[str, Scheme]:
    return {name: find_scheme(name) for name in names}


SCENARIO_CONTEXT = ScenarioContext(load, schemes("sdfast", "ffg", "shortest"))
GOOD = """\
topology: ring
scheme: sdfast
traffic:
  - {from: h1, to: s3}
failures:
  - {link: [s2, s1], at_s: 2, repair_at_s: 4}
"""


def parse(text: str) -> Scenario:
    return parse_scenario(text, "run.yaml", SCENARIO_CONTEXT)


def test_a_short_scenario_gets_documented_defaults() -> None:
    scenario = parse(GOOD)
    assert scenario.variations == (Variation("sdfast", "learned"),)
    assert scenario.traffic == (probe.Probe("s1", "s3", interval_ms=2.0),)
    assert scenario.failures == (silent.Silent(2.0, LinkId("s1", "s2"), repair_at_s=4.0),)
    assert scenario.duration_s == 7.0
    assert scenario.wait_to_restore_s == 5.0
    assert scenario.bfd_interval_ms is None


def test_control_delay_is_none_unless_given_and_survives_being_written_down() -> None:
    assert parse(GOOD).control_delay_ms == 0.0
    slow = parse(with_line("control_delay_ms: 2.5"))
    assert slow.control_delay_ms == 2.5
    assert parse(json.dumps(to_document(slow))) == slow


def test_link_delays_reach_every_link_are_emulated_when_stated_and_survive_being_written_down() -> None:
    assert parse(GOOD).link_delays is None
    slow = parse(with_line("delay_ms: 2.5\njitter_ms: 1"))
    assert {(link.delay_ms, link.jitter_ms) for link in slow.topology.links} == {(2.5, 1.0)}
    assert slow.link_delays is True
    assert parse(json.dumps(to_document(slow))) == slow
    assert parse(with_line("delay_ms: 2\nlink_delays: false")).link_delays is False
    from_a_file = ScenarioContext(lambda _name: RING, schemes("sdfast"))
    text = GOOD.replace("topology: ring", "topology: ./ring.json")
    assert parse_scenario(text, "run.yaml", from_a_file).link_delays is True


def test_scenarios_accept_the_control_delays_that_the_emulation_can_make() -> None:
    assert MAX_SCENARIO_MS == MAX_EMULATED_MS
    assert MAX_SCENARIO_LINK_MS == MAX_EMULATED_LINK_MS


def test_json_with_tabs_reads_like_yaml() -> None:
    document = {
        "topology": "ring",
        "scheme": "sdfast",
        "traffic": [{"from": "h1", "to": "s3"}],
        "failures": [{"link": ["s2", "s1"], "at_s": 2, "repair_at_s": 4}],
    }
    assert parse(json.dumps(document, indent="\t")) == parse(GOOD)


def test_modes_multiply_only_the_schemes_that_have_modes() -> None:
    text = GOOD.replace("scheme: sdfast", "schemes: [sdfast, ffg]\nmodes: [learned, agent]")
    assert [variation.name for variation in parse(text).variations] == ["sdfast-learned", "sdfast-agent", "ffg"]


def test_every_kind_of_failure_is_read() -> None:
    text = GOOD[: GOOD.index("failures")] + (
        "failures:\n"
        "  - {link: 's1-s2#1', kind: one-way, from: s2, at_s: 1}\n"
        "  - {link: [s3, s4], kind: flap, times: 4, period_s: 0.5, at_s: 2}\n"
        "  - {node: s5, at_s: 3, repair_at_s: 9}\n"
        "  - {controller: true, at_s: 4, repair_at_s: 5}\n"
        "  - {kill: agent, node: s4, at_s: 6}\n"
        "  - {kill: controller, at_s: 6}\n"
        "  - {link: [s4, s5], kind: carrier, at_s: 7}\n"
    )
    whats = [(failure.kind, failure.what) for failure in parse(text).failures]
    assert whats == [
        ("one-way", "s1-s2#1 from s2"),
        ("flap", "s3-s4"),
        ("node", "s5"),
        ("controller", "controller"),
        ("kill", "agent of s4"),
        ("kill", "controller"),
        ("carrier", "s4-s5"),
    ]


def with_line(key_value: str) -> str:
    return GOOD + key_value + "\n"


def with_failure(failure: str) -> str:
    return GOOD[: GOOD.index("  - {link")] + f"  - {failure}\n"


def with_traffic(stream: str) -> str:
    return GOOD.replace("{from: h1, to: s3}", stream)


BAD = {
    "unknown topology": (GOOD.replace("ring", "rang"), "run.yaml:1: topology 'rang' is not known; use ring"),
    "missing topology": ("scheme: ffg", "run.yaml:1: a scenario needs a topology"),
    "unknown scheme": (GOOD.replace("sdfast", "sdfsat"), "run.yaml:2: scheme 'sdfsat' is not known; did you mean 'sdfast'?"),
    "missing scheme": (GOOD.replace("scheme: sdfast\n", ""), "run.yaml:1: a scenario needs a scheme"),
    "scheme twice": (GOOD.replace("scheme: sdfast", "schemes: [ffg, ffg]"), "run.yaml:2: scheme 'ffg' stands twice"),
    "scheme and schemes": (with_line("schemes: [ffg]"), "run.yaml:7: scheme and schemes are both given"),
    "list for scheme": (GOOD.replace("scheme: sdfast", "scheme: [ffg]"), "run.yaml:2: scheme takes one word"),
    "no schemes": (GOOD.replace("scheme: sdfast", "schemes: []"), "run.yaml:2: schemes is empty"),
    "unknown key": (with_line("topologi: x"), "run.yaml:7: a scenario has no key 'topologi'; did you mean 'topology'?"),
    "unknown time": (with_line("settles_s: 1"), "run.yaml:7: a scenario has no key 'settles_s'; did you mean 'settle_s'?"),
    "duplicate key": (with_line("scheme: ffg"), "run.yaml:7: key 'scheme' stands twice (also on line 2)"),
    "unknown mode": (with_line("mode: lerned"), "run.yaml:7: mode 'lerned' is not known; did you mean 'learned'?"),
    "link that does not exist": (with_failure("{link: [s1, s3], at_s: 1}"), "run.yaml:6: link [s1, s3] does not exist in 'ring'; s1 is joined to s2, s2, s5"),
    "link text that does not exist": (with_failure("{link: s1-s3, at_s: 1}"), "run.yaml:6: topology 'ring' has no link 's1-s3'"),
    "parallel link that does not exist": (with_failure("{link: [s2, s3, 1], at_s: 1}"), "run.yaml:6: link [s2, s3, 1] does not exist"),
    "link of one end": (with_failure("{link: [s2], at_s: 1}"), "run.yaml:6: link has 1 entries"),
    "link end unknown": (with_failure("{link: [s2, s9], at_s: 1}"), "run.yaml:6: link end 's9' is no node of 'ring'"),
    "node unknown": (with_failure("{node: x1, at_s: 1}"), "run.yaml:6: node 'x1' is no node of 'ring'"),
    "no target": (with_failure("{at_s: 1}"), "run.yaml:6: a failure names nothing that fails"),
    "two targets": (with_failure("{link: [s1, s2], node: s1, at_s: 1}"), "run.yaml:6: a failure names both link and node"),
    "no time": (with_failure("{node: s1}"), "run.yaml:6: a failure needs at_s"),
    "time without a value": (with_failure("{node: s1, at_s: }"), "run.yaml:6: a failure needs at_s"),
    "target without a value": (with_failure("{link: , at_s: 1}"), "run.yaml:6: a failure names nothing that fails"),
    "negative time": (with_failure("{node: s1, at_s: -1}"), "run.yaml:6: at_s is -1; give a number of at least 0"),
    "time not a number": (with_failure("{node: s1, at_s: soon}"), "run.yaml:6: at_s must be a number; it is 'soon'"),
    "time NaN": (with_failure("{node: s1, at_s: .nan}"), "run.yaml:6: at_s is nan"),
    "time infinite": (with_failure("{node: s1, at_s: .inf}"), "run.yaml:6: at_s is inf"),
    "repair first": (with_failure("{node: s1, at_s: 3, repair_at_s: 3}"), "run.yaml:6: repair_at_s 3 is not after at_s 3"),
    "unknown kind": (with_failure("{link: [s1, s2], kind: silnt, at_s: 1}"), "run.yaml:6: kind 'silnt' is not known; did you mean 'silent'?"),
    "node of a link kind": (with_failure("{node: s1, kind: silent, at_s: 1}"), "run.yaml:6: kind 'silent' is not known; use one of node"),
    "flap with repair": (with_failure("{link: [s1, s2], kind: flap, at_s: 1, repair_at_s: 2}"), "run.yaml:6: repair_at_s does not go with a flap failure"),
    "times without flap": (with_failure("{link: [s1, s2], times: 3, at_s: 1}"), "run.yaml:6: times does not go with a silent failure"),
    "one-way from elsewhere": (with_failure("{link: [s1, s2], kind: one-way, from: s3, at_s: 1}"), "run.yaml:6: from 's3' is no end of s1-s2"),
    "down twice": (GOOD + "  - {link: [s1, s2], at_s: 3}\n", "run.yaml:7: s1-s2 fails at 3 s but is down until 4 s (line 6)"),
    "down for good": (GOOD.replace(", repair_at_s: 4", "") + "  - {link: [s1, s2], at_s: 9}\n", "is down for good (line 6)"),
    "kill without node": (with_failure("{kill: agent, at_s: 1}"), "run.yaml:6: kill: agent needs the switch"),
    "kill unknown": (with_failure("{kill: agnet, node: s1, at_s: 1}"), "run.yaml:6: kill 'agnet' is not known; did you mean 'agent'?"),
    "kill controller of a node": (with_failure("{kill: controller, node: s1, at_s: 1}"), "run.yaml:6: node does not go with a kill: controller failure"),
    "controller false": (with_failure("{controller: false, at_s: 1}"), "run.yaml:6: controller is False; write 'controller: true'"),
    "host unknown": (with_traffic("{from: h9, to: h1}"), "run.yaml:4: from 'h9' is no host of 'ring'"),
    "host to itself": (with_traffic("{from: h1, to: s1}"), "run.yaml:4: traffic goes from s1 to itself"),
    "no destination": (with_traffic("{from: h1}"), "run.yaml:4: a traffic entry needs 'to'"),
    "interval 0": (with_traffic("{from: h1, to: h2, interval_ms: 0}"), "run.yaml:4: interval_ms is 0; give a number of at least 0.5"),
    "rate missing": (with_traffic("{from: h1, to: h2, kind: iperf3-udp}"), "run.yaml:4: kind iperf3-udp needs rate_mbps"),
    "rate of a probe": (with_traffic("{from: h1, to: h2, rate_mbps: 3}"), "run.yaml:4: rate_mbps does not go with kind probe"),
    "packet rate of a ping": (with_traffic("{from: h1, to: h2, kind: ping, rate_pps: 3}"), "run.yaml:4: rate_pps does not go with kind ping"),
    "datagrams without a rate": (with_traffic("{from: h1, to: h2, kind: datagrams}"), "run.yaml:4: kind datagrams needs rate_pps"),
    "datagrams that stop": (with_traffic("{from: h1, to: h2, kind: datagrams, rate_pps: 9, stop_s: 3}"), "run.yaml:4: datagrams are sent until the run ends"),
    "stream twice": (GOOD.replace("s3}", "s3}\n  - {from: h3, to: h1}"), "run.yaml:5: a probe between s1 and s3 stands twice"),
    "stop before start": (with_traffic("{from: h1, to: h2, start_s: 3, stop_s: 2}"), "run.yaml:4: stop_s 2 is not after start_s 3"),
    "no traffic": (GOOD.replace("\n  - {from: h1, to: s3}", " []"), "run.yaml:3: a scenario needs traffic"),
    "traffic not a list": (GOOD.replace("\n  - {from: h1, to: s3}", " h1"), "run.yaml:3: traffic must be a list"),
    "capacity 0": (with_line("default_capacity_mbps: 0"), "run.yaml:7: default_capacity_mbps is 0; give a number of at least 0.1 and at most 1e+06"),
    "bfd 0": (with_line("bfd_interval_ms: 0"), "run.yaml:7: bfd_interval_ms is 0; give a whole number from 1 to 10000"),
    "negative control delay": (with_line("control_delay_ms: -1"), "run.yaml:7: control_delay_ms is -1; give a number of at least 0"),
    "control delay of an hour": (with_line("control_delay_ms: 3.6e6"), "at least 0 and at most 10000"),
    "control delay as a word": (with_line("control_delay_ms: 5ms"), "run.yaml:7: control_delay_ms must be a number"),
    "negative link delay": (with_line("delay_ms: -1"), "run.yaml:7: delay_ms is -1; give a number of at least 0"),
    "long jitter": (with_line("jitter_ms: 1e5"), "run.yaml:7: jitter_ms is 100000.0; give a number"),
    "link delays as a word": (with_line("link_delays: maybe"), "run.yaml:7: link_delays must be true or false"),
    "negative seed": (with_line("seed: -1"), "run.yaml:7: seed is -1"),
    "negative wait": (with_line("wait_to_restore_s: -2"), "run.yaml:7: wait_to_restore_s is -2"),
    "too short": (with_line("duration_s: 3"), "run.yaml:6: failure of s1-s2 reaches beyond duration_s 3"),
    "duration 0": (with_line("duration_s: 0"), "run.yaml:7: duration_s is 0"),
    "boolean seed": (with_line("seed: true"), "run.yaml:7: seed is True"),
    "broken YAML": ("topology: [ring\nscheme: x", "run.yaml:2: this is not YAML"),
    "binary": ("\x00\x01", "run.yaml: this is not text"),
    "empty": ("", "run.yaml is empty"),
    "a list": ("- topology", "run.yaml:1: a scenario must be a mapping"),
    "alias": ("a: &x 1\nb: *x", "run.yaml:1: anchors (&) and aliases (*) are not read"),
    "tag": ("topology: !!python/object:os.system ring", "run.yaml:1: tag 'python/object:os.system' is not read"),
    "list as key": ("? [a]\n: 1", "run.yaml:1: a key must be a word"),
    "deep": ("a: " + "[" * 50, "run.yaml:1: nested more than 20 deep"),
    "an escape that names no character": ('topology: "\\U00110000"', "run.yaml: this is not text"),
    "a control character": (GOOD.replace("ring", '"ri\\eng"'), "run.yaml:1: topology is 'ri\\x1bng', with characters that cannot be shown"),
    "after many years": (with_failure("{node: s1, at_s: 1e9}"), "run.yaml:6: at_s is 1000000000.0; give a number of at least 0 and at most 86400"),
    "flaps of many years": (with_failure("{link: [s1, s2], kind: flap, times: 1000, period_s: 1000, at_s: 1}"), "run.yaml:1: the last event is after 999501 s"),
    "traffic after the end": (GOOD.replace("s3}", "s3, start_s: 20}") + "duration_s: 9\n", "run.yaml:7: duration_s 9 ends before traffic from s1 begins, at 20 s"),
    "traffic that stops after the end": (with_traffic("{from: h1, to: s3, stop_s: 20}") + "duration_s: 9\n", "run.yaml:7: duration_s 9 ends before traffic from s1 stops, at 20 s; make it longer"),
    "endless wait": (with_line("wait_to_restore_s: 1e308"), "run.yaml:7: wait_to_restore_s is 1e+308"),
    "rate of no program": (with_traffic("{from: h1, to: h2, kind: iperf3-udp, rate_mbps: 1e-9}"), "run.yaml:4: rate_mbps is 1e-09"),
    "link beyond what is emulated": (with_line("capacity_mbps: 1e9"), "run.yaml:7: capacity_mbps is 1000000000.0"),
    "two documents": ("a: 1\n---\nb: 2", "run.yaml:2: this is not YAML"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_scenarios_are_answered_by_one_sentence_with_file_and_line(case: str) -> None:
    text, wanted = BAD[case]
    with pytest.raises(BadInputError) as caught:
        parse(text)
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)


def test_traffic_may_stop_when_the_run_ends() -> None:
    scenario = parse(with_traffic("{from: h1, to: s3, stop_s: 9}") + "duration_s: 9\n")
    assert (scenario.traffic[0].stop_s, scenario.duration_s) == (9.0, 9.0)


def complaint_about(text: str) -> str | None:
    try:
        parse(text)
    except BadInputError as error:
        return str(error)
    return None


@given(st.text(max_size=80))
def test_any_text_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(BadInputError) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=3),
    st.sampled_from(["s1", "h2", "sdfast", "flap", "agent", ["s1", "s2"], {"a": 1}]),
)  # fmt: skip
KEYS = st.sampled_from(
    ["topology", "scheme", "mode", "seed", "duration_s", "traffic", "failures", "planner", "settle_s", "max_failures"]
)
FAILURE_KEYS = st.sampled_from(
    ["link", "node", "kill", "controller", "kind", "at_s", "repair_at_s", "times", "from", "period_s"]
)


@given(st.dictionaries(KEYS, VALUES), st.lists(st.dictionaries(FAILURE_KEYS, VALUES), max_size=2))
def test_any_document_is_read_or_refused_in_one_line(extra: dict, failures: list) -> None:
    document = {"topology": "ring", "scheme": "ffg", "traffic": [{"from": "h1", "to": "h2"}], "failures": failures}
    complaint = complaint_about(json.dumps(document | extra))
    assert complaint is None or (complaint.startswith("run.yaml") and "\n" not in complaint)


def links() -> st.SearchStrategy[LinkId]:
    return st.sampled_from(RING.link_ids)


@st.composite
def failures(draw: st.DrawFn) -> tuple[Failure, ...]:
    """Failures one after another, so that none overlaps."""
    start_s, chosen = 0.0, []
    for _ in range(draw(st.integers(0, 4))):
        at_s = start_s + draw(st.integers(1, 10)) / 4
        repair_at_s = at_s + draw(st.integers(1, 10)) / 4
        link = draw(links())
        chosen.append(
            draw(
                st.sampled_from(
                    [
                        silent.Silent(at_s, link, repair_at_s=repair_at_s),
                        one_way.OneWay(at_s, link, sender=link.b, repair_at_s=repair_at_s),
                        flap.Flap(at_s, link, times=2, period_s=0.25),
                        node.Node(at_s, "s3", repair_at_s=repair_at_s),
                        controller.Controller(at_s, repair_at_s=repair_at_s),
                        *(kill.Kill(at_s, process, "s2") for process in kill.PROCESSES[:3]),
                    ]
                )
            )
        )
        start_s = repair_at_s
    return tuple(chosen)


@given(
    failures(),
    st.sampled_from([probe.Probe, ping.Ping, iperf3_tcp.Iperf3Tcp]),
    st.integers(0, 9),
    st.one_of(st.none(), st.integers(1, 200)),
)
def test_a_scenario_written_out_reads_back_equal(
    failures: tuple[Failure, ...], kind: type[Traffic], seed: int, bfd_interval_ms: int | None
) -> None:
    variations = (Variation("sdfast", "learned"), Variation("sdfast", "agent"), Variation("shortest", "none"))
    scenario = Scenario(
        "ring", RING, variations, (kind("s2", "s4"),), failures, 60.0, seed, bfd_interval_ms
    )  # fmt: skip
    assert parse(json.dumps(to_document(scenario))) == scenario


def test_protected_flows_belong_to_scheme_protect_and_survive_being_written_down() -> None:
    scenario_context = ScenarioContext(load, schemes("protect", "shortest"))
    text = (
        GOOD.replace("scheme: sdfast", "schemes: [protect, shortest]")
        + "protect: [{from: h1, to: h3, protocol: udp}]\n"
    )
    protected = parse_scenario(text, "run.yaml", scenario_context)
    first, second = protected.variations
    assert [flow.source for flow in first.protection.flows] == ["s1", "s3"]
    assert second.protection is None
    assert parse_scenario(json.dumps(to_document(protected)), "run.yaml", scenario_context) == protected
    for wrong, words in (
        (text.replace("protect: [", "protect: [{from: h1, to: h9}, "), "run.yaml:7: protected flow 1 has to 'h9'"),
        (text.replace("[protect, shortest]", "[shortest]"), "run.yaml:7: protect is for schemes that protect flows"),
        (text.partition("protect: [{")[0], "scheme protect needs flows"),
    ):
        with pytest.raises(BadInputError, match=words.replace("[", r"\[")):
            parse_scenario(wrong, "run.yaml", scenario_context)


CONTROLLED = (
    GOOD.replace("scheme: sdfast", "schemes: [sqr, ffg]")
    + "sqr: {links: [[s1, s2]], slots: 1024, delta_ms: 900}\n"
    + "controls: [{scheme: ffg, outage_percent: [80, 120]}, {scheme: sqr, name: short, delta_ms: 5, packets: 9}]\n"
)


def test_a_control_with_settings_is_a_run_of_its_own_and_survives_being_written_down() -> None:
    scenario_context = ScenarioContext(load, schemes("sqr", "ffg"))
    made = parse_scenario(CONTROLLED, "run.yaml", scenario_context)
    assert [each.name for each in made.variations] == ["sqr", "ffg", "sqr-short"]
    assert made.variations[2].replay == Replay(("s1-s2",), 1024, 5.0)
    assert made.controls == (
        Control("ffg", outage_percent=(80.0, 120.0)),
        Control("sqr", "short", Replay(("s1-s2",), 1024, 5.0), packets=9),
    )
    assert parse_scenario(json.dumps(to_document(made)), "run.yaml", scenario_context) == made


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("scheme: ffg,", "scheme: fgg,", "did you mean 'ffg'"),
        ("scheme: ffg, ", "", "a control needs the scheme that must lose"),
        (", packets: 9", "", "give either packets or outage_percent"),
        (", packets: 9", ", packets: 9, outage_percent: [1, 2]", "give either packets or outage_percent"),
        ("[80, 120]", "[120, 80]", "the lower one first"),
        ("[80, 120]", "[80]", "give the lowest and the highest"),
        ("name: short, ", "", "give it a name"),
        ("name: short", "name: ../short", "becomes the name of a folder"),
        ("delta_ms: 5, ", "", "a name is for settings of SQR"),
        ("scheme: sqr, name", "scheme: ffg, name", "for schemes that keep packets, not for 'ffg'"),
        ("delta_ms: 5", "slots: 1000", "give a power of two"),
        ("{scheme: ffg,", "{scheme: sqr, name: short, margin: 3, packets: 1}, {scheme: ffg,", "stands twice"),
    ],
)
def test_a_control_that_says_nothing_or_too_much_is_refused(right: str, wrong: str, words: str) -> None:
    assert CONTROLLED.count(right) == 1
    with pytest.raises(BadInputError, match=re.escape(words)):
        parse_scenario(CONTROLLED.replace(right, wrong), "run.yaml", ScenarioContext(load, schemes("sqr", "ffg")))
