"""The acceptance rule of 1+1 protection: the paper's equations and figures, laws, and restarts."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.sequence import (
    WINDOW,
    Egress,
    Ingress,
    after_egress_restart,
    after_ingress_restart,
    is_new,
    is_new_by_equations_1_to_3,
    is_new_by_equations_4_to_7,
    number_packet,
    receive,
)
from mininet_topos.errors import BadInputError
from tests.examples import examples

LAWS = examples(150)
BITS = 6
SMALL = Egress(bits=BITS, window=32)


def take(egress, numbers):
    """Return the end after some copies, and those that it forwarded."""
    forwarded = []
    for number in numbers:
        egress, new = receive(egress, number % (1 << egress.bits))
        forwarded += [number] * new
    return egress, forwarded


def test_all_forms_of_the_rule_agree_on_all_pairs_of_8_bits():
    for number, last in product(range(256), repeat=2):
        expected = is_new(number, last, 128, 8)
        assert is_new_by_equations_1_to_3(number, last, 8) is expected
        assert is_new_by_equations_4_to_7(number, last, 8) is expected


@pytest.mark.parametrize(
    ("number", "last", "new"),
    [
        (5, 5, False),
        (6, 5, True),
        (5 + WINDOW, 5, True),
        (6 + WINDOW, 5, False),
        (4, 5, False),
        (0, 0xFFFFFFFF, True),
        (0xFFFFFFFF, 0, False),
        (WINDOW - 1, 0xFFFFFFFF, True),
        (WINDOW, 0xFFFFFFFF, False),
    ],
)
def test_the_rule_at_its_edges(number, last, new):
    assert is_new(number, last) is new


def test_numbers_begin_at_1_and_wrap_over_0():
    assert number_packet(Ingress()) == (Ingress(1), 1)
    assert number_packet(Ingress(0xFFFFFFFF)) == (Ingress(0), 0)


# What arrives, of both paths: Figures 3 and 4 of the paper, and a path whose third packet is late (Figure 2).
FIGURE_2 = [1, 1, 2, 2, 3, 4, 3, 4]
FIGURE_3 = [1, 1, 2, 2, 4, 3, 4]
FIGURE_4 = [1, 1, 3, 2, 2, 3, 4, 4]


@pytest.mark.parametrize(
    ("arrivals", "forwarded", "with_history"),
    [
        (FIGURE_2, [1, 2, 3, 4], [1, 2, 3, 4]),
        (FIGURE_3, [1, 2, 4], [1, 2, 4, 3]),
        (FIGURE_4, [1, 3, 4], [1, 3, 2, 4]),
    ],
    ids=["figure 2", "figure 3", "figure 4"],
)
def test_the_papers_figures(arrivals, forwarded, with_history):
    assert take(Egress(), arrivals)[1] == forwarded
    assert take(Egress(history=8), arrivals)[1] == with_history


@st.composite
def two_paths(draw, most_lag=30, whole=False):
    """Draw copies of packets 1..n in the order of their arrival by two paths that lag, lose and reorder.

    With `whole` the second path delivers all.
    """
    count = draw(st.integers(1, 150))
    copies = []
    for path in range(2):
        lags = draw(st.lists(st.integers(0, most_lag), min_size=count, max_size=count))
        kept = draw(st.lists(st.booleans() if not (whole and path) else st.just(True), min_size=count, max_size=count))
        copies += [(n + lags[n - 1], draw(st.integers(0, 9)), n) for n in range(1, count + 1) if kept[n - 1]]
    return count, [number for *_, number in sorted(copies)]


@LAWS
@given(two_paths(), st.sampled_from((0, 1, 7, 32)))
def test_no_duplicate_is_ever_accepted_while_copies_lag_less_than_the_rest_of_the_numbers(paths, history):
    _, forwarded = take(Egress(bits=BITS, window=32, history=history), paths[1])
    assert len(set(forwarded)) == len(forwarded)


def test_a_copy_that_lags_more_is_taken_for_a_new_packet():
    """6 bits, window 32: a copy 32 numbers late is 32 ahead."""
    assert take(SMALL, [*range(1, 41), 9])[1] == list(range(1, 41))
    assert take(SMALL, [*range(1, 41), 8])[1] == [*range(1, 41), 8]


@LAWS
@given(two_paths(whole=True))
def test_a_history_as_long_as_the_lag_accepts_each_packet_that_one_path_delivers(paths):
    count, arrivals = paths
    egress, forwarded = take(Egress(bits=BITS, window=32, history=32), arrivals)
    assert sorted(forwarded) == list(range(1, count + 1))
    assert egress.accepted + egress.dropped == len(arrivals)


@LAWS
@given(st.integers(1, 150), st.integers(0, 150), st.integers(0, 30), st.integers(0, 30), st.integers(0, 1000))
def test_no_packet_is_lost_while_one_path_works(count, failed_at, lag_a, lag_b, start):
    """Paths in order, each with its delay; one fails after some packet; any first number, so the numbers wrap."""
    copies = [(n + lag_a, 0, n) for n in range(1, count + 1)] + [
        (n + lag_b, 1, n) for n in range(1, min(failed_at, count) + 1)
    ]
    arrivals = [start + number for *_, number in sorted(copies)]
    egress = Egress(start % 64, BITS, 32)
    assert take(egress, arrivals)[1] == [start + n for n in range(1, count + 1)]


@LAWS
@given(st.integers(1, 30), st.integers(0, 30), st.integers(0, 40), st.sampled_from((0, 32)))
def test_a_faster_path_that_returns_loses_what_it_overtakes_and_a_history_recovers_it(lead, failed_at, outage, history):
    """While the faster path was away, the slower one's last `lead` packets are still on their way."""
    count = failed_at + outage + lead + 20
    fast = [(n, 0, n) for n in range(1, count + 1) if not failed_at < n <= failed_at + outage]
    slow = [(n + lead, 1, n) for n in range(1, count + 1)]
    forwarded = take(Egress(bits=BITS, window=32, history=history), [n for *_, n in sorted(fast + slow)])[1]
    lost = count - len(forwarded)
    assert len(set(forwarded)) == len(forwarded)
    # At the time that the first packet after the outage comes, the slower path has brought all up to `lead` before it.
    assert lost == (0 if history else min(outage, max(0, lead)))


