"""Variants take turns, and differences of throughput compare the same repetition."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.decide.compare import COUNTS, orders, result_rows, throughput_changes

VARIANTS = ("stock", "pso")


@given(st.integers(1, 20))
def test_every_variant_runs_every_repetition_once_and_leads_half_of_them(repetitions: int) -> None:
    order = orders(VARIANTS, repetitions)
    assert Counter(order) == Counter((number, variant) for number in range(1, repetitions + 1) for variant in VARIANTS)
    leads = Counter(variant for place, (_, variant) in enumerate(order) if place % 2 == 0)
    assert abs(leads["stock"] - leads["pso"]) <= 1


def test_a_drift_that_hits_both_variants_alike_is_no_difference() -> None:
    rates = [100.0, 400.0, 50.0, 900.0]
    runs = {"stock": [{"answers_pps": rate} for rate in rates], "pso": [{"answers_pps": rate * 0.9} for rate in rates]}
    change = throughput_changes(runs, 1)["pso"]
    assert change is not None
    assert abs(change.value + 10) < 1e-6
    assert change.low is not None
    assert abs(change.low + 10) < 1e-6


def test_the_last_line_of_a_table_adds_up_the_classes() -> None:
    each = dict.fromkeys(COUNTS, 7) | dict.fromkeys(("p50_ms", "p90_ms", "p99_ms", "max_ms"), None)
    run = {"answers_pps": 3.0, "classes": {name: {**each, "lost_percent": 1.0, "answers_pps": 1.5} for name in "ab"}}
    *_, total = result_rows(run)
    assert total[:5] == ("all", "14", "14", "14", "14")
