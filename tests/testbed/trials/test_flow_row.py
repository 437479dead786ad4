"""The row of a trial of flows: what it says of trust, stages and paths."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("cvxpy")

from experiments.analysis.events import Event
from experiments.analysis.trust import Health
from experiments.campaign.draws.tunnel_traffic import Traffic
from experiments.campaign.parameters import plain
from experiments.campaign.values import CampaignPlan, Timing
from experiments.figures.kuijia.testbed import figure1_trials
from experiments.scenario.flow_values import FlowRecord
from experiments.testbed.trials.decide.flow_row import (
    SeenFlows,
    flow_row,
    flow_timing,
    lost_before,
    missing_before,
    stages_ms,
)
from tests.figures.kuijia_rows import fluid_of, placed_flows

TRIAL = figure1_trials(CampaignPlan(True, 1), "table2")[0]
TIMING = flow_timing(Timing(8.0, 15.0, 5.0), 3.0)


def record(**values: Any) -> FlowRecord:
    base = FlowRecord(
        *("f3", "s1", "s4", "tcp", None, 8.0, "direct", 0, 0, 8.0, 7.9),
        *(0.0, 1.25, 0, 0.3, (8.0,) * 4, -200.0),
    )
    return replace(base, **values)


def seen(records: list[FlowRecord], health: Health | None = None, events: tuple[Event, ...] = ()) -> SeenFlows:
    traffic = Traffic(TRIAL)
    placed = placed_flows(traffic)
    links = {"s1>s4": {"before": {1: 8.12345, 2: 0.0}, "after": {1: 8.1, 2: 1.9}}}
    return SeenFlows(TRIAL, placed, records, links, fluid_of(traffic, placed), 100.0, events, health or Health())


def test_windows_are_those_of_the_trial() -> None:
    assert (TIMING.before_s, TIMING.after_s, TIMING.final_s) == (8.0, 20.0, 5.0)


def test_a_row_is_json_and_tells_paths_queues_and_fluid() -> None:
    row = json.loads(json.dumps(plain(flow_row(seen([record()]), TIMING))))
    assert row["failed_links"] == ["s2-s4"]
    assert row["paths"]["f1"] == {"before": ["s1>s2", "s2>s4"], "after": ["s1>s4"]}
    assert row["links"]["s1>s4"] == {"before": {"1": 8.1235, "2": 0.0}, "after": {"1": 8.1, "2": 1.9}}
    assert row["fluid"]["f1"]["after_mbps"] == pytest.approx(10.5 * 1448 / 1518 - 8.0, abs=0.02)
    assert row["flows"][0]["class"] == "direct"
    assert (row["trustworthy"], row["warnings"]) == (True, [])
    assert row["windows_s"] == {"before_s": 8.0, "after_s": 20.0, "final_s": 5.0}


def test_a_flow_that_carried_nothing_before_the_failure_makes_a_trial_not_trustworthy() -> None:
    row = flow_row(seen([record(), record(name="f9", before_mbps=0.0)]), TIMING)
    assert not row.trustworthy
    assert row.warnings[0] == "f9 carried nothing before anything was broken"


def test_stages_are_those_after_the_failure() -> None:
    events = [
        Event(99.0, "controller", "restoration_begin"),
        Event(100.05, "controller", "restoration_begin"),
        Event(100.06, "controller", "restoration_done"),
        Event(100.30, "controller", "restoration_done"),
    ]
    assert stages_ms(events, 100.0) == {"notified": 50.0, "answered": 60.0}
    assert stages_ms(events[:1], 100.0) == {"notified": None, "answered": None}


@pytest.mark.parametrize(("lost", "sentences"), [(0.9, 0), (1.1, 1), (None, 0)])
def test_udp_that_is_lost_before_the_failure_is_not_trusted(lost: float | None, sentences: int) -> None:
    records = [record(transport="udp", lost_percent_before=lost)]
    assert len(lost_before(records)) == sentences
    row = flow_row(seen(records), TIMING)
    assert row.trustworthy == (not sentences)
    assert len(row.warnings) == sentences


@pytest.mark.parametrize(("before_mbps", "sentences"), [(7.7, 0), (7.5, 1)])
def test_tcp_that_misses_its_rate_before_the_failure_is_reported_and_trusted(
    before_mbps: float, sentences: int
) -> None:
    records = [record(before_mbps=before_mbps), record(transport="udp", before_mbps=0.0)]
    assert len(missing_before(records)) == sentences
    assert flow_row(seen(records[:1]), TIMING).trustworthy


def test_queues_that_are_not_strict_are_not_trusted() -> None:
    row = flow_row(seen([record()], Health(faults=("queues are not strict",))), TIMING)
    assert (row.trustworthy, row.warnings) == (False, ("queues are not strict",))
