"""The section of a run: what was promised and kept, and for each failure its drawing, stages and counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.analysis.timeline import STAGES, stage_label
from experiments.report.blocks import Block, Cell, FileLink, Fold, Grid, Part, Picture, Section, Text
from experiments.report.drawings import failure_drawing, scenario_of
from experiments.report.flows_part import FLOWS_CAPTION, flows_part
from experiments.report.folders import RunFolder
from experiments.report.origin import environment_part, origin_text, repeat_part
from experiments.report.strip import StripRow, strip_svg
from experiments.report.words import NONE, anchor, listed, milliseconds, number, verdict_cell
from experiments.scenario.values import Scenario
from mininet_topos.wording import counted

Json = dict[str, Any]
DELAY_CAPTION = (
    "Delay of every packet",
    "Each dot is a probe packet at the time it was sent; lost packets are marks below the axis.",
)
KNOWLEDGE_CAPTION = (
    "Each mark is a switch at the time when a notification of the failure first left or reached it; "
    "red: beside the failure."
)


def run_section(folder: RunFolder, place: str, replay: str = "") -> Section:
    """Everything about one folder of `armor run` or `armor demo`.

    Parameters
    ----------
    place
        Beginning of the anchors.
    replay
        File beside the page that replays the run; empty: none.
    """
    runs = folder.verdict["runs"]
    found = scenario_of(folder.scenario, f"{folder.path.name}/scenario.yaml")
    scenario = found if isinstance(found, Scenario) else None
    blocks: list[Block] = [Text(run_summary(folder, scenario)), Text(origin_text(folder.environment))]
    if replay:
        blocks.append(FileLink("Replay it on its map, in slow motion", replay))
    blocks += [Text(text, "warning") for text in _warnings(runs)]
    if scenario is None:
        blocks.append(Text(f"Failures are not drawn, since the scenario cannot be read here: {found}", "warning"))
    blocks.append(_accounts(runs))
    if folder.topology is not None:
        blocks.append(Picture(folder.topology.alt, folder.topology.data, folder.topology.ending, narrow=True))
    blocks += _failure_parts(folder, scenario, place)
    if folder.delay is not None:
        has_flows = any(run.get("flows") for run in runs)
        title, caption = FLOWS_CAPTION if has_flows else DELAY_CAPTION
        blocks.append(Part(title, (Picture(folder.delay.alt, folder.delay.data, folder.delay.ending, caption),)))
    blocks += _knowledge_parts(folder, runs)
    flows = flows_part(runs)
    blocks += [] if flows is None else [flows]
    blocks += [_claims_part(runs), environment_part(folder.environment)]
    blocks.append(repeat_part(folder.path, folder.environment, folder.scenario))
    return Section(run_title(folder, scenario), place, tuple(blocks))


def run_title(folder: RunFolder, scenario: Scenario | None) -> str:
    """Name of the folder and of what was tried."""
    schemes = listed(dict.fromkeys(str(run["scheme"]) for run in folder.verdict["runs"]))
    where = "" if scenario is None else f" on {scenario.topology.name}"
    return f"Run {folder.path.name}: {schemes}{where}"


def run_summary(folder: RunFolder, scenario: Scenario | None) -> str:
    """What was done and whether it held, in one paragraph."""
    runs = folder.verdict["runs"]
    broken = [str(run["run"]) for run in runs if not run["held"]]
    names = listed(str(run["run"]) for run in runs)
    what = ""
    if scenario is not None:
        failures = counted(len(scenario.failures), "failure")
        streams = f"{counted(len(scenario.traffic), 'stream')} of traffic"
        if scenario.measures_flows:
            streams = counted(max(len(run.get("flows", ())) for run in runs), "flow")
        what = f" with {streams}, {failures} and {scenario.duration_s:g} s each"
    outcome = "Every claim held." if not broken else f"Claims failed in {listed(broken)}."
    doubt = "" if folder.verdict.get("trustworthy", True) else " Not all numbers are trustworthy: see the warnings."
    return f"{counted(len(runs), 'run')} ({names}){what}. {outcome}{doubt}"


def _warnings(runs: Sequence[Json]) -> list[str]:
    """Each warning once, with the runs that have it."""
    having: dict[str, list[str]] = {}
    for run in runs:
        for warning in run.get("warnings", ()):
            having.setdefault(str(warning), []).append(str(run["run"]))
    everywhere = len(runs)
    return [text if len(names) == everywhere else f"{listed(names)}: {text}" for text, names in having.items()]


def _accounts(runs: Sequence[Json]) -> Grid:
    header = ("run", "mode", "planner", "BFD, ms", "sent", "lost", "backtracked", "reordered", "duplicated")
    rows = []
    for run in runs:
        settings = (str(run.get(key) or NONE) for key in ("mode", "planner"))
        counts = (number(run.get(key)) for key in ("sent", "lost", "backtracked", "reordered", "duplicated"))
        trust = "yes" if run.get("trustworthy") else Cell("no", "direction")
        verdict = (
            Cell("∅ broke off", "differs") if run.get("error") else verdict_cell("held" if run["held"] else "failed")
        )
        rows.append((str(run["run"]), *settings, number(run.get("bfd_interval_ms")), *counts, trust, verdict))
    caption = "Packets of all probes, both ways, and datagrams, over the whole run."
    return Grid(caption, (*header, "trustworthy", "claims"), tuple(rows), right=tuple(range(3, 9)))


def _failure_parts(folder: RunFolder, scenario: Scenario | None, place: str) -> list[Part]:
    """One part a failure, with all runs side by side."""
    runs = [run for run in folder.verdict["runs"] if run["failures"]]
    if not runs:
        return []
    return [
        _failure_part(folder, scenario, [(run, run["failures"][index]) for run in runs], index, place)
        for index in range(min(len(run["failures"]) for run in runs))
    ]


def _knowledge_parts(folder: RunFolder, runs: Sequence[Json]) -> list[Part]:
    """Who knew when; nothing for folders of versions that did not record it."""
    if folder.knowledge is None:
        return []
    picture = Picture(folder.knowledge.alt, folder.knowledge.data, folder.knowledge.ending, KNOWLEDGE_CAPTION)
    rows = [
        (str(run["run"]), str(failure["what"]), *_knowledge_cells(failure.get("notification")))
        for run in runs
        for failure in run["failures"]
    ]
    header = ("run", "failure", "frames", "switches that knew", "last knew, ms")
    caption = "Frames that left a switch on a link, and when the last switch knew, in ms after detection."
    return [Part("Who knew when", (picture, Grid(caption, header, tuple(rows), right=(2, 3, 4))))]


def _knowledge_cells(known: Json | None) -> tuple[str, str, str]:
    if known is None:
        return "off", NONE, NONE
    return number(known["frames"]), f"{known['knew']} of {known['switches']}", milliseconds(known["last_ms"])


def _failure_part(
    folder: RunFolder, scenario: Scenario | None, results: Sequence[tuple[Json, Json]], index: int, place: str
) -> Part:
    first = results[0][1]
    blocks: list[Block] = []
    if scenario is not None and folder.topology is None:
        run = next((run for run, _ in results if _has_returned(folder, run)), results[0][0])
        result = next(result for other, result in results if other is run)
        mine = [row for row in folder.returned if row["run"] == run["run"]]
        blocks.append(failure_drawing(scenario, index, result, mine))
    rows = [StripRow(str(run["run"]), result["stages_ms"]) for run, result in results]
    stages_of_runs = "; ".join(f"{row.name}: {_stages_text(row)}" for row in rows)
    blocks.append(Picture(f"Stages of the recovery on a time axis. {stages_of_runs}", strip_svg(rows).encode(), ".svg"))
    blocks.append(_stage_grid(results))
    blocks.append(_probe_fold(folder, first))
    repair = "" if first.get("repair_at_s") is None else f", repaired at {first['repair_at_s']:g} s"
    title = f"Failure {index + 1}: {first['kind']} failure of {first['what']} at {first['at_s']:g} s{repair}"
    return Part(title, tuple(blocks), anchor(place, "failure", index + 1))


def _has_returned(folder: RunFolder, run: Json) -> bool:
    return any(row["run"] == run["run"] for row in folder.returned)


def _stages_text(row: StripRow) -> str:
    given = [f"{stage_label(name)} {value:.1f} ms" for name, value in row.stages_ms.items() if value is not None]
    return listed(given) if given else "nothing was affected"


def _stage_grid(results: Sequence[tuple[Json, Json]]) -> Grid:
    rows = tuple(
        (
            str(run["run"]),
            *(milliseconds(result["stages_ms"].get(name)) for name in STAGES),
            milliseconds(result["outage_ms"]),
            *(number(result.get(key)) for key in ("lost", "backtracked", "lost_after_repair")),
        )
        for run, result in results
    )
    header = ("run", *map(stage_label, STAGES), "outage", "lost", "backtracked", "lost after repair")
    caption = "Stages in ms after the failure, over all probes and both ways; a dash means that it never came."
    return Grid(caption, header, rows, right=tuple(range(1, len(header))))


def _probe_fold(folder: RunFolder, failure: Json) -> Fold:
    rows = [
        row
        for row in folder.rows
        if row.get("failure") == failure["what"] and row.get("at_s") == failure["at_s"] and row.get("status") == "ok"
    ]
    stages = ("first_switchover_ms", "first_good_ms", "last_lost_ms", "last_crankback_ms", "steady_ms", "outage_ms")
    cells = tuple(
        (
            str(row["run"]),
            f"{row['from']} > {row['to']}, {row['way']}",
            str(row["probe"]),
            *(milliseconds(row.get(key)) for key in stages),
            *(number(row.get(key)) for key in ("sent", "lost", "backtracked")),
        )
        for row in rows
    )
    header = (
        *("run", "stream", "kind"),
        *(key.removesuffix("_ms").replace("_", " ") for key in stages),
        *("sent", "lost", "backtracked"),
    )
    grid = Grid("Times in ms after the failure.", header, cells, right=tuple(range(3, len(header))))
    return Fold(f"By stream and way ({counted(len(rows), 'row')})", (grid,))


def _claims_part(runs: Sequence[Json]) -> Part:
    rows: list[tuple[str | Cell, ...]] = []
    for run in runs:
        if run.get("error"):
            rows.append((str(run["run"]), "the run is finished", Cell("✘ failed", "differs"), str(run["error"])))
        for claim in run.get("claims", ()):
            cell = Cell("✔ held", "holds") if claim["held"] else Cell("✘ failed", "differs")
            rows.append((str(run["run"]), str(claim["name"]), cell, str(claim.get("detail") or "")))
    caption = "What the schemes promise, and whether the measured packets and the switches' rows bear it out."
    return Part("Claims", (Grid(caption, ("run", "claim", "verdict", "detail"), tuple(rows), wide=(1, 3)),))
