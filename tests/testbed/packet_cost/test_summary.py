"""Medians and ranges over repetitions, and differences within them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.kinds.cost import CostMeasured
from experiments.testbed.packet_cost.decide.counters import LOOKUPS
from experiments.testbed.packet_cost.decide.paths import PATHS
from experiments.testbed.packet_cost.decide.summary import summarise, summary_lines, typical_cost
from tests.figures.synthetic import path_cost

COSTS = st.lists(
    st.fixed_dictionaries({path: st.floats(1, 1e6) for path in ("plain", "group", "cb")}), min_size=1, max_size=9
)


def row_of(costs: dict[str, float], lookup: str = "exact", slower: float = 0.0) -> CostMeasured:
    """A repetition with one lookup."""
    results = tuple(path_cost(path, lookup, cost + slower, cost) for path, cost in costs.items())
    return CostMeasured(1, "netdev", "darkstrand", "s1", 98, results)


@given(COSTS)
def test_the_median_lies_in_the_range_and_the_plain_rule_costs_nothing_extra(costs: list[dict[str, float]]) -> None:
    summaries = summarise([row_of(each) for each in costs])
    for each in summaries:
        assert each.low_ns <= each.median_ns <= each.high_ns
        assert each.extra_low_ns <= each.extra_ns <= each.extra_high_ns
        assert each.repetitions == len(costs)
    assert (summaries[0].path, summaries[0].extra_low_ns, summaries[0].extra_high_ns) == ("plain", 0, 0)


@given(COSTS, st.randoms(use_true_random=False))
def test_the_order_of_repetitions_means_nothing(costs: list[dict[str, float]], random: Any) -> None:
    shuffled = random.sample(costs, len(costs))
    assert summarise([row_of(each) for each in costs]) == summarise([row_of(each) for each in shuffled])


def test_a_slow_repetition_moves_the_range_and_not_the_difference() -> None:
    quiet, busy = {"plain": 100.0, "cb": 130.0}, 5000.0
    cb = summarise([row_of(quiet), row_of(quiet, slower=busy), row_of(quiet)])[1]
    assert (cb.median_ns, cb.high_ns) == (130.0, 5130.0)
    assert (cb.extra_low_ns, cb.extra_ns, cb.extra_high_ns) == (30.0, 30.0, 30.0)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=99), st.lists(st.integers(10**9, 10**12), max_size=9))
def test_a_typical_cost_was_measured_in_a_quiet_burst_even_if_nine_of_ten_are_slow(
    quiet: list[int], slow: list[int]
) -> None:
    typical = typical_cost(quiet)
    assert typical in quiet
    assert sum(each < typical for each in quiet) * 10 < len(quiet)
    assert typical <= typical_cost(quiet + slow) <= max(quiet)


def test_summaries_follow_the_order_of_the_table_and_leave_out_what_was_not_measured() -> None:
    rows = [row_of({"cb": 3.0, "plain": 1.0}, lookup) for lookup in ("none", "exact")]
    found = [(each.path, each.lookup) for each in summarise(rows)]
    assert found == [("plain", "exact"), ("plain", "none"), ("cb", "exact"), ("cb", "none")]
    assert found == [(path, lookup) for path in PATHS for lookup in LOOKUPS if (path, lookup) in found]
    assert summarise([]) == []


def test_lines_name_every_way_that_was_measured() -> None:
    lines = summary_lines(summarise([row_of({"plain": 1000.0, "cb": 1030.0})]))
    assert len(lines) == 3
    assert PATHS["cb"] in lines[2]
    assert "+30" in lines[2]
