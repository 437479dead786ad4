"""The id `x-in-band` and its picture: delay and loss of the controller's answers while data fills the shared links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
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
_PANELS = (
    ("mean_ms", "mean delay, ms (log)"),
    ("p99_ms", "99th percentile of delay, ms (log)"),
    ("lost_percent", "lost, %"),
)
_DODGE = 0.012  # of the link, so that intervals stand beside each other


def draw_in_band(rows: Sequence[Json], caption: str) -> Figure:
    """Delay and loss of both classes over the load of data."""
    figure, found = panels("In-band control on real switches: answers of the controller beside data", len(_PANELS))
    for axes, (key, words) in zip(found, _PANELS, strict=True):
        _draw(axes, rows, key)
        axes.set_ylabel(words, color=INK)
        axes.set_xlabel("data offered, share of the link", color=INK)
    if measures.shares_of(rows):
        for axes in found[:-1]:
            axes.set_yscale("log")
        found[-1].set_ylim(0, max(1.0, found[-1].get_ylim()[1]))  # a line of zeros stands on the ground of a per cent
        legend(figure, found[0])
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
    for number, (arm, name) in enumerate(product(setup.ARMS, measures.CLASSES)):
        measure = measures.of_class(name, key)
        found = {share: measures.estimate(measures.rows_of(rows, arm, share), measure) for share in shares}
        points = [(share + (number - 1.5) * _DODGE, each) for share, each in found.items() if each is not None]
        axes.plot(
            [place for place, _ in points],
            [each.value for _, each in points],
            _STYLES[name],
            marker="o",
            markersize=4,
            clip_on=False,
            color=_COLOURS[arm.name],
            label=f"{setup.LABELS[arm.name]}, {name} class",
        )
        for place, each in points:
            whisker(axes, place, each)


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
