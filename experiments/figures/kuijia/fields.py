"""Kuijia's count of fields (section 5.4): all flow entries of the experiment, replicated against decomposed.

Set-up: Gscale, 5 random pairs, 3 tunnels a pair, 0.8 to 1.6 Gbit/s a pair, 4 queues, low:high = 10 : 1; weights are
those of the allocation. The paper gives an average and neither its pairs nor which tables it counted: here pairs are
drawn, and all tables are judged. Beside it stand the label tables alone, and the experiment of section 5.1 (one class).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.campaign.computed.fields import ROWS, TOPOLOGY, Counts, FieldsParameters
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.rows import Row
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PAPER, paper_handle, say_empty, whisker
from experiments.figures.kuijia.trials import SHAPE_COLOURS, SHAPE_MARKS, computed_trial
from ryu_apps.plan.choices import DECOMPOSED, REPLICATED, SHAPES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ID = "kuijia-fields"
PAIRS, TUNNELS, LOW_TO_HIGH = 5, 3, 10.0
DEMANDS_MBPS, QUICK_DEMANDS_MBPS = (800, 1200, 1600), (1200,)
DRAWINGS, QUICK_DRAWINGS = 10, 3
SETUPS = {"four": "4 queues", "single": "one class"}
SCOPES = {"all": "all tables", "labels": "label tables"}
JUDGED = ("four", "all")
PAPER_FIELDS = {"replicated": 2552, "decomposed": 1580}
PAPER_PERCENT = 100.0 * (PAPER_FIELDS["decomposed"] / PAPER_FIELDS["replicated"] - 1)
HEADER = ("set-up", *SHAPES, "change %, two-table", "change %, decomposed", "drawings")
Case = tuple[str, str]
FieldsRow = Row[FieldsParameters, Counts]


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial a drawing of pairs, demand and set-up of queues; a round is a drawing."""
    drawings = plan.rounds or (QUICK_DRAWINGS if plan.quick else DRAWINGS)
    demands = QUICK_DEMANDS_MBPS if plan.quick else DEMANDS_MBPS
    return tuple(
        computed_trial(
            ID,
            f"drawing{drawing:02d}-{demand_mbps}-{setup}",
            TOPOLOGY,
            plan,
            FieldsParameters(drawing, plan.seed, demand_mbps, setup, PAIRS, TUNNELS, LOW_TO_HIGH),
        )
        for drawing in range(drawings)
        for demand_mbps in demands
        for setup in SETUPS
    )


def fields_of(rows: Sequence[FieldsRow], case: Case) -> dict[str, dict[int, float]]:
    """Fields by shape and drawing, mean over demands.

    Parameters
    ----------
    case : (str, str)
        A key of `SETUPS` and one of `SCOPES`.
    """
    setup, scope = case
    found: dict[str, dict[int, list[int]]] = {shape: defaultdict(list) for shape in SHAPES}
    for row in rows:
        if row.parameters.setup == setup:
            for shape in SHAPES:
                found[shape][row.parameters.drawing].append(row.measured.counts[shape][scope].fields)
    return {
        shape: {drawing: sum(values) / len(values) for drawing, values in sorted(by_drawing.items())}
        for shape, by_drawing in found.items()
    }


def changes_percent(rows: Sequence[FieldsRow], case: Case, shape: str) -> list[float]:
    """Change of fields from replicated to a shape, drawing by drawing (%)."""
    fields = fields_of(rows, case)
    return [100.0 * (fields[shape][drawing] / before - 1) for drawing, before in fields[REPLICATED].items()]


def every_case() -> Iterator[Case]:
    """All set-ups, with all tables and with the label tables alone; that which is judged first."""
    return ((setup, scope) for setup in SETUPS for scope in SCOPES)


def title_of(case: Case) -> str:
    """A case in words."""
    return f"{SETUPS[case[0]]}, {SCOPES[case[1]]}"


def claims(rows: Sequence[FieldsRow]) -> list[ClaimResult]:
    """At least 38 % fewer fields, on average over drawings; the paper's numbers and other cases stand beside."""
    results = []
    for case in every_case():
        is_judged = case == JUDGED
        for shape in SHAPES[:0:-1]:
            judged = is_judged and shape == "decomposed"
            claim = Claim(
                f"change of fields, {shape}, {title_of(case)}",
                "%",
                round(PAPER_PERCENT, 1) if judged else None,
                AtMost(-38.0) if judged else None,
            )
            results.append(judge(claim, estimate_of(changes_percent(rows, case, shape))))
    fields = fields_of(rows, JUDGED)
    for shape, paper in PAPER_FIELDS.items():
        claim = Claim(f"fields of all entries, {shape}, {title_of(JUDGED)}", "fields", paper)
        results.append(judge(claim, estimate_of(list(fields[shape].values()))))
    return results


