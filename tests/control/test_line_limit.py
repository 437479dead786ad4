"""Limited lines: a burst, then a summary a second; every line is written or counted, whatever comes when."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.decide.line_limit import BURST_LINES, SUMMARY_S, LineLimit, offered, summarised

gaps = st.lists(st.sampled_from([0.0, 0.001, 0.3, 0.999, 1.0, 7.0, 1000.0]), max_size=300)


def written(at_s):
    """(Time, number) of lines (number 0) and summaries, when lines are offered at these times."""
    limit, due_s, lines = LineLimit(), None, []
    for now_s in (*at_s, float("inf")):
        if due_s is not None and due_s <= now_s:
            limit, number = summarised(limit, due_s)
            lines.append((due_s, number))
            due_s = None
        if now_s == float("inf"):
            break
        before = limit.left_out
        limit, is_admitted = offered(limit, now_s)
        if is_admitted:
            lines.append((now_s, 0))
        elif not before:
            due_s = now_s + SUMMARY_S
    assert limit.left_out == 0
    return lines


def times(gaps_s):
    now_s, found = 0.0, []
    for gap in gaps_s:
        now_s += gap
        found.append(now_s)
    return found


@given(gaps)
def test_every_line_is_written_or_counted(gaps_s) -> None:
    lines = written(times(gaps_s))
    assert sum(number or 1 for _, number in lines) == len(gaps_s)


@given(gaps)
def test_no_span_has_more_lines_than_a_burst_and_one_a_second(gaps_s) -> None:
    at = [when for when, _ in written(times(gaps_s))]
    for first, start_s in enumerate(at):
        for last in range(first, len(at)):
            assert last - first + 1 <= BURST_LINES + (at[last] - start_s) / SUMMARY_S + 1 + 1e-6


@given(st.integers(0, BURST_LINES))
def test_a_burst_is_written_whole(number) -> None:
    assert written([5.0] * number) == [(5.0, 0)] * number


def test_a_flood_is_one_line_a_second() -> None:
    at_s = [number / 100 for number in range(1000)]
    summaries = [(when, number) for when, number in written(at_s) if number]
    assert len(summaries) == pytest.approx(10, abs=1)
    assert sum(number for _, number in summaries) == 1000 - BURST_LINES


def test_a_quiet_time_gives_the_burst_back() -> None:
    flood, again = [1.0] * 1000, [2.0 + BURST_LINES * SUMMARY_S + 1] * BURST_LINES
    assert written(flood + again)[-BURST_LINES:] == [(again[0], 0)] * BURST_LINES


@pytest.mark.ryu
def test_errors_of_a_switch_are_limited_counted_and_do_not_hide_those_of_others(caplog, monkeypatch) -> None:
    from machine.event_log import EventLog
    from machine.event_metrics import observed_by_metrics
    from ryu_apps.control.faults import Faults
    from ryu_apps.control.limited_lines import LimitedLines

    monkeypatch.delenv("ARMOR_EVENTS", raising=False)
    due, log = [], EventLog("controller")
    registry = observed_by_metrics(log).registry
    lines = LimitedLines(lambda seconds, *call: due.append(call), lambda: 3.0)
    faults = Faults(log, logging.getLogger("test of faults"), lines)
    for number in range(1000):
        faults.report("switch", f"error {number}", "s1")
    faults.report("switch", "one of another", "s2")
    assert [fault.text for fault in faults.recent][-1] == "one of another"
    assert len(caplog.records) == BURST_LINES + 1
    ((summarise, *arguments),) = due
    summarise(*arguments)
    assert len(caplog.records) == BURST_LINES + 2
    assert f"{1000 - BURST_LINES} more errors" in caplog.records[-1].getMessage()
    assert faults.count == 1001
    assert registry.get_sample_value("armor_errors_total", {"node": "s1"}) == 1000
    assert registry.get_sample_value("armor_errors_left_out_total", {"node": "s1"}) == 1000 - BURST_LINES


@pytest.mark.ryu
def test_events_of_a_switch_are_limited_counted_and_do_not_hide_those_of_others(caplog, monkeypatch) -> None:
    from machine.event_metrics import observed_by_metrics
    from ryu_apps.control.controller_events import ControllerEvents
    from ryu_apps.control.limited_lines import LimitedLines

    monkeypatch.delenv("ARMOR_EVENTS", raising=False)
    due = []
    lines = LimitedLines(lambda seconds, *call: due.append(call), lambda: 3.0)
    events = ControllerEvents("controller", logging.getLogger("test of events"), lines)
    registry = observed_by_metrics(events).registry
    with caplog.at_level(logging.INFO, logger="test of events"):
        for _ in range(1000):
            events.write("disconnect", node="s1")
        events.write("connect", node="s1", dpid=1)
        events.write("disconnect", node="s2")
        events.write("te_done", run=1, rows=0, slots_moved=0, slots=0)
        ((summarise, *arguments),) = due
        summarise(*arguments)
    said = ["s1: disconnected"] * BURST_LINES + ["s1: connected", "s2: disconnected"]
    left_out = {"node": "s1", "what": "disconnect"}
    assert caplog.messages[: BURST_LINES + 2] == said
    assert caplog.messages[-1].startswith(f"{1000 - BURST_LINES} more events disconnect of 's1'")
    assert registry.get_sample_value("armor_disconnections_total", {"node": "s1"}) == 1000
    assert registry.get_sample_value("armor_events_left_out_total", left_out) == 1000 - BURST_LINES
