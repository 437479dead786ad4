"""Policies: who is served next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from ryu_apps.control.priority.decide.policies import (
    QUANTUM_BYTES,
    MinRate,
    Policy,
    Strict,
    WeightedFair,
    make_policy,
)
from ryu_apps.pmt.scheduling import SchedulerKind, full_shares

CLASSES = (1, 2, 0)


def served_bytes(policy: Policy, classes: tuple[int, ...], size_of: dict[int, int], turns: int) -> dict[int, int]:
    """Bytes by class when every class always has something to send."""
    served = dict.fromkeys(classes, 0)
    for _ in range(turns):
        chosen = policy.choose(classes, size_of.__getitem__)
        served[chosen] += size_of[chosen]
    return served


def test_strict_serves_the_most_urgent_class_that_waits() -> None:
    assert Strict().choose((2, 0), lambda _: 1) == 2
    assert served_bytes(Strict(), CLASSES, dict.fromkeys(CLASSES, 10), 50) == {1: 500, 2: 0, 0: 0}


@given(
    weights=st.lists(st.integers(1, 8), min_size=3, max_size=3),
    sizes=st.lists(st.integers(8, 1500), min_size=3, max_size=3),
)
def test_weighted_fair_gives_bytes_in_proportion_to_the_weights(weights: list[int], sizes: list[int]) -> None:
    weight_of, size_of = dict(zip(CLASSES, weights, strict=True)), dict(zip(CLASSES, sizes, strict=True))
    served = served_bytes(WeightedFair(weight_of), CLASSES, size_of, 4000)
    per_weight = [served[each] / weight_of[each] for each in CLASSES]
    # Deficit round robin: nobody is further off than one round and one message.
    slack = max(QUANTUM_BYTES + size_of[each] / weight_of[each] for each in CLASSES)
    assert max(per_weight) - min(per_weight) <= 2 * slack


def test_weighted_fair_keeps_no_credit_for_a_class_that_had_nothing_to_send() -> None:
    policy = WeightedFair({1: 1, 2: 1})
    for _ in range(1000):
        assert policy.choose((2,), lambda _: 100) == 2
    served = [policy.choose((1, 2), lambda _: 100) for _ in range(40)]
    assert 15 <= served.count(1) <= 25


@given(size=st.integers(8, 1500), other=st.integers(8, 1500))
def test_min_rate_gives_a_low_class_its_share_and_the_rest_to_the_most_urgent(size: int, other: int) -> None:
    served = served_bytes(MinRate({0: 0.2}), CLASSES, {1: size, 2: 100, 0: other}, 3000)
    total = sum(served.values())
    assert served[0] >= 0.2 * total - max(size, other) - other
    assert served[0] <= 0.2 * total + size + other
    assert served[2] == 0


@given(
    kind=st.sampled_from(SchedulerKind),
    waiting=st.lists(st.sets(st.sampled_from(CLASSES), min_size=1), min_size=1, max_size=40),
)
def test_every_policy_always_serves_something_that_waits(kind: SchedulerKind, waiting: list[set[int]]) -> None:
    policy = make_policy(kind, full_shares(kind, {}, CLASSES))
    for each in waiting:
        now = [one for one in CLASSES if one in each]
        assert policy.choose(now, lambda _: 5000) in each


@pytest.mark.parametrize(
    ("kind", "shares", "words"),
    [
        (SchedulerKind.WEIGHTED, {1: 0.0}, "weight of class 1 is 0; give a number above 0"),
        (SchedulerKind.MIN_RATE, {1: 0.8, 2: 0.3}, "add up to 1.1; use at most 1"),
    ],
)
def test_a_policy_that_cannot_be_used_is_named(kind: SchedulerKind, shares: dict[int, float], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        make_policy(kind, shares)
