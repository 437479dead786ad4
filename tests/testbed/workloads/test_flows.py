"""What became of flows: joining both ends, which flows an outage hit, samples of a long flow, times of failures."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.testbed.workloads.decide.breaking import AGENT_SETTLE_MS, FailureModel, Recovery, failure_times_s
from experiments.testbed.workloads.decide.bulk import Sample, bulk_row, read_samples, stalled_ms
from experiments.testbed.workloads.decide.flows import (
    FlowOutcome,
    Outage,
    Sent,
    Taken,
    WorkloadError,
    hits_of,
    join,
    read_netstat,
    read_sent,
    read_taken,
    workload_row,
)
from mininet_topos.errors import BadInputError

MS = 1_000_000
MODEL = FailureModel(interval_ms=150, detection_ms=0.4, down_ms=10, bound_ms=4, spare_ms=0.5)


def flow(started_ms: float, done_ms: float | None, retransmits: int = 0) -> FlowOutcome:
    done_ns = None if done_ms is None else round(done_ms * MS)
    return FlowOutcome(1000, round(started_ms * MS), done_ns, 2 * MS, retransmits)


def test_what_both_ends_print_becomes_flows_with_their_times() -> None:
    sent = read_sent(json.dumps({"flows": [[10 * MS, 0, True], [20 * MS, 2, True], [90 * MS, 1, False]]}))
    taken = read_taken(
        json.dumps({"flows": [[5001, 21 * MS, 33 * MS, 700, 9 * MS], [5000, 13 * MS, 14 * MS, 500, MS]]})
    )
    flows = join([500, 700, 900, 1100], sent, taken, first_port=5000)
    assert [each.completion_ms for each in flows] == [4.0, 13.0, None]
    # The receiver sees nothing from connect() to the connection, or between two takings.
    assert [each.silence_ns for each in flows] == [3 * MS, 9 * MS, 0]
    assert [each.retransmits for each in flows] == [0, 2, 1]


def test_a_flow_that_came_in_part_is_not_done_and_one_that_came_in_excess_is_not_ours() -> None:
    sent = [Sent(0, 0, ended=True)]
    assert join([500], sent, {7: Taken(1, 2, 499, 1)}, 7)[0].done_ns is None
    with pytest.raises(WorkloadError, match="flow 0 has 500 bytes, but 501 came; is the port ours"):
        join([500], sent, {7: Taken(1, 2, 501, 1)}, 7)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"flows": 3}', '{"flows": [["a", 1, 2]]}'])
def test_a_report_that_is_none_is_shown(text: str) -> None:
    with pytest.raises(WorkloadError, match="sender of flows printed"):
        read_sent(text)


def test_a_report_with_rows_of_another_length_is_refused() -> None:
    with pytest.raises(WorkloadError, match="receiver of flows printed a row without 5 numbers"):
        read_taken('{"flows": [[1, 2, 3]]}')


@pytest.mark.parametrize(
    ("started_ms", "done_ms", "is_hit"),
    [
        (90, 95, False),  # before
        (99, 105, False),  # its bytes were past the failed link when it failed
        (99, 111, True),  # under way, and kept waiting
        (105, 112, True),  # begun while the path was down
        (105, None, True),  # never done
        (110, 111, False),  # after
        (99, None, True),
    ],
)
def test_an_outage_hits_flows_that_it_keeps_waiting(started_ms: float, done_ms: float | None, is_hit: bool) -> None:
    assert flow(started_ms, done_ms).meets(Outage(100 * MS, 110 * MS)) is is_hit


def test_a_row_describes_a_hit_flow_by_the_first_outage_that_it_met() -> None:
    outages = [Outage(300 * MS, 310 * MS), Outage(100 * MS, 110 * MS)]
    row = workload_row([flow(90, 91), flow(99, 320, 3), flow(305, 312), flow(400, None, 1)], outages)
    assert row["hits"] == [[1, -1.0, 2.0, 3], [2, 5.0, 2.0, 0]]
    assert row["completion_ms"] == [1.0, 221.0, 7.0, None]
    assert (row["flows"], row["unfinished"], row["retransmitted"]) == (4, 1, 2)
    assert row["outages_ms"] == [10.0, 10.0]


def test_counters_of_a_namespace_are_read_by_name() -> None:
    text = "TcpExt: A B\nTcpExt: 1 2\nIpExt: C\nIpExt: 3\n"
    assert read_netstat(text) == {"A": 1, "B": 2, "C": 3}


# ---- one long flow
def samples(*acknowledged: int, cwnd: int = 10) -> list[Sample]:
    return [Sample(place * MS, cwnd, each, each, 0) for place, each in enumerate(acknowledged)]


def test_a_stall_is_the_longest_time_without_progress_around_the_failure() -> None:
    # Nothing new is confirmed from 3 to 6 ms; the longer stall before the failure does not count.
    seen = samples(0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 4, 5)
    assert stalled_ms(seen, failure_ns=7 * MS, window_ms=100) == 3.0
    assert stalled_ms(samples(0, 1, 2, 3, 4), failure_ns=2 * MS, window_ms=100) == 1.0
    # A flow that never goes on has stalled to the end.
    assert stalled_ms(samples(0, 1, 2, 2, 2, 2), failure_ns=2 * MS, window_ms=100) == 3.0


def test_a_row_of_a_long_flow_has_its_window_before_and_after_the_failure() -> None:
    seen = [Sample(each * MS, 50 - each, 1000 * each, 900 * each, each) for each in range(11)]
    row = bulk_row(seen, failure_ns=4 * MS, window_ms=3)
    assert (row["cwnd_at_failure"], row["smallest_cwnd"], row["retransmits"]) == (47, 43, 10)
    assert row["at_ms"][:2] == [-4.0, -3.0]
    assert row["rate_mbps"] == pytest.approx(8 * 9000 / 0.01 / 1e6)
    assert row["trustworthy"]


def test_a_sender_that_got_no_processor_makes_its_trial_untrustworthy() -> None:
    seen = [Sample(0, 10, 0, 0, 0), Sample(100 * MS, 10, 5, 5, 0)]
    assert not bulk_row(seen, failure_ns=50 * MS, window_ms=100)["trustworthy"]


def test_a_long_flow_needs_two_samples() -> None:
    assert read_samples('{"samples": [[1, 2, 3, 4, 5], [2, 2, 3, 4, 5]]}')[1].at_ns == 2
    with pytest.raises(WorkloadError, match="took 1 samples"):
        read_samples('{"samples": [[1, 2, 3, 4, 5]]}')
    with pytest.raises(WorkloadError, match="which is no report"):
        read_samples("Traceback")


# ---- failures
@given(seconds=st.floats(0.0, 60.0), seed=st.integers(0, 2**32))
def test_failures_are_apart_and_end_with_the_workload(seconds: float, seed: int) -> None:
    times = failure_times_s(MODEL, seconds, seed)
    interval_s = MODEL.interval_ms / 1000
    assert all(late - early >= 0.5 * interval_s for early, late in pairwise(times))
    assert all(0 < each <= seconds for each in times)
    assert len(times) >= seconds / interval_s - 1
    assert times == failure_times_s(MODEL, seconds, seed)


def test_an_agent_holds_until_the_same_path_is_back_and_not_at_all_for_another() -> None:
    held = MODEL.hold_ms(Recovery(same_port=True, replays=True))
    assert MODEL.detection_ms + held + AGENT_SETTLE_MS == MODEL.down_ms + MODEL.spare_ms
    assert MODEL.hold_ms(Recovery(same_port=False, replays=True)) == 0.0
    short = FailureModel(interval_ms=150, detection_ms=0.4, down_ms=2, bound_ms=4, spare_ms=0.5)
    with pytest.raises(BadInputError, match="down for 2 ms: the replay agent takes 5 ms"):
        short.hold_ms(Recovery(same_port=True, replays=True))


@pytest.mark.parametrize(
    ("recovery", "late"),
    [
        (None, True),
        (Recovery(same_port=False, replays=True), True),
        (Recovery(same_port=True, replays=False), False),
        (Recovery(same_port=True, replays=True), False),
    ],
)
def test_repairs_later_than_a_replay_by_the_same_port_are_named(recovery: Recovery | None, late: bool) -> None:
    # Repaired in time, too late, and late after a notification that was as late.
    assert MODEL.repaired_in_time(recovery, [10.1, 10.7, 10.7], [0.4, 0.4, 0.8]) == [True, late, True]


def test_flows_that_met_an_outage_that_is_left_out_are_not_among_the_hit_ones() -> None:
    first, second = Outage(0, 10 * MS), Outage(100 * MS, 120 * MS)
    flows = [FlowOutcome(100, at_ms * MS, (at_ms + 30) * MS, 0, 0) for at_ms in (5, 50, 105, 110)]
    row = workload_row(flows, [first, second], [second])
    assert [hit[0] for hit in row["hits"]] == [0]
    assert hits_of(flows, [second, first]) == [(0, first), (2, second), (3, second)]
    assert row["outages_ms"] == [10.0, 20.0]
    assert [hit[0] for hit in workload_row(flows, [first, second])["hits"]] == [0, 2, 3]
