"""x-learned: packets that a learning switch sends back, beside the agent and the controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.probed import ProbedRow
from experiments.campaign.statistics import median_confidence, median_interval
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import MARGIN, AtMost, Claim, ClaimResult, Exactly, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.measures import Choice
from experiments.figures.sdfast.setup import COLOURS, LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


WALKS = Choice("flow", setup.DARKSTRAND, (1,))
# A round of the revalidators begins at most 5 ms after the last one began; as much again for the round itself.
REVALIDATION_MS = 10.0


@dataclass(frozen=True, slots=True)
class SentBack:
    """One flow in one direction: packets that backtracked on their way, and how many may."""

    packets: int
    most: float


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """A few fast pings whose packets walk far back."""
    return tuple(setup.flow_trials(plan, setup.ENDING_THE_WALK))


def sent_back(row: ProbedRow) -> list[SentBack]:
    """Flow directions of a trial in which a packet backtracked.

    Until the first packet is back where the backup route begins, and until that switch's cached flows follow, further
    packets take the old way: at most rate x (backtracking round trip + revalidation) + 1.
    """
    found = []
    for pair in row.pairs:
        for count, round_trip in (
            (pair.backtracked_out, pair.backtracking_rtt_ms),
            (pair.backtracked_back, pair.backtracking_rtt_back_ms),
        ):
            if count and round_trip is not None:
                found.append(SentBack(count, (round_trip + REVALIDATION_MS) / row.ping_interval_ms + 1))
    return found


def flow_directions(rows: Sequence[Json], variant: Variant) -> list[SentBack]:
    """Flow directions of a variant with packets that backtracked; where none has any, all that met a failure."""
    trials_of = measures.chosen(rows, WALKS, variant)
    found = [each for row in trials_of for each in sent_back(row)]
    return found or [SentBack(0, 1.0) for row in trials_of for _direction in row.directions]


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Crankback that ends in the switch itself, beside the agent and the controller."""
    results = []
    for variant in setup.ENDING_THE_WALK:
        found = flow_directions(rows, variant)
        if variant in setup.UNNOTIFIED and not measures.chosen(rows, WALKS, variant):
            continue  # rows of a version without notifications
        is_ours = variant is setup.LEARNED
        rate = f"{1000 / setup.FAST_PING_INTERVAL_MS:g} packets/s"
        name = f"packets sent back per flow and direction, {LABELS[variant]}, {rate}"
        median = median_confidence([each.packets for each in found]) if found else None
        results.append(
            judge(Claim(name, "packets (median)", band=AtMost(2.0) if is_ours else None, asks=MARGIN), median)
        )
        within = measures.estimate([100.0 * (each.packets <= each.most) for each in found])
        claim = Claim(
            f"flow directions within the bound, {LABELS[variant]}",
            "%",
            band=Exactly(100.0) if is_ours else None,
            asks=MARGIN,
        )
        most = f", at most {max(each.packets for each in found)} packets" if found else ""
        note = (
            f"{len(found)} flow directions{most}; bound: rate x (backtracking round trip + {REVALIDATION_MS:g} ms) + 1"
        )
        results.append(judge(claim, within).with_note(note))
    return results


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Packets sent back per flow and direction, with the bound of each."""
    figure, (axes,) = canvas.panels("Packets sent back per flow and direction, one link of Darkstrand failed", 1, 4.4)
    variants = setup.ENDING_THE_WALK
    for place, variant in enumerate(variants):
        found = sorted(flow_directions(rows, variant), key=lambda each: (each.packets, each.most))
        for number, each in enumerate(found):
            x = place + 0.8 * ((number + 0.5) / len(found) - 0.5)
            axes.plot([x], [each.most], "_", color=INK, markersize=8, label="bound" if not place + number else "_")
            label = "packets that backtracked" if not place + number else "_"
            axes.plot([x], [each.packets], "o", color=COLOURS[variant], markersize=5, label=label)
        if found:
            middle = median_interval([each.packets for each in found]).value
            axes.plot([place - 0.42, place + 0.42], [middle, middle], color=COLOURS[variant], lw=1.2, zorder=1)
    axes.set_xticks(range(len(variants)), [LABELS[variant] for variant in variants])
    axes.set_xlim(-0.6, len(variants) - 0.4)
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", integer=True)
    axes.set_ylabel(f"packets at {1000 / setup.FAST_PING_INTERVAL_MS:g} packets/s", color=INK)
    canvas.legend(figure, axes)
    facts = [
        "A dot is one direction of one flow, its line their median.",
        f"Bound: rate x (backtracking round trip of that flow + {REVALIDATION_MS:g} ms) + 1.",
        "From captures of every link; CBC with a control delay of 5 ms.",
    ]
    return canvas.finish(figure, facts, caption)


def table(rows: Sequence[Json]) -> Table:
    """Packets sent back per flow and direction."""
    header = ("scheme", "flow directions", "packets, median", "packets, most", "bound, mean", "within the bound")
    found = []
    for variant in setup.ENDING_THE_WALK:
        flows = flow_directions(rows, variant)
        if flows:
            packets = [each.packets for each in flows]
            bound = sum(each.most for each in flows) / len(flows)
            within = sum(each.packets <= each.most for each in flows)
            median = f"{median_interval(packets).value:g}"
            found.append((LABELS[variant], str(len(flows)), median, str(max(packets)), f"{bound:.1f}", str(within)))
    return Table(header, tuple(found))


FIGURE = PaperFigure(
    "x-learned",
    "beyond",
    "Packets sent back per flow and direction: learned, agent, CBC",
    trials,
    claims,
    draw,
    table,
    with_paper="sd-fast",
)
