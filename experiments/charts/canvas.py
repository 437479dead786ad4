"""What all pictures share: colours, panels, bars with intervals, legends, and the lines below a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.campaign.statistics import Estimate
from experiments.campaign.values import Variant
from mininet_topos.errors import MissingRequirementError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INK, GRID = "#24292f", "#d0d7de"
# Colours of schemes and lines that keep their meaning from picture to picture.
PALETTE = ("#1f6feb", "#1a7f37", "#e16f24", "#8250df", "#bf8700", "#cf222e", "#0a7ea4", "#57606a")
WIDTH_IN = 11.0
_CHARACTERS_AN_INCH = 14
_ENTRY_IN, _CHARACTER_IN = 0.55, 0.073  # of a legend with letters of 9 points: mark and space, a letter
_TITLE_IN = 0.24
_GROUP_CHARACTERS = 15  # of the name below a group of bars, in a line
_WIDE = 40
PAPER = "#cf222e"


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """An empty figure with panels side by side; sizes in inches.

    Raises
    ------
    MissingRequirementError
        matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise MissingRequirementError("matplotlib is not installed; run 'make setup'") from error
    figure = NewFigure(figsize=(width, height), layout="constrained")
    panels: Any = figure.subplots(1, columns, squeeze=False)
    for axes in panels[0]:
        plain_axes(axes)
    return figure, list(panels[0])


def panels(
    title: str, columns: int, height: float = 4.4, rows: int = 1, heights: Sequence[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure of README's width with a title, and its panels row by row; `heights` are the rows' shares of it."""
    figure, found = new_figure(WIDTH_IN, height, columns)
    if rows > 1:
        figure.clear()
        grid: Any = figure.subplots(rows, columns, squeeze=False, height_ratios=heights)
        found = list(grid.flat)
        for axes in found:
            plain_axes(axes)
    # The empty second line is the place of the legend.
    figure.suptitle(f"{title}\n", color=INK, fontsize=13, x=0.01, ha="left", fontweight="bold", parse_math=False)
    return figure, found


def plain_axes(axes: Axes) -> None:
    """The look of every panel."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=9)
    axes.grid(True, axis="y", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)


def finish(figure: Figure, facts: Sequence[str], caption: str) -> Figure:
    """Write what the figure shows, and the caption, below it."""
    lines = [" ".join(facts), *caption.splitlines()]
    width = int(WIDTH_IN * _CHARACTERS_AN_INCH)
    text = "\n".join(part for line in lines if line for part in textwrap.wrap(line, width))
    figure.supxlabel(text, fontsize=8.5, color=INK, x=0.01, ha="left", parse_math=False)
    return figure


def bar(axes: Axes, place: float, estimate: Estimate | None, width: float, **style: Any) -> None:
    """One bar with its 95 % interval; a cross at the ground where nothing was measured."""
    if estimate is None:
        axes.plot([place], [0], marker="x", color=INK, markersize=5, clip_on=False, zorder=4)
        return
    axes.bar(place, estimate.value, width, **style)
    whisker(axes, place, estimate)


def whisker(axes: Axes, place: float, estimate: Estimate) -> None:
    """The interval of an estimate, when it has one."""
    if estimate.low is not None and estimate.high is not None:
        reach = [[max(estimate.value - estimate.low, 0.0)], [max(estimate.high - estimate.value, 0.0)]]
        axes.errorbar([place], [estimate.value], yerr=reach, fmt="none", ecolor=INK, elinewidth=1, capsize=2.5)


def grouped(
    axes: Axes,
    groups: Sequence[str],
    values: Mapping[Variant, Sequence[Estimate | None]],
    labels: Mapping[Variant, str],
    colours: Mapping[Variant, str],
) -> dict[tuple[Variant, int], tuple[float, float]]:
    """Bars of every variant in every group.

    Returns
    -------
    (variant, number of the group) -> (place, width) of its bar, for marks upon it.
    """
    if not values:
        say_empty(axes)
        return {}
    width = 0.84 / len(values)
    places = {}
    for number, (variant, estimates) in enumerate(values.items()):
        for group, estimate in enumerate(estimates):
            place = group + (number - (len(values) - 1) / 2) * width
            places[variant, group] = (place, width)
            bar(axes, place, estimate, 0.92 * width, color=colours[variant])
        axes.bar([0], [0], color=colours[variant], label=labels[variant])
    axes.set_xticks(range(len(groups)), [textwrap.fill(name, _GROUP_CHARACTERS) for name in groups], parse_math=False)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.margins(y=0.12)
    # The whisker of a share near zero reaches below it; the bars' axis does not.
    axes.set_ylim(bottom=0)
    return places


def say_empty(axes: Axes) -> None:
    """Say in a panel that no trial gave it anything."""
    say_instead(axes, "no good trial")


def say_instead(axes: Axes, text: str) -> None:
    """A sentence in place of a panel's content."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=INK)
    axes.set_xticks([])
    axes.set_yticks([])


def widen(axes: Any) -> None:
    """A logarithmic axis where bars or points would otherwise hide each other; the axis says so."""
    from matplotlib.patches import Rectangle

    heights = [patch.get_height() for patch in axes.patches if isinstance(patch, Rectangle)]
    heights += [value for line in axes.lines if line.get_marker() == "o" for value in line.get_ydata()]
    positive = [height for height in heights if height > 0]
    if not positive or max(positive) < _WIDE * min(positive):
        axes.set_ylim(bottom=0)
        return
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7 * min(positive))
    axes.set_ylabel(f"{axes.get_ylabel()} (log)", color=INK)
    for artist in (*axes.collections, *axes.lines):
        # Whiskers that end below zero would take the room of the panels.
        artist.set_in_layout(False)


def write_out(axis: Axis) -> None:
    """Mark 1, 2 and 5 of each decade of a logarithmic axis, written out: powers of ten run into each other there."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_formatter(NullFormatter())


def mark_paper(axes: Axes, place: tuple[float, float], height: float, style: str = "-") -> None:
    """A line across a bar: where it would end if the paper's change held from the measured opponent."""
    centre, width = place
    axes.plot([centre - width / 2, centre + width / 2], [height, height], color=PAPER, lw=2.2, ls=style, zorder=5)


def legend(figure: Figure, axes: Axes, extra: Iterable[Any] = ()) -> None:
    """One legend for all panels, between the title and them, in one line: smaller where it has many entries."""
    handles, labels = axes.get_legend_handles_labels()
    more = list(extra)
    words = [*labels, *(str(each.get_label()) for each in more)]
    width_in = sum(_ENTRY_IN + _CHARACTER_IN * len(each) for each in words)
    figure.legend(
        [*handles, *more],
        words,
        loc="upper left",
        bbox_to_anchor=(0.0, 1 - _TITLE_IN / figure.get_figheight()),
        ncols=len(handles) + len(more),
        borderaxespad=0.2,
        columnspacing=1.4,
        frameon=False,
        fontsize=min(9.0, 9.0 * WIDTH_IN / max(width_in, 1.0)),
    )


def paper_handle(text: str, style: str = "-") -> Any:
    """Legend entry of the paper's value."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=PAPER, lw=2.2, ls=style, label=text)