def estimate_of(values: Sequence[float]) -> Estimate | None:
    """Mean over drawings with its interval; None without any."""
    return mean_interval(values) if values else None


def table(rows: Sequence[FieldsRow]) -> Table:
    """Mean fields and changes of every case."""
    found = []
    for case in every_case():
        fields = {shape: list(values.values()) for shape, values in fields_of(rows, case).items()}
        n_drawings = len(fields[REPLICATED])
        if n_drawings:
            means = (f"{sum(values) / n_drawings:,.0f}" for values in fields.values())
            changes = (f"{sum(changes_percent(rows, case, shape)) / n_drawings:.1f}" for shape in SHAPES[1:])
            found.append((title_of(case), *means, *changes, str(n_drawings)))
    return Table(HEADER, tuple(found))


def draw(rows: Sequence[FieldsRow], caption: str) -> Figure:
    """Left: mean fields of every case and shape; right: what decomposition changes, drawing by drawing."""
    figure, (volumes, changes) = canvas.panels("Kuijia, section 5.4: fields of all flow entries, Gscale", 2)
    cases = list(every_case())
    if not table(rows).rows:
        for axes in (volumes, changes):
            say_empty(axes)
        return canvas.finish(figure, [], caption)
    _draw_fields(volumes, rows, cases)
    _draw_changes(changes, rows, cases)
    for axes in (volumes, changes):
        axes.set_xticks(range(len(cases)), [title_of(case).replace(", ", "\n") for case in cases])
        axes.set_xlim(-0.5, len(cases) - 0.5)
    canvas.legend(figure, volumes, [paper_handle("paper")])
    drawings = max(int(row[-1]) for row in table(rows).rows)
    facts = [
        f"{drawings} drawings of {PAIRS} pairs, {TUNNELS} tunnels each, weights of the allocation; "
        "whiskers are 95 % intervals of the mean.",
        "The paper's number is judged with 4 queues and all tables; our ingress holds hash ranges as masked rows, "
        "where the paper has buckets of a group.",
    ]
    return canvas.finish(figure, facts, caption)


def _draw_fields(axes: Axes, rows: Sequence[FieldsRow], cases: Sequence[Case]) -> None:
    width = 0.27
    for number, shape in enumerate(SHAPES):
        for group, case in enumerate(cases):
            estimate = estimate_of(list(fields_of(rows, case)[shape].values()))
            place = group + (number - 1) * width
            if estimate is None:
                continue
            axes.bar(place, estimate.value, 0.92 * width, color=SHAPE_COLOURS[shape])
            whisker(axes, place, estimate)
            if case == JUDGED and shape in PAPER_FIELDS:
                paper = PAPER_FIELDS[shape]
                axes.plot([place - width / 2, place + width / 2], [paper, paper], color=PAPER, lw=2.2, zorder=5)
        axes.bar([0], [0], color=SHAPE_COLOURS[shape], label=shape)
    axes.set_ylabel("fields of all switches", color=INK)


def _draw_changes(axes: Axes, rows: Sequence[FieldsRow], cases: Sequence[Case]) -> None:
    for group, case in enumerate(cases):
        for shape in SHAPES:
            if shape == REPLICATED:
                continue
            values = changes_percent(rows, case, shape)
            spread = [0.3 * ((number + 0.5) / len(values) - 0.5) for number in range(len(values))]
            places = [group + (0.2 if shape == DECOMPOSED else -0.2) + shift for shift in spread]
            axes.plot(places, values, marker=SHAPE_MARKS[shape], color=SHAPE_COLOURS[shape], ls="none", markersize=4.5)
    axes.plot([-0.45, 0.45], [PAPER_PERCENT] * 2, color=PAPER, lw=2.2)
    axes.set_ylabel("change, each drawing (%)", color=INK)
    axes.set_ylim(-100, 0)


FIGURE = PaperFigure(
    ID,
    "kuijia",
    "Fields of all flow entries on Gscale, replicated against decomposed",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
