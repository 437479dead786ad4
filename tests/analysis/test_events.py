"""The event log read back."""

from __future__ import annotations

from pathlib import Path

from experiments.analysis.events import avoided_by_engineering, detections, installs, read_events
from machine.event_log import EventLog


def test_events_are_read_in_the_order_of_their_stamps(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    watcher, agent = EventLog("watcher", path), EventLog("agent:s3", path)
    agent.write("agent_install", 5.5, node="s3", rows=4, cause="port 2")
    watcher.write("port_status", 5.0, node="s3", port_no=2, live=False, is_first=False)
    watcher.write("port_status", 1.0, node="s3", port_no=2, live=False, is_first=True)
    watcher.write("port_status", 9.0, node="s3", port_no=2, live=True, is_first=False)
    events = read_events(path.read_text(encoding="utf-8"))
    assert [event.t_s for event in events] == [1.0, 5.0, 5.5, 9.0]
    assert detections(events) == (("s3", 5.0),)
    assert installs(events) == (5.5,)


def test_a_line_that_is_still_being_written_is_left_out() -> None:
    whole = '{"t_monotonic_s": 1, "source": "a", "event": "e"}\n'
    assert len(read_events(whole + whole[:20])) == 1


def test_links_that_traffic_engineering_left_out_are_named_once(tmp_path: Path) -> None:
    log = EventLog("controller", tmp_path / "events.jsonl")
    for links in ([], ["s1-s3"], ["s1-s3", "s2-s5"]):
        log.write("te_begin", run=1, reason="request", links=links)
    events = read_events((tmp_path / "events.jsonl").read_text(encoding="utf-8"))
    assert avoided_by_engineering(events) == ("s1-s3", "s2-s5")
    assert avoided_by_engineering(events[:1]) == ()
