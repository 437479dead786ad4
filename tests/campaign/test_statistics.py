"""Intervals are held to scipy's, to simulation, and to laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.campaign.statistics import (
    Estimate,
    change_interval,
    mean_interval,
    median_confidence,
    median_interval,
    total_interval,
)

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)
POSITIVE = st.lists(st.floats(0.1, 1e3), min_size=2, max_size=12)


@given(VALUES)
def test_interval_of_a_mean_is_that_of_scipy(values: list[float]) -> None:
    found = mean_interval(values)
    error = stats.sem(values)
    if error == 0:
        assert found.low == found.value == found.high
        return
    expected = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=error)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_interval_of_a_mean_covers_the_truth_19_times_out_of_20() -> None:
    generator = np.random.default_rng(1)
    samples = generator.normal(5, 2, size=(4000, 12))
    intervals = [mean_interval(list(sample)) for sample in samples]
    covered = sum(found.low <= 5 <= found.high for found in intervals)  # type: ignore[operator]
    # Four standard deviations of a binomial count around its mean.
    assert abs(covered - 3800) < 4 * math.sqrt(4000 * 0.95 * 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("size", [12, 60])
def test_interval_of_a_change_covers_the_truth_about_19_times_out_of_20(size: int) -> None:
    generator = np.random.default_rng(2)
    covered = 0
    for trial in range(400):
        pair_effect = generator.normal(20, 4, size=size)
        baseline = dict(enumerate(pair_effect + generator.normal(0, 1, size)))
        other = dict(enumerate(0.5 * pair_effect + generator.normal(0, 1, size)))
        found = change_interval(baseline, other, seed=trial)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= -50 <= found.high
    assert 0.91 * 400 <= covered <= 0.985 * 400


@given(POSITIVE, st.integers(0, 100))
def test_identical_data_change_by_nothing(values: list[float], seed: int) -> None:
    data = dict(enumerate(values))
    assert change_interval(data, dict(data), seed) == (0, 0, 0)


@given(POSITIVE, st.floats(0.1, 10), st.integers(0, 100))
def test_a_constant_factor_is_found_without_doubt(values: list[float], factor: float, seed: int) -> None:
    data = dict(enumerate(values))
    found = change_interval(data, {key: factor * value for key, value in data.items()}, seed)
    assert found == pytest.approx((100 * (factor - 1),) * 3, abs=1e-6)


@given(st.lists(st.tuples(st.floats(1, 10), st.floats(1, 10)), min_size=2, max_size=12), st.integers(0, 50))
def test_exchanging_the_sides_gives_the_inverse_factor(pairs: list[tuple[float, float]], seed: int) -> None:
    first, second = ({key: pair[side] for key, pair in enumerate(pairs)} for side in (0, 1))
    there, back = change_interval(first, second, seed), change_interval(second, first, seed)
    assert there is not None
    assert back is not None
    factors = [1 + bound / 100 for bound in (there.value, there.low, there.high) if bound is not None]
    inverses = [1 + bound / 100 for bound in (back.value, back.high, back.low) if bound is not None]
    assert [1 / factor for factor in factors] == pytest.approx(inverses)


def test_pairing_cancels_what_is_common_to_a_pair() -> None:
    generator = np.random.default_rng(3)
    slow = generator.uniform(1, 100, 30)
    baseline = dict(enumerate(slow))
    paired = dict(enumerate(0.9 * slow + generator.normal(0, 0.01, 30)))
    shuffled = dict(enumerate(generator.permutation(list(paired.values()))))
    width = {}
    for name, other in (("paired", paired), ("shuffled", shuffled)):
        found = change_interval(baseline, other, 1)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        width[name] = found.high - found.low
    assert width["paired"] < width["shuffled"] / 100


def test_only_keys_of_both_sides_count() -> None:
    assert change_interval({1: 10.0, 2: 99.0}, {1: 5.0, 3: 99.0}, 1) == Estimate(-50.0, None, None)


@pytest.mark.parametrize(("first", "second"), [({}, {}), ({1: 1.0}, {2: 1.0}), ({1: 0.0, 2: 0.0}, {1: 1.0, 2: 1.0})])
def test_a_change_of_nothing_is_not_defined(first: dict[int, float], second: dict[int, float]) -> None:
    assert change_interval(first, second, 1) is None


def test_draws_without_a_baseline_leave_the_upper_bound_open() -> None:
    found = change_interval({1: 0.0, 2: 1.0}, {1: 1.0, 2: 1.0}, 1)
    assert found is not None
    assert found.value == pytest.approx(100)
    assert found.high is None


def test_the_same_seed_gives_the_same_interval_and_another_seed_nearly_so() -> None:
    generator = np.random.default_rng(4)
    first, second = (dict(enumerate(generator.uniform(5, 9, 20))) for _ in range(2))
    one, again, other = (change_interval(first, second, seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert one == pytest.approx(other, abs=1.0)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_values_that_are_no_numbers_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no values|not finite"):
        mean_interval(values)


@given(VALUES)
def test_half_of_the_values_lie_between_the_quartiles(values: list[float]) -> None:
    found = median_interval(values)
    assert found.low is not None
    assert found.high is not None
    inside = sum(found.low <= value <= found.high for value in values)
    assert inside >= len(values) / 2 - 1
    assert found.value == pytest.approx(np.median(values))


@pytest.mark.parametrize("size", [1, 5, 6, 12, 40])
def test_the_interval_of_a_median_is_that_of_the_sign_test(size: int) -> None:
    found = median_confidence([float(number) for number in range(size)])
    assert (found.low is None) == (size < 6)
    if found.low is None or found.high is None:
        return
    # A median outside the interval has at most `low` values on one side of it: a sign test of 5 % refuses it.
    assert stats.binomtest(int(found.low), size).pvalue <= 0.05 < stats.binomtest(int(found.low) + 1, size).pvalue
    assert found.low + found.high == size - 1


@given(VALUES)
def test_the_interval_of_a_total_is_that_of_the_mean_times_the_trials(values: list[float]) -> None:
    mean, total = mean_interval(values), total_interval(values)
    assert total == pytest.approx([len(values) * each for each in mean if each is not None], rel=1e-9, abs=1e-6)
