"""The flows of a run: what each got before and after the failure, beside what was expected and the fluid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.report.blocks import Cell, Grid, Part
from experiments.report.words import NONE

Json = dict[str, Any]
FLOWS_CAPTION = (
    "Throughput of the flows",
    "Payload at the receivers over time; a line is the mean of half a second, and the dashed line is the event.",
)
_HEAD = ("run", "flow", "way", "class", "offered", "before", "after", "expected", "fluid", "lost %", "converged, s")


def flows_part(runs: Sequence[Json]) -> Part | None:
    """A line for each flow of each run; None where nobody measured flows."""
    rows = tuple(_row(run, flow) for run in runs for flow in run.get("flows", ()))
    if not rows:
        return None
    caption = "Payload in Mbit/s: the mean before the event, and of the last seconds. Fluid: the model of te_solver."
    return Part("Flows", (Grid(caption, _HEAD, rows, right=tuple(range(4, len(_HEAD)))),))


def _row(run: Json, flow: Json) -> tuple[str | Cell, ...]:
    expected = flow.get("expected") or {}
    after, below = expected.get("after_mbps"), expected.get("after_below_mbps")
    wanted = f"< {below:g}" if after is None and below is not None else _number(after)
    fluid = flow.get("fluid") or {}
    return (
        str(run["run"]),
        str(flow["name"]),
        f"{flow['source']} > {flow['destination']}, {flow['transport']}",
        str(flow["class"]),
        _number(flow["offered_mbps"]),
        _number(flow["before_mbps"]),
        _number(flow["after_mbps"]),
        Cell(wanted, "differs") if flow.get("met") is False else wanted,
        _number(fluid.get("after_mbps")),
        _number(flow["lost_percent_after"], 1),
        _number(flow["convergence_s"], 1),
    )


def _number(value: object, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) else NONE
