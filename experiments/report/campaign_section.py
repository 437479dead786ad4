"""The sections of a campaign: what was asked and finished, calibration, and every attempt of every trial."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from experiments.campaign.act.registration import registration_of, registration_text
from experiments.report.blocks import Block, Cell, Facts, Fold, Grid, Part, Section, Text
from experiments.report.claims import name_of, verdict_counts
from experiments.report.folders import CampaignFolder
from experiments.report.origin import environment_part, origin_text, repeat_part
from experiments.report.words import NONE, label, listed, milliseconds, number, value_text
from machine.environment import REPOSITORY
from mininet_topos.wording import counted

Json = dict[str, Any]


def campaign_section(folder: CampaignFolder, place: str) -> Section:
    """What a campaign asked and what became of it; its ids have sections of their own."""
    registered = registration_text(registration_of(folder.environment.get("commit"), REPOSITORY))
    blocks: list[Block] = [Text(_summary(folder)), Text(origin_text(folder.environment)), Text(f"The {registered}.")]
    blocks += _unfinished(folder)
    lacking = [name for name in _asked(folder) if name not in {name_of(figure) for figure in folder.figures}]
    if lacking:
        blocks.append(Text(f"Not drawn or judged yet: {listed(lacking)}.", "warning"))
    blocks += _calibration(folder.calibration)
    blocks.append(_variants_part(folder.rows))
    blocks += _trouble(folder.rows)
    blocks.append(Part("All trials", (_fold(folder.rows),)))
    blocks += [environment_part(folder.environment), repeat_part(folder.path, folder.environment)]
    return Section(f"Campaign {folder.path.name}", place, tuple(blocks))


def planned(folder: CampaignFolder) -> list[str]:
    """Names of the trials that the campaign consists of."""
    trials = folder.description.get("trials") or []
    return [str(trial["trial"] if isinstance(trial, dict) else trial) for trial in trials]


def unfinished(folder: CampaignFolder) -> list[str]:
    """Planned trials without any row."""
    seen = {row["trial"] for row in folder.rows}
    return [name for name in planned(folder) if name not in seen]


def failed_trials(rows: Sequence[Json]) -> list[Json]:
    """Last attempts of the trials that never succeeded."""
    last = {row["trial"]: row for row in rows}
    good = {row["trial"] for row in rows if row["status"] == "ok"}
    return [row for name, row in last.items() if name not in good]


def _summary(folder: CampaignFolder) -> str:
    description = folder.description
    quick = " in its quick set-up (fewer pairs and repetitions, same code)" if description.get("quick") else ""
    attempts = counted(len(folder.rows), "attempt")
    trials = counted(len({row["trial"] for row in folder.rows}), "trial")
    failed = counted(len(failed_trials(folder.rows)), "trial")
    doubtful = counted(len(_doubtful(folder.rows)), "attempt")
    verdicts = verdict_counts(folder.figures)
    ids = listed(_asked(folder)) or "no id"
    summary = (
        f"Reproduction of {ids}{quick}, seed {number(description.get('seed'))}: {trials} in {attempts}, "
        f"{failed} never succeeded, {doubtful} not trustworthy."
    )
    return f"{summary} {verdicts}." if verdicts else summary


def _unfinished(folder: CampaignFolder) -> list[Block]:
    """What is missing, by name, and how to go on."""
    missing = unfinished(folder)
    if not missing:
        return []
    text = (
        f"This campaign is not finished: {counted(len(missing), 'trial')} of {len(planned(folder)):,} "
        f"{'has' if len(missing) == 1 else 'have'} no result yet. "
        f"It goes on with: armor reproduce --resume FOLDER, where FOLDER is the place of {folder.path.name}"
    )
    names = Text("\n".join(missing), "listing")
    return [Text(text, "warning"), Fold(f"The missing {counted(len(missing), 'trial')}", (names,))]


def _asked(folder: CampaignFolder) -> list[str]:
    return [str(name) for name in folder.description.get("ids") or []]


def _calibration(stored: Json | None) -> list[Block]:
    if stored is None:
        return [Part("Calibration", (Text("Nothing was calibrated: no trial of this campaign needs a network."),))]
    problems = [str(problem) for problem in stored.get("problems") or []]
    warnings = [Text(f"Not trustworthy: {listed(problems)}.", "warning")] if problems else []
    facts = tuple((label(key), value_text(value)) for key, value in stored.items() if key != "problems")
    return [Part("Calibration", (*warnings, Facts(facts)))]


def _variants_part(rows: Sequence[Json]) -> Part:
    """Attempts and means by kind, topology, failures and variant."""
    groups: dict[tuple[str, str, int, str], list[Json]] = {}
    for row in rows:
        key = (
            str(row.get("kind")),
            str(row.get("topology")),
            int(row.get("failures") or 0),
            str(row.get("variant") or NONE),
        )
        groups.setdefault(key, []).append(row)
    cells = tuple(
        (kind, topology, number(failures), variant, *_means(group))
        for (kind, topology, failures, variant), group in sorted(groups.items())
    )
    header = (
        "kind",
        "topology",
        "failed links",
        "variant",
        "good",
        "failed",
        "doubtful",
        "convergence, ms",
        "backtracking, ms",
    )
    caption = (
        "Attempts by variant. Times are means over the good ones after the failure; a dash: none, or still going on at "
        "the end."
    )
    return Part("By variant", (Grid(caption, header, cells, right=(2, 4, 5, 6, 7, 8)),))


def _means(rows: Sequence[Json]) -> tuple[str, ...]:
    good = [row for row in rows if row["status"] == "ok"]
    converged = [row["convergence_ms"] for row in good if "convergence_ms" in row]
    turned = [
        row["backtracking_ms"] and row["backtracking_ms"]["from_failure"] for row in good if "backtracking_ms" in row
    ]
    return (
        number(len(good)),
        number(len(rows) - len(good)),
        number(len(_doubtful(rows))),
        *(milliseconds(fmean(values)) if values and None not in values else NONE for values in (converged, turned)),
    )


def _doubtful(rows: Sequence[Json]) -> list[Json]:
    return [row for row in rows if row["status"] == "ok" and row.get("trustworthy") is False]


def _trouble(rows: Sequence[Json]) -> list[Block]:
    """Attempts that failed or are in doubt, open on the page: nobody shall have to look for them."""
    failed = [row for row in rows if row["status"] != "ok"]
    doubtful = _doubtful(rows)
    if not failed and not doubtful:
        return [Part("Failed and doubtful trials", (Text("None: every attempt succeeded and is trustworthy."),))]
    never = len(failed_trials(rows))
    text = (
        f"{counted(len(failed), 'attempt')} failed; {counted(never, 'trial')} never succeeded. "
        f"{counted(len(doubtful), 'attempt')} succeeded but should not be trusted."
    )
    cells = tuple(
        (str(row["trial"]), number(row.get("attempt")), _status(row), _reason(row)) for row in (*failed, *doubtful)
    )
    grid = Grid(
        "Attempts that failed or are in doubt, and why.", ("trial", "attempt", "status", "reason"), cells, (1,), (3,)
    )
    return [Part("Failed and doubtful trials", (Text(text), grid))]


def _status(row: Json) -> Cell:
    if row["status"] != "ok":
        return Cell("✘ failed", "differs")
    return Cell("≈ doubtful", "direction") if row.get("trustworthy") is False else Cell("✔ ok", "holds")


def _reason(row: Json) -> str:
    error = [str(row["error"])] if row.get("error") else []
    return "; ".join([*error, *map(str, row.get("warnings") or ())])


def _fold(rows: Sequence[Json]) -> Fold:
    cells = tuple(
        (
            str(row["trial"]),
            number(row.get("attempt")),
            _status(row),
            milliseconds(row.get("convergence_ms")),
            milliseconds((row.get("backtracking_ms") or {}).get("from_failure")),
            number(row.get("crankback_frames")),
            number(row.get("seconds")),
            ", ".join(map(str, row.get("links") or ())) or NONE,
        )
        for row in rows
    )
    header = (
        "trial",
        "attempt",
        "status",
        "convergence, ms",
        "backtracking, ms",
        "frames back",
        "seconds",
        "failed links",
    )
    grid = Grid("Every attempt, in the order of time.", header, cells, right=(1, 3, 4, 5, 6))
    return Fold(f"All {counted(len(rows), 'attempt')}", (grid,))
