"""The result of runs as text for a person: one line a failure, the accounts of each probe, the claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.analysis.timeline import STAGES, stage_label
from experiments.cli.run_flows_text import flow_run_text
from experiments.cli.run_lines import captures_lines, claims_lines, milliseconds, name_of, notification_lines
from experiments.terminal.output import indented, table

Run = dict[str, Any]


def runs_text(runs: list[Run], folder: str, captures: Sequence[str] = ()) -> str:
    """Text of `armor run`; `captures` are files in its folder."""
    parts = [run_text(run) for run in runs]
    held = sum(run["held"] for run in runs)
    parts.append(f"{held} of {len(runs)} runs kept every claim; everything is in {folder}")
    parts += ["\n".join(captures_lines(folder, captures))] if captures else []
    return "\n\n".join(parts)


def run_text(run: Run) -> str:
    """Text of one run."""
    if "error" in run:
        return f"{name_of(run)}\n  broke off: {run['error']}"
    if "flows" in run:
        return flow_run_text(run)
    sections = [name_of(run)]
    if run["failures"]:
        sections += ["", indented(failures_table(run["failures"])), *notification_lines(run)]
    sections += ["", indented(probes_table(run["probes"]))]
    if run.get("loads"):
        sections += ["", indented(loads_table(run["loads"]))]
    sections += ["", *claims_lines(run)]
    return "\n".join(sections)


def failures_table(failures: list[Run]) -> str:
    """Stages of every failure, milliseconds after it."""
    header = ["failure", "at", *map(stage_label, STAGES), "outage", "lost", "backtracked"]
    rows = [
        [
            f"{failure['what']} {failure['kind']}",
            f"{failure['at_s']:g} s",
            *(milliseconds(failure["stages_ms"][name]) for name in STAGES),
            milliseconds(failure["outage_ms"]) if failure["lost"] else "0",
            failure["lost"],
            failure["backtracked"],
        ]
        for failure in failures
    ]
    text = table(rows, header, right=range(1, len(header)))
    return text + "\n(stages and outage in milliseconds after the failure)"


def probes_table(probes: list[Run]) -> str:
    """Packet counts of each probe and way."""
    header = ["probe", "way", "sent", "received", "lost", "duplicated", "reordered", "backtracked"]
    names = ("sent", "received", "lost", "duplicated", "reordered", "backtracked")
    rows = [
        [f"{probe['from']} > {probe['to']} {probe['kind']}", label, *(f"{probe[way][name]:,}" for name in names)]
        for probe in probes
        for way, label in (("out", "there"), ("back", "back"))
    ]
    return table(rows, header, right=range(2, len(header)))


def loads_table(loads: list[Run]) -> str:
    """Datagrams and TCP: what was offered, and what became of it."""
    header = ["load", "offered", "sent", "received", "lost", "duplicated", "reordered", "retransmitted"]
    names = ("sent", "received", "lost", "duplicated", "reordered", "retransmits")
    rows = [
        [
            f"{load['from']} > {load['to']} {load['kind']}",
            _offered(load),
            *("-" if load.get(name) is None else f"{load[name]:,}" for name in names),
        ]
        for load in loads
    ]
    return table(rows, header, right=range(1, len(header)))


def _offered(load: Run) -> str:
    if "rate_pps" not in load:
        return "as it goes" if load["rate_mbps"] is None else f"{load['rate_mbps']:g} Mbit/s"
    less = "" if load["rate_pps"] == load["asked_pps"] else f" (of {load['asked_pps']:,.0f}: more is lost anyway)"
    return f"{load['rate_pps']:,.0f} packets/s{less}"
