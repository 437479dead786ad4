"""x-coverage: every bundled topology, pair, single link failure and scheme, decided by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.verify import Outcomes, VerifyRow
from experiments.campaign.rows import of_variant
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import COUNT, Claim, ClaimResult, Exactly, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.sdfast import setup
from experiments.figures.sdfast.comparisons import NOTHING
from experiments.figures.sdfast.decided import (
    DECIDED_LABELS,
    LOOP_FREE,
    counted,
    coverage_rows,
)
from experiments.figures.sdfast.setup import LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Phase = Callable[[VerifyRow], Outcomes]


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Single failures on every bundled topology."""
    return tuple(setup.verify_trials(plan, setup.bundled_topologies(), (1,)))


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Every bundled topology, pair and single link failure."""
    decided = coverage_rows(rows, setup.bundled_topologies(), (1,))
    results = [counted(decided, lambda row: row.broken, "promises broken, every topology and scheme, single failures")]
    for variant in LOOP_FREE:
        own = of_variant(decided, variant)
        results.append(counted(own, lambda row: row.looped, f"cases that loop, {LABELS[variant]}, single failures"))
        results.append(_covered(own, f"cases delivered from the first packet on, {LABELS[variant]}", _transient, True))
    results.append(
        _covered(of_variant(decided, setup.CBC_AT_ONCE), "cases delivered once converged, CBC", _converged, True)
    )
    results.append(_covered(of_variant(decided, setup.FFG), "cases delivered, FFG", _converged, False))
    return results


def _transient(row: VerifyRow) -> Outcomes:
    return row.transient


def _converged(row: VerifyRow) -> Outcomes:
    return row.converged


def _covered(rows: Sequence[VerifyRow], name: str, phase: Phase, is_all: bool) -> ClaimResult:
    delivered = sum(phase(row).delivered for row in rows)
    joined = sum(phase(row).joined for row in rows)
    share = Estimate(100 * delivered / joined, None, None) if joined else None
    claim = Claim(name, "% of joined cases", band=Exactly(100.0) if is_all else None, asks=COUNT)
    return judge(claim, share).with_note(f"{delivered} of {joined} cases on {len(rows)} topologies")


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Topology by scheme, all single link failures: delivered from the first packet on, and once converged."""
    figure, axes = canvas.panels("Every pair and every single link failure of the bundled topologies", 2, 5.6)
    decided = coverage_rows(rows, setup.bundled_topologies(), (1,))
    results = {(row.topology, row.variant): row for row in decided}
    topologies = [name for name in setup.bundled_topologies() if any(key[0] == name for key in results)]
    for axis, phase, title in (
        (axes[0], _transient, "delivered from the first packet on, %"),
        (axes[1], _converged, "delivered once converged, %"),
    ):
        _heat_map(axis, results, topologies, phase)
        axis.set_title(title, loc="left", fontsize=10, color=INK)
    cases = sum(result.cases for result in results.values())
    facts = [f"{cases} cases decided by the interpreter; per cent of the cases in which the pair is still joined."]
    return canvas.finish(figure, [*facts, "n/a: no single failure leaves the pair joined."], caption)


def _heat_map(axes: Axes, results: dict[tuple[str, str], VerifyRow], topologies: Sequence[str], phase: Phase) -> None:
    variants = setup.VERIFIED
    grid = [[float("nan")] * len(variants) for _ in topologies]
    for (line, topology), (column, variant) in product(enumerate(topologies), enumerate(variants)):
        result = results.get((topology, variant.name))
        text = "-"
        if result is not None:
            joined, value = phase(result).joined > 0, phase(result).joined_percent
            text = f"{value:.0f}" if joined else "n/a"
            grid[line][column] = value if joined else float("nan")
        dark = grid[line][column] > 65
        axes.text(column, line, text, ha="center", va="center", fontsize=8, color="white" if dark else INK)
    if topologies:
        axes.imshow(grid, cmap="Blues", vmin=0, vmax=130, aspect="auto")
    axes.grid(False)
    names = [DECIDED_LABELS[variant] for variant in variants]
    axes.set_xticks(range(len(variants)), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(range(len(topologies)), topologies, fontsize=8)


def table(rows: Sequence[Json]) -> Table:
    """Every topology and scheme with single failures: outcomes, stretch, crankbacks, and the sizes of the tables."""
    header = (
        "scheme",
        "topology",
        "cases",
        "joined",
        "delivered at once, %",
        "delivered converged, %",
        "looped",
        "mean stretch",
        "longest crankback",
        "most rows",
        "most groups",
        "most backup rows",
    )
    decided = coverage_rows(rows, setup.bundled_topologies(), (1,))
    by_key = {(row.topology, row.variant): row for row in decided}
    wanted = product(setup.bundled_topologies(), setup.VERIFIED)
    found = [
        (DECIDED_LABELS[variant], topology, *_coverage_cells(by_key[topology, variant.name]))
        for topology, variant in wanted
        if (topology, variant.name) in by_key
    ]
    return Table(header, tuple(found))


def _coverage_cells(row: VerifyRow) -> tuple[str, ...]:
    return (
        str(row.cases),
        str(row.converged.joined),
        f"{row.transient.joined_percent:.1f}",
        f"{row.converged.joined_percent:.1f}",
        str(row.looped),
        NOTHING if row.mean_stretch is None else f"{row.mean_stretch:.3f}",
        str(row.longest_crankback),
        *map(str, (row.most_rows, row.most_groups, row.most_backup_rows)),
    )


FIGURE = PaperFigure(
    "x-coverage",
    "beyond",
    "Every bundled topology, pair, single link failure and scheme, decided by the interpreter",
    trials,
    claims,
    draw,
    table,
    with_paper="sd-fast",
)
