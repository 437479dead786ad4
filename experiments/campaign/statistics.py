"""Point estimates with 95 % intervals: of a mean, of a relative change, and median with quartiles."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom
from scipy.stats import t as student

Key = TypeVar("Key", bound=Hashable)

CONFIDENCE = 0.95
RESAMPLES = 10_000


class Estimate(NamedTuple):
    """A measured value and the interval around it; the bounds are None where the data give none (one value only)."""

    value: float
    low: float | None
    high: float | None


def mean_interval(values: Sequence[float]) -> Estimate:
    """Mean with its two-sided 95 % interval by Student's t.

    Parameters
    ----------
    values
        Independent measurements, at least one; any unit.

    Returns
    -------
    Bounds are None for a single value, which says nothing about spread.

    Raises
    ------
    ValueError
        No values, or one that is not finite.

    Examples
    --------
    >>> mean_interval([7.0])
    Estimate(value=7.0, low=None, high=None)
    """
    data = _finite(values)
    mean = float(data.mean())
    if data.size < 2:
        return Estimate(mean, None, None)
    half = float(student.ppf((1 + CONFIDENCE) / 2, data.size - 1) * data.std(ddof=1) / math.sqrt(data.size))
    return Estimate(mean, mean - half, mean + half)


def change_interval(baseline: Mapping[Key, float], other: Mapping[Key, float], seed: int) -> Estimate | None:
    """Relative change of the mean from `baseline` to `other` in per cent, by paired bootstrap over the keys.

    Keys, as (round, pair), are drawn with replacement and both sides take the same draw, so that what makes one pair
    slow for every scheme cancels out. The percentile interval is expanded for small samples as in T. Hesterberg, What
    Teachers Should Know About the Bootstrap, The American Statistician 69(4), 2015, section 5.2.

    Parameters
    ----------
    baseline, other : mapping of key to float
        Measurements; only keys that both have are used.
    seed
        Seed of the draws.

    Returns
    -------
    None without a common key, or when the baseline's mean is 0: there is no relative change then. A bound that
    is not finite (draws whose baseline is 0) is None.

    Raises
    ------
    ValueError
        A value is not finite.
    """
    keys = [key for key in baseline if key in other]
    if not keys:
        return None
    first, second = _finite([baseline[key] for key in keys]), _finite([other[key] for key in keys])
    if first.mean() == 0:
        return None
    value = float(100 * (second.mean() / first.mean() - 1))
    if len(keys) < 2:
        return Estimate(value, None, None)
    draws = np.random.default_rng(seed).integers(len(keys), size=(RESAMPLES, len(keys)))
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = 100 * (second[draws].mean(axis=1) / first[draws].mean(axis=1) - 1)
    changes.sort()
    tail = _expanded_tail(len(keys))
    rank = int(tail * (RESAMPLES - 1))
    low, high = float(changes[rank]), float(changes[RESAMPLES - 1 - rank])
    return Estimate(value, low if math.isfinite(low) else None, high if math.isfinite(high) else None)


def median_interval(values: Sequence[float]) -> Estimate:
    """Median with the first and third quartile, which are no confidence interval.

    Examples
    --------
    >>> median_interval([1.0, 2.0, 3.0, 4.0, 100.0])
    Estimate(value=3.0, low=2.0, high=4.0)
    """
    low, middle, high = np.quantile(_finite(values), (0.25, 0.5, 0.75))
    return Estimate(float(middle), float(low), float(high))


def median_confidence(values: Sequence[float]) -> Estimate:
    """Median with a 95 % interval that assumes no distribution: two order statistics, by the binomial distribution.

    As in H. A. David and H. N. Nagaraja, Order Statistics, 2003, section 7.1. Five values or fewer give no interval.

    Parameters
    ----------
    values
        Independent measurements, at least one; any unit.

    Examples
    --------
    >>> median_confidence([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    Estimate(value=3.5, low=1.0, high=6.0)
    """
    data = np.sort(_finite(values))
    beyond = int(binom.ppf((1 - CONFIDENCE) / 2, data.size, 0.5))
    # The quantile's own weight may reach beyond the share: the rank below it is safe.
    if binom.cdf(beyond, data.size, 0.5) > (1 - CONFIDENCE) / 2:
        beyond -= 1
    middle = float(np.median(data))
    return (
        Estimate(middle, None, None) if beyond < 0 else Estimate(middle, float(data[beyond]), float(data[-1 - beyond]))
    )


def total_interval(values: Sequence[float]) -> Estimate:
    """Sum over trials with the 95 % interval that as many further trials' sum has, by that of their mean.

    Examples
    --------
    >>> total_interval([0.0, 0.0]), total_interval([3.0])
    (Estimate(value=0.0, low=0.0, high=0.0), Estimate(value=3.0, low=None, high=None))
    """
    low, high = mean_interval(values)[1:]
    return Estimate(
        float(sum(values)), None if low is None else low * len(values), None if high is None else high * len(values)
    )


def _expanded_tail(size: int) -> float:
    """Share of draws beyond each bound: as far out as Student's t is, and as the missing n/(n-1) of the variance."""
    quantile = student.ppf((1 - CONFIDENCE) / 2, size - 1) * math.sqrt(size / (size - 1))
    return float(ndtr(quantile))


def _finite(values: Sequence[float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("no values: a mean of nothing is not defined")
    if not np.isfinite(data).all():
        raise ValueError(f"{values!r} holds a value that is not finite")
    return data
