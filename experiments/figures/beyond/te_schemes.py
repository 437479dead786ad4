"""All schemes on real networks: what a failed link costs each of them, and what reserving costs without a failure.

Set-up: Gscale, USNET and Darkstrand, 1 Gbit/s where the capacity is unknown, 3 tunnels a pair, a gravity matrix of all
pairs whose volume is a share of the largest that the network carries whole. Every link fails in turn. Losses are
counted against the unprotected optimum, so that what a scheme never admitted counts as lost too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.te_schemes import SchemeOutcome, SchemesParameters, SchemesRow, read_rows
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import ClaimResult
from experiments.charts.canvas import INK, PALETTE, new_figure
from te_solver.schemes import SCHEMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TOPOLOGIES = ("gscale", "usnet", "darkstrand")
# Share of the largest volume that fits whole; above 1 not all of it is carried.
LOADS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.6)
RUNS = 5
CAPACITY_MBPS = 1000.0
RESERVING = ("ffc1", "ffc2", "ffc3", "teavar")
Measure = Callable[[SchemeOutcome], float]
ID, PRICE_ID = "te-schemes", "te-ffc-price"


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial a topology, matrix and load; both figures share them."""
    runs = plan.rounds or (1 if plan.quick else RUNS)
    return tuple(
        Trial(
            trial_id=f"{ID}/{topology}-run{run}-load{load:.1f}",
            kind="te-schemes",
            topology=topology,
            variant=None,
            round=run + 1,
            failures=1,
            links=(),
            pairs=(),
            load=None,
            timing=None,
            seed=plan.seed,
            parameters=SchemesParameters(run, load, CAPACITY_MBPS),
        )
        for topology in TOPOLOGIES
        for run in range(runs)
        for load in LOADS
    )


def _no_claims(_rows: Sequence[Json]) -> list[ClaimResult]:
    return []


def mean_of(rows: Sequence[SchemesRow], value: Measure, topology: str, scheme: str) -> list[float]:
    """Mean over the runs of one number, for every load; not a number where no run is there."""
    found: dict[float, list[float]] = {load: [] for load in LOADS}
    for row in rows:
        if row.topology == topology:
            found[row.parameters.load].append(value(row.schemes[scheme]))
    return [float(np.mean(values)) if values else float("nan") for values in found.values()]


def _lost(outcome: SchemeOutcome) -> float:
    return outcome.lost


def _admitted(outcome: SchemeOutcome) -> float:
    return outcome.admitted


def _not_admitted(outcome: SchemeOutcome) -> float:
    return 1 - outcome.admitted


def draw_losses(rows: Sequence[Json], caption: str) -> Figure:
    """Mean share of the optimum lost under a failure, over the load."""
    label = "of the optimum lost, mean over failures (%)"
    return _draw(read_rows(rows), _lost, tuple(SCHEMES), label, "every link failed in turn", caption=caption)


def draw_price(rows: Sequence[Json], caption: str) -> Figure:
    """Share of the optimum that reserving schemes do not admit, without any failure."""
    label, title = "of the optimum not admitted (%)", "the price of reserving, no failure"
    return _draw(read_rows(rows), _not_admitted, RESERVING, label, title, caption=caption)


def table(rows: Sequence[Json]) -> Table:
    """For people: topology, scheme, then admitted and lost at each load, in per cent of the optimum."""
    found = read_rows(rows)
    lines = []
    for topology, scheme in product(TOPOLOGIES, SCHEMES):
        both = (mean_of(found, each, topology, scheme) for each in (_admitted, _lost))
        cells = (f"{100 * admitted:.1f}/{100 * lost:.2f}" for admitted, lost in zip(*both, strict=True))
        lines.append((topology, scheme, *cells))
    return Table(("topology", "scheme", *(f"load {load:.1f}" for load in LOADS)), tuple(lines))


def _draw(
    rows: Sequence[SchemesRow], value: Measure, schemes: Sequence[str], label: str, title: str, *, caption: str
) -> Figure:
    figure, panels = new_figure(13.0, 4.4, len(TOPOLOGIES))
    for axes, topology in zip(panels, TOPOLOGIES, strict=True):
        for scheme, mark in zip(schemes, "osx^v<>D", strict=False):
            colour = PALETTE[list(SCHEMES).index(scheme)]
            values = [100 * share for share in mean_of(rows, value, topology, scheme)]
            axes.plot(LOADS, values, marker=mark, markersize=5, color=colour, label=scheme, linewidth=1.4)
        axes.set_title(topology, color=INK, fontsize=10, loc="left")
        axes.set_xlabel("load (share of what fits whole)", color=INK)
        axes.set_ylabel(label, color=INK)
        axes.set_ylim(bottom=0)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=8, frameon=False, fontsize=9
    )
    runs = len({row.parameters.run for row in rows})
    figure.suptitle(f"{title}; gravity demands, {runs} matrices", color=INK, fontsize=11, x=0.01, ha="left")
    if caption:
        figure.supxlabel(caption, fontsize=8, x=0.01, ha="left", parse_math=False)
    return figure


def _figure(name: str, title: str, draw: Callable[[Sequence[Json], str], Figure]) -> PaperFigure:
    return PaperFigure(name, "beyond", title, trials, _no_claims, draw, table)


LOSSES = _figure(ID, "what a failed link costs each scheme of traffic engineering", draw_losses)
PRICE = _figure(PRICE_ID, "what schemes that reserve for failures do not admit", draw_price)
