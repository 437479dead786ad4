"""Results of runs that measure flows: claims, stages, counts, and how they are reported and drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.analysis.flow_result import FlowRun, expected_of, flow_stages, is_met, judge_flows
from experiments.charts.flows import draw_flows, smoothed
from experiments.cli.run_text import run_text
from experiments.scenario.failures.silent import Silent
from experiments.scenario.flow_values import FlowRecord, FlowTiming
from experiments.scenario.tunnel_values import Expected, Rerun
from experiments.scenario.values import Scenario, Variation
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId
from ryu_apps.plan.choices import NO_MODE

SQUARE = load_topology("square")
FAILURE = Silent(2.0, LinkId("s1", "s2", 0))


def record(name: str, kind: str, before: float, after: float, **more: object) -> FlowRecord:
    samples = (before,) * 20 + (after,) * 50
    values = {
        "name": name,
        "source": "s1",
        "destination": "s3",
        "transport": "tcp",
        "priority": None,
        "kind": kind,
        "offered_mbps": 8.0,
        "tunnel": 0,
        "tunnel_after": 1 if kind == "victim" else 0,
        "before_mbps": before,
        "after_mbps": after,
        "lost_percent_before": 0.0,
        "lost_percent_after": 0.0,
        "retransmits": 1,
        "convergence_s": 0.5,
        "samples_mbps": samples,
        "start_ms": -2000.0,
    }
    return FlowRecord(**{**values, **more})  # type: ignore[arg-type]


def run(*records: FlowRecord, expected: tuple[Expected, ...] = (), rerun: Rerun | None = None) -> FlowRun:
    variation = Variation("kuijia", NO_MODE)
    failures = () if rerun else (FAILURE,)
    scenario = Scenario("square", SQUARE, (variation,), (), failures, 7.0, expected=expected, rerun=rerun)
    return FlowRun(
        scenario,
        variation,
        records,
        fluid={each.name: {"before_mbps": 8.0, "after_mbps": 4.0} for each in records},
        links={"s1>s2": {"before": {1: 8.0}, "after": {1: 0.0, 2: 1.23456}}},
        stays=frozenset(each.name for each in records if each.kind != "victim"),
        failure_s=100.0,
        detections_s=(99.0, 100.02, 100.03),
        installs_s=(98.0, 100.05),
    )


def held(result: FlowRun, name: str, *, keeps: bool = True) -> bool:
    claims = judge_flows(result, keeps_others=keeps).claims
    return next(claim.held for claim in claims if claim.name.startswith(name))


@pytest.mark.parametrize(("after", "expected"), [(8.0, True), (7.3, True), (7.1, False), (9.9, True)])
def test_kuijia_is_held_to_keeping_the_throughput_of_everybody_but_victims(after: float, expected: bool) -> None:
    found = run(record("f1", "victim", 4.0, 0.0), record("f3", "direct", 8.0, after))
    assert held(found, "f3") is expected
    names = [claim.name for claim in judge_flows(found, keeps_others=True).claims]
    assert not any(name.startswith("f1") for name in names)
    assert [claim.name for claim in judge_flows(found, keeps_others=False).claims] == ["rows"]


@pytest.mark.parametrize(
    ("offered", "before", "after", "expected"),
    [
        (8.0, 0.0, 0.0, False),
        (None, 0.0, 0.0, False),
        (8.0, 0.0, 8.0, False),
        (0.02, 0.02, 0.0, False),
        (0.02, 0.02, 0.02, True),
        (None, 0.2, 0.16, True),
    ],
)
def test_only_a_flow_that_had_something_can_keep_it(
    offered: float | None, before: float, after: float, expected: bool
) -> None:
    assert held(run(record("f3", "direct", before, after, offered_mbps=offered)), "f3") is expected


def test_a_flow_of_which_no_datagram_was_sent_was_not_left_undisturbed() -> None:
    udp = {"transport": "udp", "sent": 0, "received": 0, "duplicated": 0, "reordered": 0}
    assert not held(run(record("stays", "none", 0.0, 0.0, **udp), rerun=Rerun(2.0)), "stays")


def test_what_is_expected_takes_the_place_of_the_promise() -> None:
    wanted = (Expected("f3", after_mbps=4.0), Expected("f3", "rescaling", after_mbps=1.0))
    found = run(record("f3", "direct", 8.0, 4.3), expected=wanted)
    assert held(found, "f3")
    assert expected_of(found, "f3") == wanted[:1]
    assert len(judge_flows(found, keeps_others=True).claims) == 2


@pytest.mark.parametrize("of_another", [Expected("f3", "rescaling", after_mbps=1.0), Expected("f3", before_mbps=8.0)])
def test_an_entry_that_says_nothing_of_afterwards_under_this_scheme_takes_no_promise_away(of_another: Expected) -> None:
    found = run(record("f3", "direct", 8.0, 4.3), expected=(of_another,))
    claims = judge_flows(found, keeps_others=True).claims
    assert [claim.name for claim in claims if not claim.held and claim.name.startswith("f3")]


@pytest.mark.parametrize(
    ("expected", "after", "met"),
    [
        (Expected("f", after_mbps=2.0), 2.19, True),
        (Expected("f", after_mbps=2.0), 2.21, False),
        (Expected("f", after_mbps=0.0), 0.79, True),
        (Expected("f", after_mbps=0.0), 0.81, False),
        (Expected("f", after_below_mbps=7.2), 7.1, True),
        (Expected("f", after_below_mbps=7.2), 7.2, False),
        (Expected("f", before_mbps=8.0, after_mbps=2.0, within_percent=50), 2.9, True),
        (Expected("f", before_mbps=6.0, after_mbps=2.0), 2.0, False),
    ],
)
def test_rates_are_met_within_a_percentage_of_what_is_expected_or_offered(
    expected: Expected, after: float, met: bool
) -> None:
    assert is_met(expected, record("f", "direct", 8.0, after)) is met


@pytest.mark.parametrize(("received", "reordered", "expected"), [(100, 0, True), (99, 0, False), (100, 1, False)])
def test_flows_that_stay_are_held_to_losing_nothing_when_traffic_engineering_runs(
    received: int, reordered: int, expected: bool
) -> None:
    udp = {"transport": "udp", "sent": 100, "received": received, "duplicated": 0, "reordered": reordered}
    found = run(
        record("stays", "none", 1.0, 1.0, **udp),
        record("moves", "victim", 1.0, 0.0, **{**udp, "received": 50}),
        rerun=Rerun(2.0),
    )
    claims = judge_flows(found, keeps_others=True).claims
    assert [claim.name for claim in claims] == ["stays need not move", "rows"]
    assert claims[0].held is expected
    assert judge_flows(found, keeps_others=True).to_json()["lost"] == 100 - received + 50


def test_wrong_rows_break_a_claim() -> None:
    found = replace(run(record("f", "none", 1.0, 1.0)), wrong_rows="s2 does not hold what is planned")
    assert not held(found, "rows")
    assert not judge_flows(found, keeps_others=True).held


def test_stages_are_those_after_the_failure() -> None:
    stages = flow_stages(run(record("f1", "victim", 4.0, 2.0), record("f3", "direct", 8.0, 8.0, convergence_s=1.2)))
    assert stages.detect == pytest.approx(20)
    assert stages.switch_over == pytest.approx(50)
    assert stages.first_good == pytest.approx(200)
    assert stages.steady == pytest.approx(1200)
    down = flow_stages(run(record("f1", "victim", 4.0, 0.0, convergence_s=None)))
    assert (down.first_good, down.steady, down.last_lost) == (None, None, None)


def test_results_are_plain_data_and_can_be_printed_and_drawn(tmp_path: Path) -> None:
    found = run(
        record("f1", "victim", 4.0, 2.0),
        record("f3", "direct", 8.0, 8.0),
        expected=(Expected("f1", after_mbps=3.0), Expected("f3", before_mbps=8.0)),
    )
    value = json.loads(json.dumps(judge_flows(found, keeps_others=True).to_json()))
    assert value["flows"][0]["met"] is False
    assert value["links"]["s1>s2"]["after"] == {"1": 0.0, "2": 1.2346}
    text = run_text(value)
    assert "BROKEN: f1: after 3 Mbit/s within 10 %: before 4.00, after 2.00 Mbit/s" in text
    assert "detected after 20.0 ms, ingress switches done after 50.0 ms" in text
    draw_flows([value], [tmp_path / "one.png", tmp_path / "one.svg"], "throughput")
    draw_flows([{**value, "failures": []}], [tmp_path / "two.svg"], "throughput")
    assert (tmp_path / "one.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "two.svg").stat().st_size > 0
    draw_flows([{"run": "broke off"}], [tmp_path / "none.png"], "nothing")
    assert not (tmp_path / "none.png").exists()


def test_smoothing_keeps_length_and_a_steady_line() -> None:
    assert smoothed([4.0] * 7) == [4.0] * 7
    assert smoothed([0.0, 0.0, 10.0, 0.0, 0.0, 0.0, 0.0])[2] == 2.0


@pytest.mark.parametrize("values", [{"before_s": 0.0}, {"after_s": 2.0, "final_s": 3.0}])
def test_windows_that_cannot_be_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(BadInputError):
        FlowTiming(**values)
