"""Figure 10: time (a) and throughput (b) of a file transfer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from experiments.campaign.draws.paths import MOST_FAILURES
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import Claim, ClaimResult, around, judge, judge_order
from experiments.charts import canvas
from experiments.charts.canvas import INK, grouped, mark_paper, paper_handle
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import (
    MOST,
    OPPONENTS,
    SCALED,
    TABLES,
    affected_pairs,
    cell,
    variants_of,
    versus,
    where,
)
from experiments.figures.sdfast.measures import Choice, PairMeasure
from experiments.figures.sdfast.setup import COLOURS, LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Downloads, fail-free and with most failures."""
    return tuple(setup.download_trials(plan, setup.FAIL_FREE_AND_MOST, setup.RECOVERING))


DOWNLOAD = Choice("download", setup.DARKSTRAND, MOST)
DOWNLOAD_FAIL_FREE = Choice("download", setup.DARKSTRAND, (0,))


def time_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Time of a file transfer."""
    order = _download_order(rows, measures.download_s, "s", (setup.AGENT_PAIR, setup.CBC, setup.CB))
    paper = -64.0
    return [
        _download(rows, DOWNLOAD, (setup.CB, setup.AGENT_PAIR), measures.download_s, "time", paper=paper).with_note(
            TABLES
        ),
        order,
        _download(rows, DOWNLOAD, (setup.CBC, setup.AGENT_PAIR), measures.download_s, "time"),
        *(_download(rows, DOWNLOAD, (each, setup.LEARNED), measures.download_s, "time") for each in OPPONENTS),
        *(
            _download(rows, DOWNLOAD_FAIL_FREE, (each, setup.AGENT_PAIR), measures.download_s, "time")
            for each in OPPONENTS
        ),
    ]


def rate_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Throughput of a file transfer; the paper gives CB's distance below SD-FAST."""
    sdfast, measure = setup.AGENT_PAIR, measures.download_mbps
    order = _download_order(rows, measure, "Mbit/s", (setup.CB, setup.CBC, sdfast))
    return [
        _download(rows, DOWNLOAD, (sdfast, setup.CB), measure, "throughput", paper=-62.0).with_note(TABLES),
        order,
        _download(rows, DOWNLOAD, (sdfast, setup.CBC), measure, "throughput"),
        *(_download(rows, DOWNLOAD, (setup.LEARNED, each), measure, "throughput") for each in OPPONENTS),
        *(_download(rows, DOWNLOAD_FAIL_FREE, (sdfast, each), measure, "throughput") for each in OPPONENTS),
    ]


def _download(
    rows: Sequence[Json],
    choice: Choice,
    variants: tuple[Variant, Variant],
    measure: PairMeasure,
    what: str,
    *,
    paper: float | None = None,
) -> ClaimResult:
    change = measures.change(rows, choice, variants, measure)
    claim = Claim(
        f"file transfer {what}, {versus(variants)}, {where(choice)}",
        "% change",
        paper,
        None if paper is None else around(paper, 20),
    )
    given_up = ", ".join(
        f"{LABELS[variant]} {measures.unfinished(measures.chosen(rows, choice, variant))}" for variant in variants
    )
    note = f"{change.used} transfers each; not finished in time: {given_up}"
    return judge(claim, change.estimate).with_note(note)


def _download_order(
    rows: Sequence[Json], measure: PairMeasure, unit: str, variants: tuple[Variant, ...]
) -> ClaimResult:
    estimates = {
        LABELS[variant]: measures.pair_estimate(measures.chosen(rows, DOWNLOAD, variant), measure)
        for variant in variants
    }
    return judge_order(f"file transfer, CBC in between, {where(DOWNLOAD)}", unit, estimates)


def draw_time(rows: Sequence[Json], caption: str) -> Figure:
    """Seconds of a file transfer."""
    return _draw(rows, caption, measures.download_s, "seconds a file", (setup.CB, setup.AGENT_PAIR, -64.0))


def draw_rate(rows: Sequence[Json], caption: str) -> Figure:
    """Throughput of a file transfer."""
    return _draw(rows, caption, measures.download_mbps, "Mbit/s", (setup.AGENT_PAIR, setup.CB, -62.0))


def _draw(
    rows: Sequence[Json], caption: str, measure: PairMeasure, what: str, paper: tuple[Variant, Variant, float]
) -> Figure:
    figure, (axes,) = canvas.panels("File transfer, Darkstrand", 1, 4.2)
    values = {
        variant: [
            measures.pair_estimate(
                measures.chosen(rows, Choice("download", setup.DARKSTRAND, (failures,)), variant), measure
            )
            for failures in setup.FAIL_FREE_AND_MOST
        ]
        for variant in variants_of(rows, Choice("download", setup.DARKSTRAND, setup.FAIL_FREE_AND_MOST))
    }
    places = grouped(axes, ["fail-free", f"{MOST_FAILURES} links failed"], values, LABELS, COLOURS)
    base, marked, change = paper
    opponent = values.get(base, [None, None])[1]
    if opponent is not None and (marked, 1) in places:
        mark_paper(axes, places[marked, 1], opponent.value * (1 + change / 100))
    axes.set_ylabel(what, color=INK)
    canvas.legend(figure, axes, [paper_handle(f"paper: {change:g} % of {LABELS[base]}")])
    unfinished = sum(measures.unfinished(measures.chosen(rows, DOWNLOAD, variant)) for variant in values)
    size = f"{setup.DOWNLOAD_BYTES / 1e6:g} MB a file over HTTP, twelve at once; {unfinished} not finished."
    return canvas.finish(figure, [affected_pairs(rows, DOWNLOAD), size, SCALED], caption)


def table(rows: Sequence[Json]) -> Table:
    """File transfers of every variant, fail-free and with four links failed."""
    header = ("scheme", "links failed", "transfers", "seconds", "Mbit/s", "not finished")
    found = []
    for variant, failures in product(setup.RECOVERING, setup.FAIL_FREE_AND_MOST):
        trials = measures.chosen(rows, Choice("download", setup.DARKSTRAND, (failures,)), variant)
        if trials:
            known: list[PairMeasure] = [measures.download_s, measures.download_mbps]
            values = [cell(measures.pair_estimate(trials, measure)) for measure in known]
            count = str(len(measures.by_pair(trials, measures.download_s)))
            found.append((LABELS[variant], str(failures), count, *values, str(measures.unfinished(trials))))
    return Table(header, tuple(found))


FIGURE_A = PaperFigure(
    "sdfast-fig10a",
    "sd-fast",
    "Time of a file transfer, Darkstrand",
    trials,
    time_claims,
    draw_time,
    table,
    part_of="sdfast-fig10",
)
FIGURE_B = PaperFigure(
    "sdfast-fig10b",
    "sd-fast",
    "Throughput of a file transfer, Darkstrand",
    trials,
    rate_claims,
    draw_rate,
    table,
    part_of="sdfast-fig10",
)
