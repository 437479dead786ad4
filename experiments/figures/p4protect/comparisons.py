"""What ids of the testbed of two paths share, SQR's too: numbers of a variant in a case, as bars and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.campaign.figure import Table
from experiments.campaign.rows import Row
from experiments.campaign.statistics import Estimate, mean_interval, median_interval
from experiments.campaign.values import Variant
from experiments.charts.canvas import INK, PALETTE, whisker
from experiments.figures.p4protect import setup

if TYPE_CHECKING:
    from matplotlib.axes import Axes


AnyRow = Row[Any, Any]
Value = Callable[[AnyRow], float]
QUARTILES = "median over rounds, and quartiles instead of the interval"
COLOURS: Mapping[Variant, str] = {
    setup.PLAIN: PALETTE[1],
    setup.UNPROTECTED: PALETTE[3],
    setup.PROTECTED: PALETTE[0],
}
SCALE = (
    "Two hosts, two nodes and two disjoint paths in network namespaces of one machine, no Open vSwitch; "
    "variants one after another in every round."
)
INTERVALS, QUARTILE_BARS = "Whiskers: 95 % interval over rounds.", "Bars: median over rounds; whiskers: quartiles."
Case = Mapping[str, object]
Cases = Mapping[str, Case]
Looks = Mapping[Variant, tuple[str, str]]
LOOKS: Looks = {variant: (COLOURS[variant], setup.LABELS[variant.name]) for variant in COLOURS}
ALL = {variant: setup.LABELS[variant.name] for variant in (setup.PLAIN, setup.UNPROTECTED, setup.PROTECTED)}
TWO = {variant: label for variant, label in ALL.items() if variant != setup.UNPROTECTED}


def good_rows(rows: Sequence[AnyRow], variant: Variant, case: Case) -> list[AnyRow]:
    """Good rows of a variant whose parameters are those of a case."""
    return [
        row
        for row in rows
        if row.variant == variant.name and all(getattr(row.parameters, key) == each for key, each in case.items())
    ]


def values(rows: Sequence[AnyRow], variant: Variant, case: Case, value: Value) -> list[float]:
    """A value of every good row of a variant in a case, round by round."""
    return [value(row) for row in good_rows(rows, variant, case)]


def field_of(name: str) -> Value:
    """Reader of a field of rows."""
    return lambda row: float(getattr(row.measured, name))


def mean_of(rows: Sequence[AnyRow], variant: Variant, case: Case, value: Value) -> Estimate | None:
    """Mean over rounds with its 95 % interval; None without rows."""
    found = values(rows, variant, case, value)
    return mean_interval(found) if found else None


def median_of(rows: Sequence[AnyRow], variant: Variant, case: Case, value: Value) -> Estimate | None:
    """Median over rounds with its quartiles, for costs: a round that others disturbed does not move it."""
    found = values(rows, variant, case, value)
    return median_interval(found) if found else None


def ratio_of(
    rows: Sequence[AnyRow],
    variants: tuple[Variant, Variant],
    case: Case,
    value: Value,
    *,
    scale: float = 1.0,
) -> Estimate | None:
    """Median over rounds of one variant's value by the other's in the same round; None if no round has both."""
    found = ratios_of(rows, variants, case, value)
    return median_interval([scale * each for each in found]) if found else None


def ratios_of(rows: Sequence[AnyRow], variants: tuple[Variant, Variant], case: Case, value: Value) -> list[float]:
    """One variant's value by the other's, of every round that has both."""
    by_round = [{row.round: value(row) for row in good_rows(rows, variant, case)} for variant in variants]
    both = sorted(by_round[0].keys() & by_round[1].keys())
    return [by_round[0][number] / by_round[1][number] for number in both if by_round[1][number]]


def _short(value: float) -> str:
    """A number over a bar, which is narrow.

    Examples
    --------
    >>> _short(17_920), _short(2_000), _short(95.46)
    ('17.9k', '2,000', '95.5')
    """
    if value >= 10_000:
        return f"{value / 1000:.1f}k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def bars(axes: Axes, rows: Sequence[AnyRow], looks: Looks, cases: Cases, *, value: Value) -> None:
    """Medians of every variant in every case, side by side; `looks` are colour and label of the variants."""
    width = 0.8 / len(looks)
    for number, (variant, (colour, label)) in enumerate(looks.items()):
        for group, case in enumerate(cases.values()):
            estimate = median_of(rows, variant, case, value)
            place = group + (number - (len(looks) - 1) / 2) * width
            if estimate is None:
                axes.plot([place], [0], marker="x", color=INK, markersize=5, clip_on=False)
                continue
            axes.bar(place, estimate.value, 0.92 * width, color=colour, label=None if group else label)
            whisker(axes, place, estimate)
            axes.annotate(
                _short(estimate.value),
                (place, estimate.high or estimate.value),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color=INK,
            )
    axes.set_xticks(range(len(cases)), list(cases))
    axes.set_ylim(bottom=0)


def label_of(variant: Variant) -> str:
    """What pictures call a variant."""
    return setup.LABELS[variant.name]


def table_of(
    labels: Mapping[Variant, str], cases: Cases, fields: Mapping[str, str]
) -> Callable[[Sequence[AnyRow]], Table]:
    """Medians of fields for every case and variant; `labels` names variants, `fields` maps row keys to headings."""

    def table(rows: Sequence[AnyRow]) -> Table:
        lines = []
        for name, case in cases.items():
            for variant, label in labels.items():
                found = [median_of(rows, variant, case, field_of(field)) for field in fields]
                cells = ["-" if each is None else f"{each.value:,.4g}" for each in found]
                lines.append((f"{name}, {label}" if name else label, *cells))
        return Table(("", *fields.values()), tuple(lines))

    return table