@LAWS
@given(st.integers(0, 1000), st.integers(0, 10), st.integers(0, 10), st.integers(1, 40), st.integers(0, 32))
def test_after_a_restart_of_the_sending_end_every_new_packet_is_accepted(before, lost, bound, count, history):
    """Old copies come between the new ones; none of them is taken twice."""
    in_flight = min(lost, bound)
    egress, forwarded = take(Egress(before % 64, BITS, 32, min(history, 20)), [])
    old = [before + n for n in range(1, in_flight + 1)]
    start = after_ingress_restart(egress, bound).last
    assert start == (before + bound) % 64
    new = [before + bound + n for n in range(1, count + 1)]
    arrivals = [*old, *new[:1], *old, *new[1:]]
    _, forwarded = take(egress, arrivals)
    assert [n for n in forwarded if n > before + bound] == new
    assert len(set(forwarded)) == len(forwarded)


@LAWS
@given(st.integers(0, 1000), st.integers(0, 10), st.integers(1, 40), st.sampled_from((0, 8, 32)))
def test_a_restart_of_the_receiving_end_loses_no_more_than_what_was_in_flight(before, in_flight, count, history):
    """It is set to the last number given; copies of packets that it had forwarded are not taken again."""
    given_last = before + in_flight
    egress = after_egress_restart(Ingress(given_last % 64, BITS), Egress(17, BITS, 32, history))
    old = list(range(before - 9, given_last + 1))
    new = [given_last + n for n in range(1, count + 1)]
    assert take(egress, [*old, *new[:5], *old, *new[5:]])[1] == new


def test_a_sending_end_that_starts_from_0_alone_is_not_heard_until_it_has_caught_up():
    assert take(Egress(1000), range(1, 1201))[1] == list(range(1001, 1201))


def test_a_receiving_end_that_starts_from_0_alone_hears_nothing_of_a_far_number():
    assert take(Egress(0), range(WINDOW + 1, WINDOW + 300))[1] == []


def test_both_ends_from_0_agree_at_once_if_nothing_is_in_flight():
    egress = Egress(history=16)
    assert take(egress, range(1, 50))[1] == list(range(1, 50))
    assert take(egress, [0xFFFFFFF5, 0, 1])[1] == [1]
    assert take(egress, [1001, *range(1, 1100)])[1] == [1001, *range(986, 1001), *range(1002, 1100)]


def test_a_fresh_end_with_history_does_not_wait_for_numbers_before_the_first():
    assert take(Egress(history=64), [0xFFFFFFFF, 2, 1, 0])[1] == [2, 1]


@pytest.mark.parametrize("wrong", [{"window": 0}, {"window": 33}, {"history": -1}, {"history": 33}])
def test_windows_that_overlap_are_refused(wrong):
    with pytest.raises(BadInputError, match=r"window of|history of"):
        Egress(**{"bits": BITS, "window": 32, **wrong})


def test_more_packets_in_flight_than_the_window_are_refused():
    with pytest.raises(BadInputError, match="32 packets in flight"):
        after_ingress_restart(SMALL, 32)
