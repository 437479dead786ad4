"""The id `x-in-band` and its picture: delay and loss of the controller's answers while data fills the shared links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.values import Json
from experiments.papers.figure import PaperFigure
from experiments.papers.in_band import measures, setup
from experiments.papers.sdfast.canvas import finish, legend, panels, say_empty, whisker
from experiments.te.pictures import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {setup.FIFO.name: PALETTE[7], setup.PSO.name: PALETTE[0]}
_STYLES = {measures.HIGH: "-", measures.LOW: "--"}
_PANELS = (("mean_ms", "mean delay, ms (log)"), ("lost_percent", "lost, %"))


def draw_in_band(rows: Sequence[Json], caption: str) -> Figure:
    """Delay and loss of both classes over the load of data."""
    figure, both = panels("In-band control on real switches: answers of the controller beside data", len(_PANELS))
    for axes, (key, words) in zip(both, _PANELS, strict=True):
        _draw(axes, rows, key)
        axes.set_ylabel(words, color=INK)
        axes.set_xlabel("data offered, share of the link", color=INK)
    if measures.shares_of(rows):
        both[0].set_yscale("log")
        both[1].set_ylim(0, max(1.0, both[1].get_ylim()[1]))  # a line of zeros stands on the ground of a per cent
        legend(figure, both[0])
    facts = [
        f"Ring of four switches, controller at {setup.CONTROLLER_AT}; the host at {setup.ASKING} sends "
        f"{setup.PROBE_PPS:g} packets a second of each class to the controller and gets them back, and data to "
        f"h1 over the same links of {setup.CAPACITY_MBPS:g} Mbit/s. Open vSwitch, TCP, Ryu; FIFO: one queue for "
        "everything but BFD; PSO: a connection, a mark and a queue for each class."
    ]
    return finish(figure, facts, caption)


def _draw(axes: Axes, rows: Sequence[Json], key: str) -> None:
    shares = measures.shares_of(rows)
    if not shares:
        say_empty(axes)
        return
    for arm in setup.ARMS:
        for name in measures.CLASSES:
            found = [
                measures.estimate(measures.rows_of(rows, arm, each), measures.of_class(name, key)) for each in shares
            ]
            points = [(share, each) for share, each in zip(shares, found, strict=True) if each is not None]
            axes.plot(
                [share for share, _ in points],
                [each.value for _, each in points],
                _STYLES[name],
                marker="o",
                color=_COLOURS[arm.name],
                label=f"{setup.LABELS[arm.name]}, {name} class",
            )
            for share, each in points:
                whisker(axes, share, each)


FIGURES = (
    PaperFigure(
        setup.ID,
        "beyond",
        "Beyond: answers of the controller over shared links of real switches, FIFO and PSO",
        setup.trials,
        measures.claims,
        draw_in_band,
        measures.table,
        with_paper="pso",
    ),
)
