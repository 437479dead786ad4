"""What `x-in-band` makes of its rows: claims and the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.campaign.order import OK
from experiments.campaign.statistics import Estimate, change_interval, mean_interval
from experiments.campaign.values import Arm, Json
from experiments.campaign.verdicts import AtLeast, AtMost, Claim, ClaimResult, judge
from experiments.papers.figure import Table
from experiments.papers.in_band import setup

HIGH, LOW = CLASSES = ("high", "low")
# The paper's Figure 9 (simulated): 32 of more than 100 ms above normalised load 0.6; the band of pso-fig9.
MOST_DELAY_RATIO, MOST_LOSS_PERCENT = 0.32, 0.1
LEAST_USE = 0.9
_SEED = 1
Measure = Callable[[Json], float | None]


def rows_of(rows: Sequence[Json], arm: Arm, share: float | None = None) -> list[Json]:
    """Good rows of an arm, at one load or at all."""
    good = {
        row["trial"]: row for row in rows if row["trial"].startswith(f"{setup.ID}/") and row.get("status", OK) == OK
    }
    return [row for row in good.values() if row["arm"] == arm.name and share in (None, row["parameters"]["data_share"])]


def shares_of(rows: Sequence[Json]) -> list[float]:
    """Loads that have a good row."""
    return sorted({row["parameters"]["data_share"] for arm in setup.ARMS for row in rows_of(rows, arm)})


def of_class(name: str, key: str) -> Measure:
    """A number of one class; None when no packet gave it."""
    return lambda row: row["classes"][name][key]


def link_use(row: Json) -> float | None:
    """Share of the shared link that carried something."""
    return float(row["link_share"])


def estimate(rows: Sequence[Json], measure: Measure) -> Estimate | None:
    """Mean over rounds with its interval; None without a number."""
    values = [value for row in rows if (value := measure(row)) is not None]
    return mean_interval(values) if values else None


def ratio(rows: Sequence[Json], share: float, measure: Measure) -> Estimate | None:
    """PSO over FIFO, the same rounds compared; None without a round that has both."""
    both = [
        {row["round"]: value for row in rows_of(rows, arm, share) if (value := measure(row)) is not None}
        for arm in setup.ARMS
    ]
    change = change_interval(both[0], both[1], _SEED)
    if change is None:
        return None
    low, high = (None if bound is None else 1 + bound / 100 for bound in (change.low, change.high))
    return Estimate(1 + change.value / 100, low, high)


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """The high class keeps its packets and its delay when links are full, and the links stay full."""
    full, share = setup.OVERLOAD, f"data at {setup.OVERLOAD:g} of the link"
    found = [
        judge(
            Claim(f"loss of the high class, PSO, {share}", "%", None, AtMost(MOST_LOSS_PERCENT)),
            estimate(rows_of(rows, setup.PSO, full), of_class(HIGH, "lost_percent")),
        ),
        judge(
            Claim(f"mean delay of the high class, PSO / FIFO, {share}", "ratio", 0.32, AtMost(MOST_DELAY_RATIO), 1.0),
            ratio(rows, full, of_class(HIGH, "mean_ms")),
        ),
    ]
    found += [
        judge(
            Claim(f"use of the shared link, {setup.LABELS[arm.name]}, {share}", "of it", None, AtLeast(LEAST_USE)),
            estimate(rows_of(rows, arm, full), link_use),
        )
        for arm in setup.ARMS
    ]
    others = [each for each in shares_of(rows) if each != full]
    found += [
        judge(
            Claim(f"mean delay of the high class, PSO / FIFO, data at {each:g} of the link", "ratio", neutral=1.0),
            ratio(rows, each, of_class(HIGH, "mean_ms")),
        )
        for each in others
    ]
    lost = estimate(rows_of(rows, setup.FIFO, full), of_class(HIGH, "lost_percent"))
    return [*found, judge(Claim(f"loss of the high class, FIFO, {share}", "%"), lost)]


_COLUMNS: tuple[tuple[str, Measure], ...] = (
    *((f"{name}: lost, %", of_class(name, "lost_percent")) for name in CLASSES),
    *((f"{name}: mean, ms", of_class(name, "mean_ms")) for name in CLASSES),
    *((f"{name}: p99, ms", of_class(name, "p99_ms")) for name in CLASSES),
    ("link used", link_use),
    ("data, Mbit/s", lambda row: row["data_mbps"]),
)


def table(rows: Sequence[Json]) -> Table:
    """A line for every load and arm."""
    lines = []
    for share in shares_of(rows):
        for arm in setup.ARMS:
            own = rows_of(rows, arm, share)
            found = [estimate(own, measure) for _, measure in _COLUMNS]
            cells = (("-" if each is None else f"{each.value:,.2f}") for each in found)
            lines.append((f"data at {share:g} of the link, {setup.LABELS[arm.name]}", str(len(own)), *cells))
    return Table(("", "rounds", *(name for name, _ in _COLUMNS)), tuple(lines))
