"""Claims judged from numbers: bands as values, and one table of what each kind of claim asks.

`holds`: the measured value lies in the band, and its 95 % interval excludes "no change" (claims of a change) or lies
inside the band whole (claims of equality or of a bound). `direction`: the band is not met, and the interval lies on the
paper's side of "no change". `undecided`: too few trials for an interval, or an interval that leaves the claim open.
`differs`: the measurement contradicts the claim. `by construction`: what was measured is true by definition or formula.
`measured`: the paper gives no number to test. `no data`: trials failed, so there is nothing to judge.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, Final

from experiments.campaign.statistics import Estimate

Json = dict[str, Any]

HOLDS, DIRECTION, DIFFERS, MEASURED, NO_DATA = "holds", "direction", "differs", "measured", "no data"
UNDECIDED, BY_CONSTRUCTION = "undecided", "by construction"
# The worst judged claim is the verdict of its figure.
WORST_FIRST = (DIFFERS, NO_DATA, UNDECIDED, DIRECTION, HOLDS, BY_CONSTRUCTION, MEASURED)

# What a claim asks of a measurement.
CHANGE: Final = "change"  # the value lies in the band, and the interval excludes `neutral`
MARGIN: Final = "margin"  # the whole interval lies in the band, which is the margin of an equality, or a bound
COUNT: Final = "count"  # every case was counted, none drawn: the value lies in the band

ONE_TRIAL = "too few trials for an interval"
NO_CHANGE = "the interval does not exclude that nothing changes"
CROSSES = "the interval crosses the margin"
OVERLAP = "the intervals of neighbours overlap, or too few trials give none"


class Band:
    """Closed range of values that a claim admits."""

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value of the band."""
        raise NotImplementedError

    def holds(self, value: float) -> bool:
        """Whether a value lies in the band."""
        low, high = self.ends
        return low <= value <= high


@dataclass(frozen=True, slots=True)
class Within(Band):
    """A closed range."""

    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """The range."""
        return self.low, self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class AtLeast(Band):
    """A lower bound."""

    bound: float

    @property
    def ends(self) -> tuple[float, float]:
        """From the bound on."""
        return self.bound, math.inf

    def __str__(self) -> str:
        return f"at least {self.bound:g}"


@dataclass(frozen=True, slots=True)
class AtMost(Band):
    """An upper bound."""

    bound: float

    @property
    def ends(self) -> tuple[float, float]:
        """Up to the bound."""
        return -math.inf, self.bound

    def __str__(self) -> str:
        return f"at most {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Exactly(Band):
    """One value."""

    value: float

    @property
    def ends(self) -> tuple[float, float]:
        """The value twice."""
        return self.value, self.value

    def __str__(self) -> str:
        return f"exactly {self.value:g}"


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
    """What a paper says, and what a measurement must show for it.

    Attributes
    ----------
    name, unit, paper
        `paper` is a number where the paper gives one.
    band
        Values that agree with the paper; None when nothing is judged.
    neutral
        The value that means "no change": 0 for changes, 1 for ratios.
    asks : {"change", "margin", "count"}
        See the constants above.
    by_construction
        Why the claim is true by definition or formula, if it is: then nothing that was measured decides it.

    Raises
    ------
    ValueError
        The band of a claim of a change admits "no change", so that no interval could exclude it.
    """

    name: str
    unit: str
    paper: float | str | None = None
    band: Band | None = None
    neutral: float = 0.0
    asks: str = CHANGE
    by_construction: str | None = None

    def __post_init__(self) -> None:
        """Refuse a claim that its own band makes void."""
        if self.band is None or self.asks != CHANGE or self.by_construction is not None:
            return
        low, high = self.band.ends
        if low < self.neutral < high or low == self.neutral == high:
            raise ValueError(f"{self.name!r}: a change with the band {self.band} admits {self.neutral:g}, no change")


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
    verdict, note = (MEASURED, None) if claim.band is None else _verdict(claim, claim.band, estimate)
    return ClaimResult(claim.name, claim.unit, claim.paper, *estimate, verdict, band, note)


