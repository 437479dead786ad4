"""The token bucket: a bound for clients that ask often, none for those that ask seldom."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.decide.allowance import Allowance, Rate

RATES = st.builds(Rate, per_s=st.floats(1, 1000), at_once=st.floats(1, 500))
GAPS = st.lists(st.floats(0, 0.05), min_size=1, max_size=1500)


@given(RATES, GAPS)
def test_no_more_comes_than_the_rate_permits_and_all_of_what_may_come_at_once(rate, gaps):
    allowance, now_s, admitted = Allowance(rate, 0.0), 0.0, 0
    for gap in gaps:
        now_s += gap
        admitted += allowance.admits(now_s)
    assert min(len(gaps), int(rate.at_once)) <= admitted <= rate.at_once + now_s * rate.per_s + 1e-6
    assert allowance.admits(now_s + 1 / rate.per_s + 1e-6)


@given(GAPS)
def test_no_interval_of_time_lets_more_come_than_burst_and_rate(gaps):
    allowance, now_s, admitted = Allowance(Rate(per_s=100, at_once=5), 0.0), 0.0, []
    for gap in gaps[:300]:
        now_s += gap
        admitted += [now_s] * allowance.admits(now_s)
    for first, start_s in enumerate(admitted):
        for last in range(first, len(admitted)):
            assert last - first + 1 <= 5 + 100 * (admitted[last] - start_s) + 1e-6


@given(RATES, st.integers(1, 1000))
def test_a_client_that_keeps_to_the_rate_is_never_refused(rate, count):
    allowance = Allowance(rate, 0.0)
    assert all(allowance.admits(number * (1 + 1e-9) / rate.per_s) for number in range(1, count + 1))
