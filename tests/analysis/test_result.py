"""Results: packet counts that add up, the shape that `run --json` promises, and claims that can fail."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.analysis.dumps import DumpReport
from experiments.analysis.injected import Action, InjectedEvent
from experiments.analysis.packet_counts import Flight, Sighting, Way
from experiments.analysis.probes import ProbeId
from experiments.analysis.record import Record, Stream
from experiments.analysis.result import judge
from experiments.analysis.rows import failure_rows, probe_rows
from experiments.analysis.timeline import STAGES
from experiments.charts import run_panels
from experiments.charts.delay import draw_delay, highest_delay, shown_time
from experiments.charts.labels import spread_labels
from experiments.scenario.failures.node import Node
from experiments.scenario.failures.silent import Silent
from experiments.scenario.traffic.probe import Probe
from experiments.scenario.values import Replay, Scenario, Variation
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Direction
from ryu_apps.plan.protection import Protection
from ryu_apps.plan.rows import FlowRow

SQUARE = load_topology("square")
LINK = SQUARE.link_ids[0]
THERE, BACK, BYPASS = Direction(LINK.a, LINK.b), Direction(LINK.b, LINK.a), Direction(LINK.a, "s4")
PROBE = ProbeId(1, 2, "probe", False, 0)
ZERO_S, FAILURE_S, REPAIR_S, END_S = 100.0, 101.0, 103.0, 108.0


def flights(lost: range, turned: frozenset[int] = frozenset()) -> tuple[Flight, ...]:
    """A packet every 10 ms from 99.5 s on; number 150 leaves at the failure, 350 at the repair, 850 at the end."""
    made = []
    for number in range(850):
        sent_s = 99.5 + number / 100
        hops = [Sighting(sent_s + 0.0002, THERE, PROBE, 0)]
        if number in turned:
            hops += [Sighting(sent_s + 0.0004, BACK, PROBE, 1), Sighting(sent_s + 0.0006, BYPASS, PROBE, 2)]
        made.append(Flight(number, sent_s, () if number in lost else (sent_s + 0.001,), tuple(hops)))
    return tuple(made)


def record(lost: range, turned: frozenset[int] = frozenset(), **changes: object) -> Record:
    traffic = Probe(LINK.a, LINK.b)
    failures = (Silent(1.0, LINK, repair_at_s=3.0),)
    variation = Variation("sdfast", "learned")
    scenario = Scenario("square", SQUARE, (variation,), (traffic,), failures, 8.0)
    ways = (Way("out", 1, 2, "probe", is_reply=False), Way("back", 2, 1, "probe", is_reply=True))
    whole = Record(
        scenario=scenario,
        variation=variation,
        streams=(Stream(traffic, ways, (flights(lost, turned), flights(range(0)))),),
        injected=(
            InjectedEvent(Action(1.0, 0, False), FAILURE_S, FAILURE_S),
            InjectedEvent(Action(3.0, 0, True), REPAIR_S, REPAIR_S),
        ),
        zero_s=ZERO_S,
        end_s=END_S,
        detections=((LINK.a, 101.015), ("s3", 101.001)),
        dumps=(DumpReport("s1", (), (), ()),),
    )
    return replace(whole, **changes)


def always(_source: str, _destination: str, _down: frozenset) -> bool:
    return True


def never(_source: str, _destination: str, _down: frozenset) -> bool:
    return False


RECOVERED = record(range(150, 153), frozenset({153}))
DISCONNECTED = record(range(150, 350))


def test_json_has_the_promised_shape_and_the_counts_add_up() -> None:
    value = json.loads(json.dumps(judge(RECOVERED, always).to_json()))
    assert value["scheme"] == "sdfast"
    (failure,) = value["failures"]
    assert failure["link"] == [LINK.a, LINK.b]
    assert failure["kind"] == "silent"
    assert list(failure["stages_ms"]) == list(STAGES)
    assert failure["stages_ms"] == {
        "detect": 15.0,
        "switch_over": 30.4,
        "first_good": 31.0,
        "last_lost": 20.0,
        "last_crankback": 30.4,
        "steady": 41.0,
    }
    assert value["sent"] == value["received"] + value["lost"] == 1600
    assert (value["lost"], value["backtracked"], value["duplicated"], value["reordered"]) == (3, 1, 0, 0)
    assert value["trustworthy"] is True
    assert value["warnings"] == []
    assert value["held"] is True
    (probe,) = value["probes"]
    assert probe["out"]["lost"] + probe["back"]["lost"] == value["lost"]


def test_only_switches_at_the_failure_detect_it() -> None:
    far = record(range(150, 153), detections=(("s3", 101.001),))
    assert judge(far, always).failures[0].stages.detect is None


def test_a_promise_that_is_not_kept_is_a_broken_claim() -> None:
    result = judge(DISCONNECTED, always)
    assert not result.held
    (broken,) = [claim for claim in result.claims if not claim.held]
    assert "recovers from silent failure of s1-s2" in broken.name
    assert "200 of" in broken.detail


def test_a_scheme_that_promises_nothing_breaks_nothing() -> None:
    result = judge(DISCONNECTED, never)
    assert result.held
    assert result.failures[0].stages.steady is None


def test_a_pair_that_is_cut_off_is_not_claimed() -> None:
    both = (Node(1.0, "s2", repair_at_s=3.0),)
    cut_off = replace(DISCONNECTED, scenario=replace(DISCONNECTED.scenario, failures=both))
    assert judge(cut_off, always).held


def test_loss_after_the_repair_is_a_broken_claim() -> None:
    result = judge(record(range(150, 850)), lambda _source, _destination, down: not down)
    assert [claim.name for claim in result.claims if not claim.held] == ["s1>s2 is delivered after the repair of s1-s2"]


def test_too_short_a_time_after_a_repair_is_not_judged() -> None:
    short = record(range(150, 850), end_s=REPAIR_S + 2)
    assert judge(short, lambda _source, _destination, down: not down).held


def test_what_is_still_broken_after_a_repair_is_not_claimed() -> None:
    failures = (*DISCONNECTED.scenario.failures, Silent(2.0, SQUARE.link_ids[1]))
    injected = (*DISCONNECTED.injected, InjectedEvent(Action(2.0, 1, False), 102.0, 102.0))
    both = replace(
        record(range(150, 850)), scenario=replace(DISCONNECTED.scenario, failures=failures), injected=injected
    )
    assert judge(both, lambda _source, _destination, down: not down).held


def test_stale_rules_are_a_broken_claim() -> None:
    dirty = replace(RECOVERED, dumps=(DumpReport("s1", (), (FlowRow(3, 1, ()),), ()),))
    (broken,) = [claim for claim in judge(dirty, always).claims if not claim.held]
    assert broken.detail == "s1: 0 rows missing, 1 stale"


def test_rows_carry_every_parameter_and_redraw_the_picture(tmp_path: Path) -> None:
    result = judge(RECOVERED, always)
    rows = list(failure_rows(result))
    assert [row["way"] for row in rows] == ["out", "back"]
    assert sum(row["lost"] for row in rows) == 3
    packets = list(probe_rows(result))
    assert len(packets) == 1700
    assert [row["sequence"] for row in packets if row["back_hops"]] == [153]
    (panel,) = run_panels.panels([result.to_json()], packets)
    assert sum(dot.delay_ms is None for dot in panel.dots) == 3
    assert [round(dot.sent_ms) for dot in panel.dots if dot.backtracked] == [30]
    pytest.importorskip("matplotlib")
    draw_delay([panel], [tmp_path / "figure.png", tmp_path / "figure.svg"], "title")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_shows_the_time_around_all_stages() -> None:
    (panel,) = run_panels.panels([judge(RECOVERED, always).to_json()], probe_rows(judge(RECOVERED, always)))
    start_ms, end_ms = shown_time([panel])
    assert start_ms < 0 < max(value for value in panel.stages_ms.values() if value is not None) < end_ms
    assert highest_delay(panel.dots) > 1.0


def test_without_recovery_the_picture_shows_the_loss_going_on() -> None:
    (panel,) = run_panels.panels([judge(DISCONNECTED, never).to_json()], probe_rows(judge(DISCONNECTED, never)))
    assert shown_time([panel])[1] >= 1000


def test_labels_keep_their_order_and_distance() -> None:
    places = spread_labels([0.0, 0.1, 0.2, 50.0, 50.1], 10.0, (-20.0, 100.0))
    assert places == sorted(places)
    assert all(second - first >= 9.999 for first, second in itertools.pairwise(places))


def test_protection_that_loses_a_packet_or_duplicates_one_breaks_its_claim() -> None:
    protected = Variation("protect", "none", protection=Protection())

    def claim(**changes: object) -> tuple[bool, str]:
        found = judge(record(range(0), variation=protected, **changes), always).claims
        (made,) = [each for each in found if "loses nothing" in each.name]
        return made.held, made.detail

    assert claim() == (True, "0 of 1600 lost, 0 more than once, 0 reordered")
    whole = record(range(0)).streams[0]
    for wrong in (
        flights(range(150, 151)),
        tuple(replace(each, arrivals_s=each.arrivals_s * 2) for each in whole.flights[0]),
    ):
        held, detail = claim(streams=(replace(whole, flights=(wrong, whole.flights[1])),))
        assert not held
        assert detail != "0 of 1600 lost, 0 more than once, 0 reordered"
    assert not [each for each in judge(record(range(0)), always).claims if "loses nothing" in each.name]


def test_of_replayed_streams_only_those_of_sqr_alone_must_keep_their_order() -> None:
    late = Flight(151, 101.011, (101.5,))
    disordered = tuple(late if each.sequence == 151 else each for each in flights(range(0)))
    whole = record(range(0)).streams[0]
    streams = (replace(whole, flights=(disordered, whole.flights[1])),)
    for scheme, held in (("sqr", False), ("lossless", True)):
        variation = Variation(scheme, "none", replay=Replay(("s1-s2",)))
        claims = judge(record(range(0), variation=variation, streams=streams), always).claims
        assert [each.held for each in claims if "loses nothing" in each.name] == [held]
    lost = record(range(150, 151), variation=Variation("lossless", "none", replay=Replay(("s1-s2",))))
    assert [each.held for each in judge(lost, always).claims if "loses nothing" in each.name] == [False]
