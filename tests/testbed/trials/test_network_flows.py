"""What the log of a replay agent says of failures that a trial made, and when a trial is not to be trusted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from experiments.testbed.trials.decide.network_flows import (
    Met,
    NetworkFlowsError,
    doubts,
    full_buffer,
    held_at,
    read_port_log,
)

PORT, OTHER = "s5-eth1", "s5-eth2"
BEGAN_NS = 500_000_000
FAILURES = (Met("web-search", None, 1_000_000_000, 1_300_000_000), Met("stream", 200.0, 9_000_000_000, 9_400_000_000))


def log_of(*detected: tuple[int, int, int], pending: int = 0) -> str:
    events = [
        {"event": "detected", "t_ns": t_ns, "port": PORT, "window": packets, "bytes": size}
        for t_ns, packets, size in detected
    ]
    others = [{"event": "detected", "t_ns": 5, "port": OTHER, "window": 3, "bytes": 4}, {"port": OTHER, "cached": 1}]
    counters = {"port": PORT, "state": "up", "cached": 99, "pending": pending}
    return "".join(json.dumps(each) + "\n" for each in (*events, *others, counters))


EARLY = (400_000_000, 1, 60)
BOTH = (1_310_000_000, 70, 9000), (9_405_000_000, 200, 10_000)


def test_each_failure_has_what_the_port_held_when_it_was_detected() -> None:
    held = held_at(FAILURES, read_port_log(log_of(EARLY, *BOTH), PORT, BEGAN_NS), 1000.0)
    assert [(each.during, each.rate_pps, each.detection_ms, each.packets, each.frame_bytes) for each in held] == [
        ("web-search", None, 310.0, 70, 9000),
        ("stream", 200.0, 405.0, 200, 10_000),
    ]
    assert doubts(FAILURES, read_port_log(log_of(EARLY, *BOTH), PORT, BEGAN_NS), 1000.0) == ()


def test_what_a_stream_sent_is_counted_within_delta_and_since_the_failure() -> None:
    sent_ns = (8_900_000_000, 9_000_000_000, 9_100_000_000, 9_404_999_999, 9_405_000_000)
    failures = (FAILURES[0], replace(FAILURES[1], sent_ns=sent_ns))
    held = held_at(failures, read_port_log(log_of(*BOTH), PORT, BEGAN_NS), 305.0)
    assert [(each.sent_within_delta, each.sent_since_failure) for each in held] == [(None, None), (2, 3)]


def test_a_trial_is_doubted_that_detected_too_often_or_too_late_or_overran_its_ring() -> None:
    assert "1 were detected" in doubts(FAILURES, read_port_log(log_of(BOTH[0]), PORT, BEGAN_NS), 1000.0)[0]
    assert "delta is 400" in doubts(FAILURES, read_port_log(log_of(*BOTH), PORT, BEGAN_NS), 400.0)[0]
    assert "ring is too small" in doubts(FAILURES, read_port_log(log_of(*BOTH, pending=3), PORT, BEGAN_NS), 1000.0)[0]


def test_a_buffer_that_was_full_is_said() -> None:
    held = held_at(FAILURES, read_port_log(log_of(*BOTH), PORT, BEGAN_NS), 1000.0)
    assert full_buffer(held, 201) == ()
    assert "(200 slots) was full at 1 of 2 failures" in full_buffer(held, 200)[0]


def test_a_log_without_the_port_is_refused() -> None:
    with pytest.raises(NetworkFlowsError, match="s9-eth1"):
        read_port_log(log_of(*BOTH), "s9-eth1", BEGAN_NS)


def test_a_detection_without_a_failure_is_nobodys_and_gives_no_other_failure_its_amounts() -> None:
    spurious = (5_000_000_000, 1, 60)
    log = read_port_log(log_of(BOTH[0], spurious, BOTH[1]), PORT, BEGAN_NS)
    assert [each.packets for each in held_at(FAILURES, log, 1000.0)] == [70, 200]
    assert "3 were detected" in doubts(FAILURES, log, 1000.0)[0]
