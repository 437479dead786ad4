"""Backtracking of a direction since the detection of its link: laws, and one stream whose answer is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.backtracking import WATCHER, backtracking_of, first_detections
from experiments.analysis.events import Event
from experiments.analysis.packet_counts import Flight, Sighting
from experiments.analysis.probes import ProbeId
from experiments.analysis.timeline import IN_FLIGHT_S, Window
from mininet_topos.catalogue import load_topology
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction

SQUARE = load_topology("square")
FIRST, SECOND, *_ = SQUARE.link_ids
OUT, BACK = Direction(*FIRST), Direction(FIRST.b, FIRST.a, FIRST.key)
PROBE = ProbeId(1, 2, "ping", False, 0)
WINDOW = Window(100.0, 103.0)
STAMPS = st.lists(st.floats(99.0, 103.5), max_size=20)


def flights(back_at_s: list[float]) -> list[Flight]:
    """A packet for every stamp, which backtracks then."""
    return [
        Flight(number, t_s - 0.002, (), (Sighting(t_s - 0.001, OUT, PROBE, 0), Sighting(t_s, BACK, PROBE, 1)))
        for number, t_s in enumerate(back_at_s)
    ]


def report(link_end: tuple[str, int], t_s: float, source: str = WATCHER, **fields: object) -> Event:
    """A port that goes down."""
    node, port_no = link_end
    return Event(t_s, source, "port_status", {"node": node, "port_no": port_no, "live": False, **fields})


def ends(link: object) -> list[tuple[str, int]]:
    """Both ports of a link."""
    ports = assign_ports(SQUARE).direction_at
    return [place for place, direction in ports.items() if SQUARE.link_id(direction) == link]


def test_the_last_packet_that_backtracks_after_the_detection_counts_from_it() -> None:
    found = backtracking_of(flights([100.01, 100.05, 100.07]), (SECOND, FIRST), {FIRST}, {FIRST: 100.04}, WINDOW)
    assert found is not None
    assert (found.link, found.detected_s) == (FIRST, 100.04)
    assert found.lasted_ms == pytest.approx(30)


def test_a_direction_that_loses_no_link_of_its_primary_has_no_backtracking_time() -> None:
    assert backtracking_of(flights([100.5]), (SECOND,), {FIRST}, {FIRST: 100.04}, WINDOW) is None


def test_of_two_failed_links_the_one_detected_first_counts() -> None:
    detected = {FIRST: 100.06, SECOND: 100.05}
    found = backtracking_of(flights([100.07]), (FIRST, SECOND), (FIRST, SECOND), detected, WINDOW)
    assert found is not None
    assert (found.link, found.lasted_ms) == (SECOND, pytest.approx(20))


def test_without_a_report_nothing_is_known() -> None:
    found = backtracking_of(flights([100.07]), (FIRST,), {FIRST}, {}, WINDOW)
    assert found is not None
    assert (found.detected_s, found.lasted_ms) == (None, None)


def test_packets_that_still_backtrack_at_the_end_give_no_time() -> None:
    last_s = WINDOW.end_s - IN_FLIGHT_S / 2
    found = backtracking_of(flights([100.07, last_s]), (FIRST,), {FIRST}, {FIRST: 100.05}, WINDOW)
    assert found is not None
    assert found.lasted_ms is None


@given(STAMPS, st.floats(100.0, 102.0))
def test_time_is_zero_before_the_detection_none_at_the_end_and_else_the_last_stamp(
    back_at_s: list[float], detected_s: float
) -> None:
    found = backtracking_of(flights(back_at_s), (FIRST,), {FIRST}, {FIRST: detected_s}, WINDOW)
    assert found is not None
    after = [t_s for t_s in back_at_s if detected_s < t_s < WINDOW.end_s]
    if not after:
        assert found.lasted_ms == 0
    elif max(after) > WINDOW.end_s - IN_FLIGHT_S:
        assert found.lasted_ms is None
    else:
        assert found.lasted_ms == pytest.approx(1000 * (max(after) - detected_s))


@given(STAMPS, STAMPS, st.floats(100.0, 102.0))
def test_more_packets_that_backtrack_never_shorten_it(some: list[float], more: list[float], detected_s: float) -> None:
    few, all_of = (
        backtracking_of(flights(each), (FIRST,), {FIRST}, {FIRST: detected_s}, WINDOW) for each in (some, some + more)
    )
    assert few is not None
    assert all_of is not None
    assert all_of.lasted_ms is None or (few.lasted_ms is not None and few.lasted_ms <= all_of.lasted_ms)


def test_the_watcher_s_first_report_of_either_port_detects_a_link() -> None:
    one, other = ends(FIRST)
    events = [
        report(one, 99.5),
        report(one, 100.01, "agent"),
        report(other, 100.02, is_first=True),
        report(other, 100.03),
        report(one, 100.04),
        report(ends(SECOND)[0], 100.05),
        report(("s1", 99), 100.06),
    ]
    assert first_detections(events, SQUARE, WINDOW) == {FIRST: 100.03, SECOND: 100.05}


def test_the_outage_ends_when_the_first_packet_is_sent_that_arrives_after_all_losses() -> None:
    def sent(lost: set[int]) -> list[Flight]:
        return [Flight(n, 100 + n / 100, () if n in lost else (100 + n / 100 + 0.001,)) for n in range(100)]

    def outage_ms(lost: set[int]) -> float | None:
        found = backtracking_of(sent(lost), (FIRST,), {FIRST}, {FIRST: 100.045}, WINDOW)
        assert found is not None
        return found.outage_ms

    assert outage_ms(set()) == 0
    assert outage_ms({2, 3}) == 0
    assert outage_ms({2, 3, 4, 7}) == pytest.approx(35)
    assert outage_ms(set(range(2, 100))) is None
