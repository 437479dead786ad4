"""Schedules: the law of their arrivals, their classes and switches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.decide.load import ARRIVALS, CLASSES, HIGH, Load, make_schedule
from mininet_topos.errors import BadInputError

LOADS = st.builds(
    Load,
    switches=st.integers(1, 20),
    rate_pps=st.floats(1, 2000),
    seconds=st.floats(0.1, 5),
    arrivals=st.sampled_from(ARRIVALS),
    high_share=st.floats(0, 1),
    seed=st.integers(0, 2**32),
    warm_up_s=st.floats(0, 2),
)


@given(LOADS)
def test_arrivals_are_in_order_and_inside_their_time(load: Load) -> None:
    plan = make_schedule(load)
    assert np.all(np.diff(plan.due_s) >= 0)
    assert np.all((plan.due_s >= 0) & (plan.due_s <= load.total_s))
    assert np.all((plan.switches >= 0) & (plan.switches < load.switches))
    assert set(plan.class_ids) <= set(range(len(CLASSES)))


@given(LOADS)
def test_the_same_load_gives_the_same_arrivals(load: Load) -> None:
    one, other = make_schedule(load), make_schedule(load)
    assert np.array_equal(one.due_s, other.due_s)
    assert np.array_equal(one.class_ids, other.class_ids)


def test_constant_arrivals_have_equal_gaps_and_an_even_share() -> None:
    plan = make_schedule(Load(4, 1000, 2, "constant", 0.1, warm_up_s=0))
    assert np.allclose(np.diff(plan.due_s), 0.001)
    assert np.count_nonzero(plan.class_ids == CLASSES.index(HIGH)) == 200
    assert set(np.diff(np.flatnonzero(plan.class_ids == CLASSES.index(HIGH)))) == {10}


def test_poisson_gaps_have_the_mean_and_deviation_of_an_exponential_law() -> None:
    plan = make_schedule(Load(3, 5000, 20, "poisson", 0.3, seed=4))
    gaps_s = np.diff(plan.due_s)
    assert gaps_s.mean() == pytest.approx(1 / 5000, rel=0.02)
    assert gaps_s.std() == pytest.approx(1 / 5000, rel=0.03)
    assert np.mean(plan.class_ids == CLASSES.index(HIGH)) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"switches": 0}, "switches"),
        ({"rate_pps": 0}, "rate_pps"),
        ({"rate_pps": float("nan")}, "rate_pps"),
        ({"seconds": -1}, "seconds"),
        ({"high_share": 1.5}, "high_share"),
        ({"arrivals": "bursts"}, "bursts"),
        ({"frame_bytes": 20}, "frame_bytes"),
        ({"rate_pps": 1e9}, "lower the rate"),
    ],
)
def test_what_makes_no_load_is_refused_by_name(change: dict, word: str) -> None:
    with pytest.raises(BadInputError, match=word):
        Load(**{"switches": 1, "rate_pps": 10, "seconds": 1, **change})
