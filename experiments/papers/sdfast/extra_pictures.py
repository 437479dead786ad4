"""Pictures beyond the paper: packets sent back, stages, several failures, coverage, and the cost of a packet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from statistics import median
from typing import TYPE_CHECKING

from experiments.analysis.timeline import STAGES
from experiments.campaign.statistics import median_interval
from experiments.campaign.values import Arm, Json
from experiments.papers.sdfast import extra_claims, measures, setup
from experiments.papers.sdfast.canvas import COLOURS, finish, legend, panels, plain_axes, say_empty, write_out
from experiments.papers.sdfast.claims import LABELS
from experiments.papers.sdfast.draws import MOST_FAILURES
from experiments.papers.sdfast.measures import Choice
from experiments.papers.sdfast.tables import DECIDED_LABELS, measured_arm
from experiments.te.pictures import GRID, INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OUTCOME_COLOURS = {"delivered": "#1a7f37", "dropped": "#e16f24", "looped": "#cf222e", "disconnected": GRID}
STAGE_MARKS = dict(zip(STAGES, ("o", "s", "^", "X", "D", "P"), strict=True))


def draw_learned(rows: Sequence[Json], caption: str) -> Figure:
    """Packets sent back per flow and direction, with the bound of each."""
    figure, (axes,) = panels("Packets sent back per flow and direction, one link of Darkstrand cut", 1, 4.4)
    arms = setup.ENDING_THE_WALK
    for place, arm in enumerate(arms):
        found = sorted(extra_claims.flow_directions(rows, arm), key=lambda each: (each.packets, each.most))
        for number, each in enumerate(found):
            x = place + 0.8 * ((number + 0.5) / len(found) - 0.5)
            axes.plot([x], [each.most], "_", color=INK, markersize=8, label="bound" if not place + number else "_")
            label = "packets that came back" if not place + number else "_"
            axes.plot([x], [each.packets], "o", color=COLOURS[arm], markersize=5, label=label)
        if found:
            middle = median_interval([each.packets for each in found]).value
            axes.plot([place - 0.42, place + 0.42], [middle, middle], color=COLOURS[arm], lw=1.2, zorder=1)
    axes.set_xticks(range(len(arms)), [LABELS[arm] for arm in arms])
    axes.set_xlim(-0.6, len(arms) - 0.4)
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", integer=True)
    axes.set_ylabel(f"packets at {1000 / setup.FAST_PING_INTERVAL_MS:g} packets/s", color=INK)
    legend(figure, axes)
    facts = [
        "A dot is one direction of one flow, its line their median.",
        f"Bound: rate x (backtracking round trip of that flow + {extra_claims.REVALIDATION_MS:g} ms) + 1.",
        "From captures of every link; CBC with a control delay of 5 ms.",
    ]
    return finish(figure, facts, caption)


def draw_stages(rows: Sequence[Json], caption: str) -> Figure:
    """A horizontal timeline for every arm: small marks are trials, large ones their median."""
    figure, axes = panels("Stages of the recovery, Darkstrand", 2, 5.0)
    arms = [arm for arm in setup.ON_DARKSTRAND if _stage_trials(rows, arm, 1) or _stage_trials(rows, arm, 4)]
    for axis, failures in zip(axes, (1, MOST_FAILURES), strict=True):
        for place, arm in enumerate(arms):
            _timeline(axis, -place, _stage_trials(rows, arm, failures))
        if not any(_stage_trials(rows, arm, failures) for arm in arms):
            say_empty(axis)
        axis.set_title(f"{failures} link{'s' * (failures > 1)} cut", loc="left", fontsize=10, color=INK)
        axis.set_xscale("log")
        write_out(axis.xaxis)
        axis.set_xlabel("ms after the cut", color=INK)
        axis.set_yticks([-place for place in range(len(arms))], [LABELS[arm] for arm in arms])
        axis.set_ylim(-len(arms) + 0.4, 0.6)
        axis.grid(True, axis="x", color=GRID, linewidth=0.7)
    for number, (stage, mark) in enumerate(STAGE_MARKS.items()):
        axes[0].plot([], [], mark, color=PALETTE[number], ls="none", label=stage.replace("_", " "))
    legend(figure, axes[0])
    facts = [
        "Over all pairs and both ways of a trial; a stage that a trial did not reach has no mark.",
        "Small: one trial. Large: median. Controllers with a control delay of 5 ms.",
    ]
    return finish(figure, facts, caption)


def _stage_trials(rows: Sequence[Json], arm: Arm, failures: int) -> list[Json]:
    return measures.chosen(rows, Choice("mixed", setup.DARKSTRAND, (failures,)), arm)


def _timeline(axes: Axes, height: float, trials: Sequence[Json]) -> None:
    middles = []
    for number, (stage, mark) in enumerate(STAGE_MARKS.items()):
        # Nothing can be drawn at 0 on a logarithmic axis; the capture does not resolve 0.1 ms.
        values = [max(value, 0.1) for value in extra_claims.stage_values(trials, stage)]
        level = height + 0.09 * (2.5 - number)
        axes.plot(values, [level] * len(values), mark, color=PALETTE[number], markersize=3, alpha=0.45, ls="none")
        if values:
            middles.append(median(values))
            axes.plot([middles[-1]], [level], mark, color=PALETTE[number], markersize=7.5, mec="white", mew=0.6)
    if middles:
        axes.plot([min(middles), max(middles)], [height, height], color=GRID, lw=8, zorder=0, solid_capstyle="butt")


def draw_multi(rows: Sequence[Json], caption: str) -> Figure:
    """Outcomes once converged by the interpreter, stacked, and the answered pings of the measured sample."""
    figure, axes = panels("One to four links of Darkstrand at once, once converged", len(extra_claims.SEVERAL), 5.2)
    decided = {
        (row["arm"], row["failures"]): row["result"]
        for row in extra_claims.coverage_rows(rows, (setup.DARKSTRAND,), extra_claims.SEVERAL)
    }
    for axis, failures in zip(axes, extra_claims.SEVERAL, strict=True):
        for place, arm in enumerate(setup.VERIFIED):
            if (arm.name, failures) in decided:
                _stack(axis, place, extra_claims.shares(decided[arm.name, failures], "converged"))
            measured = extra_claims.measured_delivery(rows, measured_arm(arm), failures)
            if measured is not None:
                axis.plot([place], [measured.value], "D", color="white", mec=INK, markersize=5.5, zorder=4)
        sets = next((result["failure_sets"] for (_, count), result in decided.items() if count == failures), 0)
        axis.set_title(f"{failures} cut, {sets} sets", loc="left", fontsize=10, color=INK)
        names = [DECIDED_LABELS[arm] for arm in setup.VERIFIED]
        axis.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
        axis.set_xlim(-0.6, len(names) - 0.4)
        axis.set_ylim(0, 104)
    axes[0].set_ylabel("cases, % (pairs whose path is hit)", color=INK)
    for name, colour in OUTCOME_COLOURS.items():
        axes[0].bar([0], [0], color=colour, label=name)
    axes[0].plot([], [], "D", color="white", mec=INK, label="measured: pings answered")
    legend(figure, axes[0])
    facts = [
        "Bars: the interpreter, all pairs whose primary path is hit, after everything was learned or rewritten.",
        "Diamonds: share of pings answered in emulated networks from one second after the cut, over the sampled pairs"
        " that stay joined.",
    ]
    return finish(figure, facts, caption)


def _stack(axes: Axes, place: int, shares: dict[str, float]) -> None:
    ground = 0.0
    for name, share in shares.items():
        axes.bar(place, share, 0.82, ground, color=OUTCOME_COLOURS[name])
        ground += share


def draw_coverage(rows: Sequence[Json], caption: str) -> Figure:
    """Topology by scheme, all single link failures: delivered from the first packet on, and once converged."""
    figure, axes = panels("Every pair and every single link failure of the bundled topologies", 2, 5.6)
    decided = extra_claims.coverage_rows(rows, setup.bundled_topologies(), (1,))
    results = {(row["topology"], row["arm"]): row["result"] for row in decided}
    topologies = [name for name in setup.bundled_topologies() if any(key[0] == name for key in results)]
    for axis, phase, title in (
        (axes[0], "transient", "delivered from the first packet on, %"),
        (axes[1], "converged", "delivered once converged, %"),
    ):
        _heat_map(axis, results, topologies, phase)
        axis.set_title(title, loc="left", fontsize=10, color=INK)
    cases = sum(result["cases"] for result in results.values())
    facts = [f"{cases} cases decided by the interpreter; per cent of the cases in which the pair is still joined."]
    return finish(figure, [*facts, "n/a: no single failure leaves the pair joined."], caption)


def _heat_map(axes: Axes, results: dict[tuple[str, str], Json], topologies: Sequence[str], phase: str) -> None:
    arms = setup.VERIFIED
    grid = [[float("nan")] * len(arms) for _ in topologies]
    for (line, topology), (column, arm) in product(enumerate(topologies), enumerate(arms)):
        result = results.get((topology, arm.name))
        text = "-"
        if result is not None:
            joined = result["cases"] > result[phase]["disconnected"]
            value = extra_claims.joined_percent(result, phase)
            text = f"{value:.0f}" if joined else "n/a"
            grid[line][column] = value if joined else float("nan")
        dark = grid[line][column] > 65
        axes.text(column, line, text, ha="center", va="center", fontsize=8, color="white" if dark else INK)
    if topologies:
        axes.imshow(grid, cmap="Blues", vmin=0, vmax=130, aspect="auto")
    axes.grid(False)
    names = [DECIDED_LABELS[arm] for arm in arms]
    axes.set_xticks(range(len(arms)), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(range(len(topologies)), topologies, fontsize=8)


def draw_cost(rows: Sequence[Json], caption: str) -> Figure:
    """Nanoseconds a packet for every chain of tables: cached, and looked up in the tables packet by packet."""
    figure, axes = panels("What a packet costs a switch", 2, 5.0)
    paths = [path for path in extra_claims.COST_PATHS if extra_claims.costs_ns(rows, path, "exact")]
    for axis, lookups, title in (
        (axes[0], ("exact", "megaflow"), "cached"),
        (axes[1], ("none",), "not cached: through the tables, packet by packet"),
    ):
        plain_axes(axis)
        axis.grid(False)
        axis.grid(True, axis="x", color=GRID, linewidth=0.7)
        for number, lookup in enumerate(lookups):
            _cost_bars(axis, rows, paths, lookup, (number - (len(lookups) - 1) / 2) * 0.4, 0.75 / len(lookups))
        axis.set_yticks([-place for place in range(len(paths))], [extra_claims.COST_PATHS[path] for path in paths])
        axis.set_title(title, loc="left", fontsize=10, color=INK)
        axis.set_xlabel("ns of CPU time a packet", color=INK)
        if paths:
            axis.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=2)
    axes[1].tick_params(labelleft=False)
    repetitions = len(extra_claims.cost_rows(rows))
    facts = [f"Userspace datapath; median and quartiles of {repetitions} repetitions; the axes differ."]
    return finish(figure, facts, caption)


def _cost_bars(
    axes: Axes, rows: Sequence[Json], paths: Sequence[str], lookup: str, offset: float, height: float
) -> None:
    colour = PALETTE[list(extra_claims.LOOKUPS).index(lookup)]
    for place, path in enumerate(paths):
        values = extra_claims.costs_ns(rows, path, lookup)
        if values:
            middle, low, high = median_interval(values)
            label = extra_claims.LOOKUPS[lookup] if place == 0 else "_"
            axes.barh(-place - offset, middle, height, color=colour, label=label)
            assert low is not None
            assert high is not None
            reach = [[middle - low], [high - middle]]
            axes.errorbar([middle], [-place - offset], xerr=reach, fmt="none", ecolor=INK, elinewidth=1, capsize=2)
            axes.annotate(
                f"{middle:.0f}", (middle, -place - offset), (6, 0), textcoords="offset points", size=7, va="center"
            )
