"""The id `x-lossless` and its picture: what each cut costs SD-FAST with and without SQR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.values import Json
from experiments.papers.figure import PaperFigure
from experiments.papers.lossless import measures, setup
from experiments.papers.sdfast.canvas import finish, legend, panels, say_empty
from experiments.te.pictures import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    setup.SDFAST.name: PALETTE[7],
    setup.LOSSLESS.name: PALETTE[0],
    setup.SDFAST_AGENT.name: "#afb8c1",
    setup.LOSSLESS_AGENT.name: PALETTE[6],
}
_FIELDS = {"lost": "packets lost", "duplicated": "packets that came twice"}


def draw_lossless(rows: Sequence[Json], caption: str) -> Figure:
    """Packets lost and doubled in every case, arms side by side."""
    figure, both = panels("SD-FAST beyond the papers: SQR at the switches beside the failure", len(_FIELDS))
    for axes, (field, words) in zip(both, _FIELDS.items(), strict=True):
        _draw(axes, rows, field)
        axes.set_ylabel(f"{words} (log above 10)", color=INK)
    if both[0].patches:
        legend(figure, both[0])
    facts = [
        f"Darkstrand, UDP probes every {setup.PROBE_MS:g} ms both ways, one link of the way dies for good; BFD every "
        f"{setup.BFD_MS} ms. Under each case: how many hops its first packets walk back. SQR keeps the packets of "
        f"{setup.DELTA_MS:g} ms, and sends again what the cut may have lost: so packets come twice."
    ]
    return finish(figure, facts, caption)


def _draw(axes: Axes, rows: Sequence[Json], field: str) -> None:
    arms = [arm for pair in setup.PAIRS_OF_ARMS for arm in pair]
    own = {arm: {_case(row): row for row in measures.rows_of(rows, arm)} for arm in arms}
    cases = list(dict.fromkeys(case for found in own.values() for case in found))
    if not cases:
        say_empty(axes)
        return
    width = 0.8 / len(arms)
    for number, (arm, found) in enumerate(own.items()):
        for group, case in enumerate(cases):
            if case in found:
                place = group + (number - (len(arms) - 1) / 2) * width
                axes.bar(place, found[case][field], 0.92 * width, color=COLOURS[arm.name])
                axes.annotate(
                    f"{found[case][field]:,}",
                    (place, found[case][field]),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    color=INK,
                )
        axes.bar([0], [0], color=COLOURS[arm.name], label=setup.LABELS[arm.name])
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=0)
    axes.margins(y=0.15)
    axes.set_xticks(range(len(cases)), cases, fontsize=8)


def _case(row: Json) -> str:
    """Name of a case under its bars."""
    (source, destination) = row["pair"]
    cut, hops = setup.CUTS[row["parameters"]["cut"]], row["parameters"]["hops_back"]
    return f"{source} to {destination}\n{cut}\n{hops} back"


FIGURES = (
    PaperFigure(
        setup.ID,
        "beyond",
        "Beyond: SD-FAST with SQR beside the failed link; nothing is lost",
        setup.trials,
        measures.claims,
        draw_lossless,
        measures.table,
    ),
)
