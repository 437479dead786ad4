"""Claims judged from numbers: bands as values, and one table of what each band asks.

`holds`: the point estimate lies in the band (its interval is printed beside). `direction`: the band is not met, and
the change has the sign of the paper's. `differs`: neither. `measured`: the paper gives no number to test. `no data`:
trials failed, so there is nothing to judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from experiments.campaign.statistics import Estimate

Json = dict[str, Any]

HOLDS, DIRECTION, DIFFERS, MEASURED, NO_DATA = "holds", "direction", "differs", "measured", "no data"
# The worst judged claim is the verdict of its figure.
WORST_FIRST = (DIFFERS, NO_DATA, DIRECTION, HOLDS, MEASURED)


@dataclass(frozen=True, slots=True)
class Within:
    """A closed range."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether a value lies in the band."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A lower bound."""

    bound: float

    def holds(self, value: float) -> bool:
        """Whether a value lies in the band."""
        return value >= self.bound

    def __str__(self) -> str:
        return f"at least {self.bound:g}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """An upper bound."""

    bound: float

    def holds(self, value: float) -> bool:
        """Whether a value lies in the band."""
        return value <= self.bound

    def __str__(self) -> str:
        return f"at most {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Exactly:
    """One value, for things that are counted."""

    value: float

    def holds(self, value: float) -> bool:
        """Whether a value lies in the band."""
        return value == self.value

    def __str__(self) -> str:
        return f"exactly {self.value:g}"


Band = Within | AtLeast | AtMost | Exactly


def around(paper: float, points: float) -> Within:
    """The band of the paper's value plus or minus so many points.

    Examples
    --------
    >>> str(around(-54, 15))
    '-69 to -39'
    """
    return Within(paper - points, paper + points)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a paper says. `neutral` is the value that means "no change": 0 for changes, 1 for ratios."""

    name: str
    unit: str
    paper: float | str | None = None
    band: Band | None = None
    neutral: float = 0.0


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim beside what was measured; `low` and `high` bound the 95 % interval, None where there is none."""

    name: str
    unit: str
    paper: float | str | None
    measured: float | str | None
    low: float | None
    high: float | None
    verdict: str
    band: str | None = None
    note: str | None = None

    def to_json(self) -> Json:
        """The shape of `reproduce --json`."""
        return {name: getattr(self, name) for name in self.__slots__}

    def with_note(self, note: str) -> ClaimResult:
        """The same result with one more remark."""
        return replace(self, note=note if self.note is None else f"{self.note}; {note}")


def judge(claim: Claim, estimate: Estimate | None) -> ClaimResult:
    """Hold a measured value to a claim.

    Parameters
    ----------
    claim
        Without a band the result is `measured`.
    estimate
        None when there is nothing to judge: the result is `no data`.
    """
    band = None if claim.band is None else str(claim.band)
    if estimate is None:
        return ClaimResult(claim.name, claim.unit, claim.paper, None, None, None, NO_DATA, band)
    value, low, high = estimate
    verdict, note = MEASURED, None
    if claim.band is not None:
        verdict = _verdict(claim, claim.band, value)
        if verdict == DIRECTION and not _is_beyond(claim.neutral, low, high):
            note = "the interval does not exclude that nothing changes"
    return ClaimResult(claim.name, claim.unit, claim.paper, value, low, high, verdict, band, note)


def judge_order(name: str, unit: str, estimates: Mapping[str, Estimate | None]) -> ClaimResult:
    """Judge "in this order": means grow from first to last, and the 95 % intervals of neighbours do not touch.

    `direction` means that only the means are in order.

    Parameters
    ----------
    estimates : mapping of name to Estimate or None
        In the order that the paper gives, smallest first.
    """
    band = f"order({' < '.join(estimates)})"
    found = [estimate for estimate in estimates.values() if estimate is not None]
    if len(found) < len(estimates):
        missing = ", ".join(key for key, estimate in estimates.items() if estimate is None)
        note = f"nothing measured for {missing}"
        return ClaimResult(name, unit, "in this order", None, None, None, NO_DATA, band, note)
    neighbours = list(pairwise(found))
    if all(_is_apart(low, high) for low, high in neighbours):
        verdict = HOLDS
    else:
        verdict = DIRECTION if all(low.value < high.value for low, high in neighbours) else DIFFERS
    shown = sorted(estimates, key=lambda key: (estimates[key] or found[0]).value)
    measured = " < ".join(f"{key} {_with_interval(estimates[key] or found[0])}" for key in shown)
    return ClaimResult(name, unit, "in this order", measured, None, None, verdict, band)


def judge_difference(name: str, unit: str, paper: str, estimate: Estimate | None) -> ClaimResult:
    """Judge "this is larger than that" by the mean difference of things measured in pairs.

    `holds`: the 95 % interval lies above 0. `direction`: only the mean does.

    Parameters
    ----------
    name, unit, paper
        `paper` says which is larger.
    estimate
        Of larger less smaller; None when there is nothing to judge.
    """
    result = judge(Claim(name, unit, paper, AtLeast(0.0)), estimate)
    if estimate is None or result.verdict != HOLDS:
        return result
    if estimate.low is not None and estimate.low > 0:
        return result
    verdict = DIRECTION if estimate.value > 0 else DIFFERS
    return replace(result, verdict=verdict).with_note("the interval does not exclude that there is no difference")


def overall(results: Iterable[ClaimResult]) -> str:
    """Verdict of a figure: that of its worst claim.

    Examples
    --------
    >>> overall([])
    'measured'
    """
    verdicts = {result.verdict for result in results}
    return next((verdict for verdict in WORST_FIRST if verdict in verdicts), MEASURED)


def count_verdicts(results: Iterable[ClaimResult]) -> dict[str, int]:
    """How many claims got each verdict, all words present."""
    counts = Counter(result.verdict for result in results)
    return {verdict: counts[verdict] for verdict in (HOLDS, DIRECTION, DIFFERS, MEASURED, NO_DATA)}


def _verdict(claim: Claim, band: Band, value: float) -> str:
    if band.holds(value):
        return HOLDS
    if isinstance(claim.paper, str) or claim.paper is None:
        return DIFFERS
    return DIRECTION if (claim.paper - claim.neutral) * (value - claim.neutral) > 0 else DIFFERS


def _is_beyond(neutral: float, low: float | None, high: float | None) -> bool:
    """Whether an interval lies on one side of the value that means no change."""
    return low is not None and high is not None and (low > neutral or high < neutral)


def _is_apart(smaller: Estimate, larger: Estimate) -> bool:
    return smaller.high is not None and larger.low is not None and smaller.high < larger.low


def _with_interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3g}"
    return f"{estimate.value:.3g} [{estimate.low:.3g}, {estimate.high:.3g}]"