def judge_order(
    name: str, unit: str, estimates: Mapping[str, Estimate | None], by_construction: str | None = None
) -> ClaimResult:
    """Judge "in this order": the 95 % intervals of neighbours are apart, the smaller below the larger.

    Parameters
    ----------
    estimates : mapping of name to Estimate or None
        In the order that the paper gives, smallest first. Two intervals that are apart the other way round differ from
        it; otherwise intervals that overlap, or that are missing, leave it undecided.
    by_construction
        As `Claim` has it.
    """
    band = f"order({' < '.join(estimates)})"
    found = [estimate for estimate in estimates.values() if estimate is not None]
    if len(found) < len(estimates):
        missing = ", ".join(key for key, estimate in estimates.items() if estimate is None)
        note = f"nothing measured for {missing}"
        return ClaimResult(name, unit, "in this order", None, None, None, NO_DATA, band, note)
    verdict, why = _order_verdict(found, by_construction)
    shown = sorted(estimates, key=lambda key: (estimates[key] or found[0]).value)
    measured = " < ".join(f"{key} {_with_interval(estimates[key] or found[0])}" for key in shown)
    return ClaimResult(name, unit, "in this order", measured, None, None, verdict, band, why)


def judge_difference(name: str, unit: str, paper: str, estimate: Estimate | None) -> ClaimResult:
    """Judge "this is larger than that" by the mean difference of things measured in pairs.

    Parameters
    ----------
    name, unit, paper
        `paper` says which is larger.
    estimate
        Of larger less smaller; None when there is nothing to judge.
    """
    return judge(Claim(name, unit, paper, AtLeast(0.0)), estimate)


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
    return {
        verdict: counts[verdict]
        for verdict in (HOLDS, DIRECTION, DIFFERS, UNDECIDED, BY_CONSTRUCTION, MEASURED, NO_DATA)
    }


def _verdict(claim: Claim, band: Band, estimate: Estimate) -> tuple[str, str | None]:
    """Verdict of a claim with a band, and why it is not plainer."""
    met = band.holds(estimate.value)
    if claim.by_construction is not None:
        return (BY_CONSTRUCTION if met else _other(claim, estimate.value)), claim.by_construction
    if claim.asks == COUNT:
        return (HOLDS if met else _other(claim, estimate.value)), None
    bounds = _bounds(estimate)
    if bounds is None:
        return UNDECIDED, ONE_TRIAL
    low, high = bounds
    apart = low > band.ends[1] or high < band.ends[0]
    if claim.asks == MARGIN:
        inside = band.holds(low) and band.holds(high)
        # "None" and "all" have no margin: one case to the contrary refutes them.
        refuted = apart or (band.ends[0] == band.ends[1] and not met)
        return (DIFFERS, None) if refuted else (HOLDS, None) if inside else (UNDECIDED, CROSSES)
    if low <= claim.neutral <= high:
        return (DIFFERS if apart else UNDECIDED), NO_CHANGE
    return (HOLDS if met else _other(claim, estimate.value)), None


def _other(claim: Claim, value: float) -> str:
    """What a value outside the band is: on the paper's side of "no change", or not."""
    if isinstance(claim.paper, str) or claim.paper is None:
        return DIFFERS
    return DIRECTION if (claim.paper - claim.neutral) * (value - claim.neutral) > 0 else DIFFERS


def _bounds(estimate: Estimate) -> tuple[float, float] | None:
    """Ends of an interval, infinite where it has one end only; None without an interval."""
    if estimate.low is None and estimate.high is None:
        return None
    return -math.inf if estimate.low is None else estimate.low, math.inf if estimate.high is None else estimate.high


def _order_verdict(found: list[Estimate], by_construction: str | None) -> tuple[str, str | None]:
    if any(_is_apart(later, earlier) for earlier, later in combinations(found, 2)):
        return DIFFERS, by_construction
    if by_construction is not None:
        return BY_CONSTRUCTION, by_construction
    return (HOLDS, None) if all(_is_apart(*both) for both in pairwise(found)) else (UNDECIDED, OVERLAP)


def _is_apart(smaller: Estimate, larger: Estimate) -> bool:
    return smaller.high is not None and larger.low is not None and smaller.high < larger.low


def _with_interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3g}"
    return f"{estimate.value:.3g} [{estimate.low:.3g}, {estimate.high:.3g}]"
