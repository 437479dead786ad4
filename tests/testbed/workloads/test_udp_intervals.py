"""When the datagrams of a flow are due."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.testbed.traffic.udp_sender import due_times_s

STARTS_S = st.floats(0.0, 1e6)
INTERVALS_S = st.floats(1e-4, 1.0)


@given(STARTS_S, INTERVALS_S)
def test_without_a_seed_the_nth_datagram_is_due_n_intervals_after_the_first(start_s: float, interval_s: float) -> None:
    times_s = list(islice(due_times_s(start_s, interval_s, None), 50))
    assert times_s == [start_s + number * interval_s for number in range(50)]


@given(INTERVALS_S, st.integers(0, 1000))
def test_with_a_seed_intervals_have_the_same_mean_and_the_spread_of_exponential_ones(
    interval_s: float, seed: int
) -> None:
    times_s = list(islice(due_times_s(0.0, interval_s, seed), 20_001))
    gaps = [(after - before) / interval_s for before, after in pairwise(times_s)]
    # Over 20,000 intervals the mean and the share above one mean (1/e) have standard deviations of 0.007 and 0.0034.
    assert sum(gaps) / len(gaps) == pytest.approx(1.0, abs=0.05)
    assert sum(gap > 1.0 for gap in gaps) / len(gaps) == pytest.approx(0.3679, abs=0.03)
    assert times_s[0] == 0.0
    assert list(islice(due_times_s(0.0, interval_s, seed), 20)) == times_s[:20]
