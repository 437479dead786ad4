"""The result of a run that measures flows as text: a line a flow, beside what was expected and the fluid."""

from __future__ import annotations

from typing import Any

from experiments.cli.run_lines import claims_lines, milliseconds, name_of
from experiments.terminal.output import indented, table

Run = dict[str, Any]
_HEAD = (
    *("flow", "way", "class", "tunnel", "offered", "before", "expected", "after", "expected", "fluid"),
    *("lost %", "retransmits", "converged s", "as expected"),
)
_ALWAYS = 4  # columns that say which flow it is


def flow_run_text(run: Run) -> str:
    """Text of one run that measures flows."""
    lines = [name_of(run), "", indented(flows_table(run["flows"]))]
    lines += ["  (payload at the receiver in Mbit/s; fluid: what te_solver expects of flows that share like water)"]
    for failure in run["failures"]:
        stages = failure["stages_ms"]
        lines.append(
            f"  {failure['what']} {failure['kind']} at {failure['at_s']:g} s: detected after "
            f"{milliseconds(stages['detect'])} ms, ingress switches done after {milliseconds(stages['switch_over'])} ms"
        )
    # What claims found stands in the table already, but for the datagrams that traffic engineering leaves alone.
    quiet = bool(run["failures"])
    shown = [{**claim, "detail": "" if quiet and claim["held"] else claim["detail"]} for claim in run["claims"]]
    return "\n".join([*lines, "", *claims_lines({**run, "claims": shown})])


def flows_table(flows: list[Run]) -> str:
    """A line for each flow; columns in which nothing stands are left out."""
    rows = [_row(flow) for flow in flows]
    kept = [column for column in range(len(_HEAD)) if column < _ALWAYS or any(row[column] != "-" for row in rows)]
    picked = [[row[column] for column in kept] for row in rows]
    return table(picked, [_HEAD[column] for column in kept], right=range(4, len(kept)))


def _row(flow: Run) -> list[str]:
    expected = flow.get("expected") or {}
    after = expected.get("after_mbps")
    below = expected.get("after_below_mbps")
    fluid = flow["fluid"]
    return [
        flow["name"],
        f"{flow['source']} > {flow['destination']} {flow['transport']}",
        flow["class"],
        _tunnels(flow),
        _rate(flow["offered_mbps"]),
        _rate(flow["before_mbps"]),
        _rate(expected.get("before_mbps")),
        _rate(flow["after_mbps"]),
        f"< {below:g}" if after is None and below is not None else _rate(after),
        _rate(None if fluid is None else fluid["after_mbps"]),
        "-" if flow["lost_percent_after"] is None else f"{flow['lost_percent_after']:.1f}",
        "-" if flow["retransmits"] is None else f"{flow['retransmits']:,}",
        "-" if flow["convergence_s"] is None else f"{flow['convergence_s']:.1f}",
        "-" if flow.get("met") is None else "yes" if flow["met"] else "NO",
    ]


def _tunnels(flow: Run) -> str:
    before, after = (("-" if number is None else str(number)) for number in (flow["tunnel"], flow["tunnel_after"]))
    return before if before == after else f"{before} > {after}"


def _rate(mbps: float | None) -> str:
    return "-" if mbps is None else f"{mbps:.2f}"
