"""What the event log says of one failure."""

from __future__ import annotations

from experiments.analysis.events import Event
from experiments.campaign.kinds.ingress import IngressMeasured, Update
from experiments.testbed.trials.decide.ingress import detections_of, ingress_row, updates_of


def rows_changed(t_s: float, node: str, added: int = 1) -> Event:
    return Event(t_s, "row-watcher", "rows_changed", {"node": node, "added": added, "deleted": 0})


def down(t_s: float, node: str, source: str = "watcher", live: bool = False) -> Event:
    return Event(t_s, source, "port_status", {"node": node, "port_no": 2, "live": live})


EVENTS = [
    rows_changed(9.9, "s1"),
    down(10.05, "s2"),
    down(10.04, "s7", source="agent:s7"),
    down(10.06, "s7"),
    down(10.07, "s7"),
    down(10.01, "s9"),
    down(10.02, "s2", live=True),
    rows_changed(10.08, "s1"),
    rows_changed(10.09, "s1"),
    rows_changed(10.085, "s1"),
    rows_changed(10.2, "s1", added=0),
]


def test_an_update_is_done_when_the_last_new_row_is_there() -> None:
    assert updates_of(EVENTS, 10.0) == {"s1": 10.09 - 10.0}


def test_a_failure_is_noticed_when_the_watcher_hears_of_a_failed_port_at_its_ends() -> None:
    assert detections_of(EVENTS, ("s2", "s7"), 10.0) == {"s2": 10.05 - 10.0, "s7": 10.06 - 10.0}


def test_the_row_says_of_every_ingress_how_long_it_took() -> None:
    assert ingress_row(EVENTS, {"s4", "s1"}, ("s2", "s7"), 10.0) == IngressMeasured(
        {"s2": 50.0, "s7": 60.0}, (Update("s1", 90.0, 40.0), Update("s4", None, None))
    )


def test_without_a_detection_nothing_is_said_of_the_time_since_then() -> None:
    (found,) = ingress_row(EVENTS, {"s1"}, ("s3",), 10.0).ingresses
    assert (found.from_failure_ms, found.from_detection_ms) == (90.0, None)
