"""Algorithms 1 to 3 of SQR line by line."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.algorithms import Choice, PortLoad, Turn, account, choose, delay_enough, order, utilization_bytes

CLOCK = st.integers(0, 255)


@given(CLOCK, st.integers(1, 255), st.integers(1, 256))
def test_the_delay_timer_measures_modulo_its_clock(start, elapsed, delta):
    assert delay_enough((start + elapsed) % 256, start, delta, 8) is (elapsed >= delta)


@given(CLOCK, st.integers(2, 255))
def test_a_copy_waits_the_whole_delay_and_no_tick_longer(start, delta):
    assert not delay_enough((start + delta - 1) % 256, start, delta, 8)
    assert delay_enough((start + delta) % 256, start, delta, 8)


@given(CLOCK, st.integers(1, 256))
def test_a_copy_seen_again_in_its_first_tick_counts_as_a_full_turn_old(start, delta):
    assert delay_enough(start, start, delta, 8) is True


@pytest.mark.parametrize(
    ("up", "cached", "enough", "choice"),
    [
        (True, False, False, Choice.SEND_AND_CACHE),  # lines 8-9
        (True, True, False, Choice.RECIRCULATE),  # lines 4-5
        (True, True, True, Choice.DROP),  # lines 6-7
        (False, True, False, Choice.RECIRCULATE),  # lines 12-13
        (False, True, True, Choice.BACKUP),  # lines 14-15
        (False, False, False, Choice.BACKUP),  # lines 16-17
    ],
)
def test_queue_selection_is_the_table_of_algorithm_2(up, cached, enough, choice):
    assert choose(up, cached, enough) is choice


def test_the_packet_order_logic_is_algorithm_3():
    assert order(True, tag=7, next_tag=3) == Turn(8, False)  # line 4
    assert order(False, tag=3, next_tag=3) == Turn(4, False)  # lines 6-7
    assert order(False, tag=5, next_tag=3) == Turn(3, True)  # lines 9-10
    assert order(False, tag=2, next_tag=3) == Turn(3, False)


def test_line_4_falls_back_as_written_and_stays_when_monotone():
    assert order(True, tag=2, next_tag=6) == Turn(3, False)
    assert order(True, tag=2, next_tag=6, monotone=True) == Turn(6, False)


@given(st.permutations(range(8)))
def test_packets_that_wait_for_their_turn_leave_in_order(tags):
    queue, next_tag, left = list(tags), 0, []
    for _ in range(len(tags) ** 2):
        if not queue:
            break
        tag = queue.pop(0)
        turn = order(False, tag, next_tag)
        next_tag = turn.next_tag
        (queue if turn.wait else left).append(tag)
    assert left == sorted(tags)


SENDINGS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from((1, 2, 3)), st.integers(60, 1514)), min_size=1, max_size=20
).map(sorted)


@given(SENDINGS, st.integers(1, 30), st.integers(0, 40))
def test_the_window_counts_the_bytes_of_its_length_and_forgets_the_rest(sendings, window, later):
    load = reduce(lambda before, one: account(before, *one), sendings, PortLoad(window, 1))
    assert load.sent == tuple(one for one in sendings if one[0] > sendings[-1][0] - window)
    now = sendings[-1][0] + later
    for port in (1, 2, 3):
        expected = sum(size for at, by, size in sendings if by == port and now - window < at <= now)
        assert utilization_bytes(load, now, port) == expected


@given(SENDINGS)
def test_a_port_that_just_sent_less_is_the_least_loaded(sendings):
    load = PortLoad(15, 1)
    for at, port, size in sendings:
        before, load = load, account(load, at, port, size)
        used = utilization_bytes(load, at, port)
        changed = used < before.least_bytes or port == before.least_port
        assert (load.least_port, load.least_bytes) == (
            (port, used) if changed else (before.least_port, before.least_bytes)
        )


def test_a_port_that_sends_nothing_is_never_chosen():
    load = reduce(lambda before, one: account(before, *one), [(0, 1, 900), (1, 2, 500), (2, 1, 900)], PortLoad(10, 1))
    assert load.least_port == 2
