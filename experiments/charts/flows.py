"""Throughput of flows over time, a panel for each run, from the plain values of `armor run --json` alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.charts.canvas import GRID, INK
from experiments.scenario.flow_values import BIN_S
from mininet_topos.errors import MissingRequirementError

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

Run = dict[str, Any]
FAILURE = "#cf222e"
# Victims warm, the others cool: what belongs together looks alike.
COLOURS = {
    "victim": ("#e16f24", "#bf8700", "#cf222e", "#8b4513"),
    "direct": ("#1f6feb", "#0a7ea4", "#5a4fcf", "#1b4f9c"),
    "indirect": ("#1a7f37", "#57a639", "#2f6f4f", "#8ab661"),
    "none": ("#57606a", "#8c959f", "#6e7781", "#afb8c1"),
}
_WORDS = {"victim": "victim", "direct": "direct", "indirect": "indirect", "none": "not affected"}
MOST_LABELLED = 12
_SMOOTH = 5  # half a second: single tenths of a TCP flow jump by a packet or two
_DPI = 160


def draw_flows(runs: Sequence[Run], paths: Sequence[Path], title: str) -> None:
    """Draw all runs that have flows, side by side with one scale.

    Parameters
    ----------
    runs : sequence of dict
        Entries of `runs` in verdict.json.

    Raises
    ------
    MissingRequirementError
        matplotlib is not installed.
    """
    shown = [run for run in runs if run.get("flows")]
    if not shown:
        return
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingRequirementError("matplotlib is not installed; run 'make setup'") from error
    figure = Figure(figsize=(6.4 * len(shown), 4.6), layout="constrained")
    panels: Any = figure.subplots(1, len(shown), squeeze=False, sharey=True)
    for axes, run in zip(panels[0], shown, strict=True):
        _panel(axes, run)
    panels[0][0].set_ylabel("payload received, Mbit/s (means of half a second)", color=INK, fontsize=9)
    figure.suptitle(title, color=INK, fontsize=12, x=0.01, ha="left", parse_math=False)
    for path in paths:
        metadata = {".svg": {"Date": None}}.get(path.suffix)
        with mpl.rc_context({"svg.hashsalt": "armor"}):
            figure.savefig(path, dpi=_DPI, metadata=metadata)


def smoothed(samples: Sequence[float], width: int = _SMOOTH) -> list[float]:
    """Mean of each sample with its neighbours; shorter at the ends."""
    half = width // 2
    spans = [samples[max(0, at - half) : at + half + 1] for at in range(len(samples))]
    return [sum(span) / len(span) for span in spans]


def _panel(axes: Axes, run: Run) -> None:
    few = len(run["flows"]) <= MOST_LABELLED
    # Victims last, so that they lie on top of the crowd.
    for kind in reversed(COLOURS):
        flows = [flow for flow in run["flows"] if _kind(run, flow) == kind]
        named = few or (kind == "victim" and len(flows) <= MOST_LABELLED // 2)
        for place, flow in reversed(list(enumerate(flows))):
            colours = COLOURS[kind] if named else COLOURS[kind][:1]
            label = _label(run, flow) if named else f"{_WORDS[kind]} ({len(flows)} flows)" if not place else None
            axes.plot(
                [flow["start_ms"] / 1000 + BIN_S * (number + 0.5) for number in range(len(flow["samples_mbps"]))],
                smoothed(flow["samples_mbps"]),
                color=colours[place % len(colours)],
                linewidth=1.5 if named else 0.9,
                alpha=1.0 if named else 0.6,
                label=label,
            )
    axes.axvline(0.0, color=FAILURE, linewidth=1.2, linestyle="--")
    axes.annotate(
        _event(run), (0.0, 1.0), (4, -4), xycoords=("data", "axes fraction"), textcoords="offset points",
        color=FAILURE, fontsize=9, va="top", parse_math=False,
    )  # fmt: skip
    axes.set_title(run["scheme"], color=INK, fontsize=11, loc="left", parse_math=False)
    axes.set_xlabel("seconds after the failure" if run["failures"] else "seconds after the request", color=INK)
    highest = max((mbps for flow in run["flows"] for mbps in smoothed(flow["samples_mbps"])), default=1.0)
    axes.set_ylim(0, max(axes.get_ylim()[1] if axes.has_data() else 0.0, 1.18 * highest))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=9)
    axes.grid(True, axis="y", color=GRID, linewidth=0.7)
    handles, labels = axes.get_legend_handles_labels()
    legend = axes.legend(
        handles[::-1], labels[::-1], frameon=False, fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.14)
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _event(run: Run) -> str:
    if not run["failures"]:
        return "traffic engineering runs"
    return ", ".join(failure["what"] for failure in run["failures"]) + " fails"


def _kind(run: Run, flow: Run) -> str:
    """Class of a flow; where traffic engineering runs and nothing fails, what moves is drawn as a victim would be."""
    if run["failures"]:
        return str(flow["class"])
    return "direct" if flow["stays"] else "victim"


def _label(run: Run, flow: Run) -> str:
    offered = "" if flow["offered_mbps"] is None else f", offers {flow['offered_mbps']:.3g}"
    if not run["failures"]:
        return f"{flow['name']}: {'stays' if flow['stays'] else 'moves'}{offered}"
    return f"{flow['name']}: {_WORDS[flow['class']]}{offered}"
