"""Pictures of SD-FAST's Figures 5 to 10, with 95 % intervals, and the paper's values where it gives any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.campaign.statistics import Estimate
from experiments.campaign.values import Arm, Json
from experiments.papers.sdfast import measures, setup
from experiments.papers.sdfast.canvas import (
    COLOURS,
    PAPER,
    finish,
    grouped,
    legend,
    mark_paper,
    panels,
    paper_handle,
    say_empty,
    whisker,
    widen,
)
from experiments.papers.sdfast.claims import DOWNLOAD, LABELS, UNDER_FAILURE
from experiments.papers.sdfast.draws import MOST_FAILURES
from experiments.papers.sdfast.measures import AFTER, Choice, PairMeasure
from experiments.papers.sdfast.tables import arms_of
from experiments.te.pictures import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WILD_PERCENT = 400
PARTS = ("transient", "converged", AFTER)
GROUPS = ("fail-free", *PARTS)
SCALED = "Scaled: 5 Mbit/s links, seconds instead of minutes; whiskers are 95 % intervals."


def draw_fig5(rows: Sequence[Json], caption: str) -> Figure:
    """Delay on both topologies above, lost pings below."""
    figure, axes = panels("End-to-end delay under failure, and what was lost meanwhile", 2, 6.6, 2)
    for column, topology in enumerate((setup.USNET, setup.DARKSTRAND)):
        served = [arm for arm in _shown(rows, topology) if (arm, topology) != (setup.FFG, setup.DARKSTRAND)]
        upper, lower = axes[column], axes[2 + column]
        places = _parts(upper, rows, topology, served, measures.delay_ms)
        _parts(lower, rows, topology, _shown(rows, topology), measures.lost_percent)
        upper.set_title(topology, loc="left", fontsize=10, color=INK)
        if topology == setup.DARKSTRAND:
            _mark(upper, rows, places, measures.delay_ms(AFTER), {setup.CB: -54.0, setup.CBC: -27.0})
    for axis in axes[:2]:
        axis.set_ylabel("mean round trip, ms", color=INK)
        widen(axis)
    axes[2].set_ylabel("pings lost, %", color=INK)
    legend(figure, axes[3], _paper_lines("-54 %", "-27 %"))
    facts = [
        f"{_cut_pairs(rows, UNDER_FAILURE)} Mean round trip of pings that came back.",
        "FFG has no delay on Darkstrand: it drops what has no alternative at the failing switch (lower panel).",
        SCALED,
    ]
    return finish(figure, facts, caption)


def draw_fig6(rows: Sequence[Json], caption: str) -> Figure:
    """Throughput on both topologies."""
    figure, axes = panels("Throughput under failure", 2, 4.4)
    for axis, topology in zip(axes, (setup.USNET, setup.DARKSTRAND), strict=True):
        _parts(axis, rows, topology, _shown(rows, topology), measures.goodput_percent)
        axis.set_title(topology, loc="left", fontsize=10, color=INK)
    axes[0].set_ylabel("UDP delivered, % of offered", color=INK)
    legend(figure, axes[1])
    return finish(figure, [_cut_pairs(rows, UNDER_FAILURE), SCALED], caption)


def draw_fig7(rows: Sequence[Json], caption: str) -> Figure:
    """Delay and loss over the number of failed links, and the change against CB and CBC."""
    figure, axes = panels("Delay against the number of failed links, all after the cut, Darkstrand", 3, 4.9)
    for axis, measure, what in (
        (axes[0], measures.delay_ms(AFTER), "mean round trip, ms"),
        (axes[1], measures.lost_percent(AFTER), "pings lost, %"),
    ):
        _lines(axis, rows, measure)
        axis.set_ylabel(what, color=INK)
    widen(axes[0])
    _changes(axes[2], rows, measures.delay_ms(AFTER), {setup.CB: -60.0, setup.CBC: -28.0})
    legend(figure, axes[0])
    return finish(figure, [_cut_pairs(rows, UNDER_FAILURE), SCALED, '"20 %" of the links cannot be cut.'], caption)


def draw_fig8(rows: Sequence[Json], caption: str) -> Figure:
    """Throughput over the number of failed links, and the change against CB and CBC."""
    figure, axes = panels("Throughput against the number of failed links, all after the cut, Darkstrand", 2, 4.9)
    _lines(axes[0], rows, measures.goodput_percent(AFTER))
    axes[0].set_ylabel("UDP delivered, % of offered", color=INK)
    _changes(axes[1], rows, measures.goodput_mbps(AFTER), {setup.CB: 57.0, setup.CBC: 27.0})
    legend(figure, axes[0])
    return finish(figure, [_cut_pairs(rows, UNDER_FAILURE), SCALED, '"20 %" of the links cannot be cut.'], caption)


def draw_fig9(rows: Sequence[Json], caption: str) -> Figure:
    """Backtracking time since detection and since the cut."""
    figure, (axes,) = panels("Backtracking time, Darkstrand, four links cut at once", 1, 4.4)
    keys = ("from_detection", "from_cut")
    values = {
        arm: [
            measures.estimate([measures.backtracking_ms(row, key) for row in measures.chosen(rows, UNDER_FAILURE, arm)])
            for key in keys
        ]
        for arm in setup.BACKTRACKING
        if measures.chosen(rows, UNDER_FAILURE, arm)
    }
    places = grouped(axes, ["since detection", "since the cut"], values, LABELS)
    for (arm, group), (place, _) in places.items():
        estimate = values[arm][group]
        if estimate is not None:
            top = estimate.value if estimate.high is None else estimate.high
            axes.annotate(
                f"{estimate.value:.0f}", (place, top), (0, 3), textcoords="offset points", ha="center", size=8
            )
    opponent = values.get(setup.CBC, [None])[0]
    if opponent is not None and (setup.AGENT_PAIR, 0) in places:
        mark_paper(axes, places[setup.AGENT_PAIR, 0], 0.27 * opponent.value)
    axes.set_ylabel("last packet that went back, ms", color=INK)
    widen(axes)
    legend(figure, axes, [paper_handle("paper: -73 % of CBC 5 ms")])
    trials = max((len(measures.chosen(rows, UNDER_FAILURE, arm)) for arm in values), default=0)
    facts = [f"{trials} trial{'s' * (trials != 1)} an arm; from captures of every link."]
    return finish(figure, [*facts, "CB walks back until the link returns.", SCALED], caption)


def draw_fig10a(rows: Sequence[Json], caption: str) -> Figure:
    """Seconds of a file transfer."""
    return _downloads(rows, caption, measures.download_s, "seconds a file", (setup.CB, setup.AGENT_PAIR, -64.0))


def draw_fig10b(rows: Sequence[Json], caption: str) -> Figure:
    """Throughput of a file transfer."""
    return _downloads(rows, caption, measures.download_mbps, "Mbit/s", (setup.AGENT_PAIR, setup.CB, -62.0))


def _downloads(
    rows: Sequence[Json], caption: str, measure: PairMeasure, what: str, paper: tuple[Arm, Arm, float]
) -> Figure:
    figure, (axes,) = panels("File transfer, Darkstrand", 1, 4.2)
    values = {
        arm: [
            measures.pair_estimate(
                measures.chosen(rows, Choice("download", setup.DARKSTRAND, (failures,)), arm), measure
            )
            for failures in setup.FAIL_FREE_AND_MOST
        ]
        for arm in arms_of(rows, Choice("download", setup.DARKSTRAND, setup.FAIL_FREE_AND_MOST))
    }
    places = grouped(axes, ["fail-free", f"{MOST_FAILURES} links cut"], values, LABELS)
    base, marked, change = paper
    opponent = values.get(base, [None, None])[1]
    if opponent is not None and (marked, 1) in places:
        mark_paper(axes, places[marked, 1], opponent.value * (1 + change / 100))
    axes.set_ylabel(what, color=INK)
    legend(figure, axes, [paper_handle(f"paper: {change:g} % of {LABELS[base]}")])
    unfinished = sum(measures.unfinished(measures.chosen(rows, DOWNLOAD, arm)) for arm in values)
    size = f"{setup.DOWNLOAD_BYTES / 1e6:g} MB a file over HTTP, twelve at once; {unfinished} not finished."
    return finish(figure, [_cut_pairs(rows, DOWNLOAD), size, SCALED], caption)


def _shown(rows: Sequence[Json], topology: str) -> list[Arm]:
    return [arm for arm in arms_of(rows, Choice("mixed", topology, (MOST_FAILURES,))) if arm in setup.ON_USNET]


def _parts(
    axes: Axes, rows: Sequence[Json], topology: str, arms: Sequence[Arm], measure_of: measures.MeasureOf
) -> dict[tuple[Arm, int], tuple[float, float]]:
    """Bars of every arm: the fail-free trials, then the parts of those with four links cut."""
    values = {}
    for arm in arms:
        fail_free = measures.chosen(rows, Choice("mixed", topology, (0,)), arm)
        cut = measures.chosen(rows, Choice("mixed", topology, (MOST_FAILURES,)), arm)
        values[arm] = [
            measures.pair_estimate(fail_free, measure_of(AFTER)),
            *(measures.pair_estimate(cut, measure_of(part)) for part in PARTS),
        ]
    return grouped(axes, GROUPS, values, LABELS)


def _mark(
    axes: Axes,
    rows: Sequence[Json],
    places: dict[tuple[Arm, int], tuple[float, float]],
    measure: PairMeasure,
    changes: dict[Arm, float],
) -> None:
    """Lines across SD-FAST's last bar: the paper's change from each measured opponent."""
    place = places.get((setup.AGENT_PAIR, len(GROUPS) - 1))
    for style, (opponent, change) in zip(("-", ":"), changes.items(), strict=True):
        value = measures.pair_estimate(measures.chosen(rows, UNDER_FAILURE, opponent), measure)
        if value is not None and place is not None:
            mark_paper(axes, place, value.value * (1 + change / 100), style)


def _paper_lines(against_cb: str, against_cbc: str) -> list[object]:
    return [
        paper_handle(f"paper: {against_cb} of CB"),
        paper_handle(f"paper: {against_cbc} of CBC", ":"),
    ]


def _lines(axes: Axes, rows: Sequence[Json], measure: PairMeasure) -> None:
    choice = Choice("mixed", setup.DARKSTRAND, setup.EVERY_NUMBER)
    arms = [arm for arm in arms_of(rows, choice) if arm in setup.RECOVERING]
    if not arms:
        say_empty(axes)
    for number, arm in enumerate(arms):
        found: list[tuple[float, Estimate]] = []
        for failures in setup.EVERY_NUMBER:
            trials = measures.chosen(rows, Choice("mixed", setup.DARKSTRAND, (failures,)), arm)
            estimate = measures.pair_estimate(trials, measure)
            if estimate is not None:
                found.append((failures + 0.06 * (number - (len(arms) - 1) / 2), estimate))
        axes.plot(
            [place for place, _ in found],
            [estimate.value for _, estimate in found],
            marker="o",
            markersize=4,
            color=COLOURS[arm],
            label=LABELS[arm],
        )
        for place, estimate in found:
            whisker(axes, place, estimate)
    axes.set_xticks(setup.EVERY_NUMBER)
    axes.set_xlabel("links cut at once", color=INK)
    axes.set_ylim(bottom=0)


def _changes(axes: Axes, rows: Sequence[Json], measure: PairMeasure, paper: dict[Arm, float]) -> None:
    """Change of both SD-FASTs against each opponent, for each number of failures and over all; the paper's as lines."""
    numbers = [*((count,) for count in setup.EVERY_NUMBER[1:]), setup.EVERY_NUMBER[1:]]
    styles = {setup.CB: ("o", "-"), setup.CBC: ("s", ":")}
    for side, arm in ((-1, setup.AGENT_PAIR), (1, setup.LEARNED)):
        for step, opponent in enumerate(paper):
            marker = styles[opponent][0]
            label = f"{LABELS[arm]} against {LABELS[opponent]}"
            for group, failures in enumerate(numbers):
                found = measures.change(
                    rows, Choice("mixed", setup.DARKSTRAND, failures), (opponent, arm), measure
                ).estimate
                if found is not None:
                    place = group + side * 0.14 + (step - 0.5) * 0.13
                    axes.plot([place], [found.value], marker, color=COLOURS[arm], markersize=5.5, label=label)
                    whisker(axes, place, found)
                    label = "_"
    for opponent, change in paper.items():
        text = f"paper: {change:+g} % against {LABELS[opponent]}"
        axes.axhline(change, color=PAPER, lw=1.6, ls=styles[opponent][1], label=text)
    axes.axhline(0, color=INK, lw=0.8)
    if max(map(abs, axes.get_ylim())) > _WILD_PERCENT:
        axes.set_yscale("symlog", linthresh=100)
    axes.set_xticks(range(len(numbers)), [*(str(count) for (count,) in numbers[:-1]), "all"])
    axes.set_xlabel("links cut at once", color=INK)
    axes.set_ylabel("change, %", color=INK)
    axes.legend(frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def _cut_pairs(rows: Sequence[Json], choice: Choice) -> str:
    """How many pairs an arm has, and which count."""
    counts = [
        sum(len(measures.counted_pairs(row)) for row in measures.chosen(rows, choice, arm))
        for arm in arms_of(rows, choice)
    ]
    return f"{max(counts, default=0)} pairs an arm, only those whose primary path is cut (all pairs when fail-free)."
