"""Panels of the delay picture from the plain rows of a result folder, so that a picture redraws from rows alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.charts.delay import Dot, Panel
from ryu_apps.plan.choices import mode_words

Row = dict[str, Any]
MAX_PANELS = 10
_LEAD_S = 1.0


def panels(runs: Sequence[Row], probes: Iterable[Row]) -> list[Panel]:
    """One panel for each failure of each run, the first `MAX_PANELS` of them.

    Parameters
    ----------
    runs : sequence of dict
        Entries of `runs` in verdict.json.
    probes : iterable of dict
        Rows of probes.jsonl.
    """
    by_run: dict[str, list[Row]] = {}
    for row in probes:
        by_run.setdefault(row["run"], []).append(row)
    return [_panel(run, number, by_run.get(run["run"], [])) for run in runs for number in range(len(run["failures"]))][
        :MAX_PANELS
    ]


def read_panels(folder: Path) -> list[Panel]:
    """Panels of a result folder; none where every run broke off before it had probes."""
    runs = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))["runs"]
    probes = folder / "probes.jsonl"
    if not probes.exists():
        return []
    with probes.open(encoding="utf-8") as lines:
        return panels(runs, (json.loads(line) for line in lines))


def _panel(run: Row, number: int, probes: Iterable[Row]) -> Panel:
    failure = run["failures"][number]
    failure_s, until_s = failure["failure_s"], failure["until_s"]
    dots = [_dot(row, failure_s) for row in probes if failure_s - _LEAD_S <= row["sent_s"] < until_s]
    loads = run.get("loads") or []
    whole = "" if number or not loads else f"run: {', '.join(map(_load, loads))}; probes: "
    outage = f", outage {failure['outage_ms']:.1f} ms" if failure["lost"] else ""
    return Panel(
        title=failure_title(run, failure),
        dots=dots,
        stages_ms=failure["stages_ms"],
        note=f"{whole}{failure['lost']} lost, {failure['backtracked']} backtracked{outage}",
    )


def failure_title(run: Row, failure: Row) -> str:
    """Heading of a panel: the run, and what failed."""
    mode = mode_words(run["mode"])
    mode += f", {run['variant']}" if run.get("variant") else ""
    return f"{run['scheme']}{mode}: {failure['kind']} failure of {failure['what']}"


def _load(load: Row) -> str:
    """What became of datagrams or TCP."""
    if "sent" in load:
        return f"{load['lost']:,} of {load['sent']:,} datagrams lost"
    return "TCP unknown" if load["retransmits"] is None else f"TCP resent {load['retransmits']:,}"


def _dot(row: Row, failure_s: float) -> Dot:
    delay_ms = None if row["arrived_s"] is None else (row["arrived_s"] - row["sent_s"]) * 1000
    return Dot(row["way"], (row["sent_s"] - failure_s) * 1000, delay_ms, row["back_hops"] > 0)
