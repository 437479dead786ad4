"""The section of a torture or a drill: what was done how often, how it ended, and what did not hold."""

from __future__ import annotations

from collections import Counter
from typing import Any

from experiments.charts.rounds import Rounds, rounds_png
from experiments.report.blocks import Block, Cell, Facts, Grid, Part, Picture, Section, Text
from experiments.report.folders import RoundsFolder
from experiments.report.origin import environment_part, origin_text, repeat_part
from experiments.report.words import label, number
from mininet_topos.wording import counted

Json = dict[str, Any]
ROUNDS_HEADER = ("command", "commit", "rounds", "minutes", "faults", "violations", "outcome")
ROUNDS_RIGHT = (2, 3, 4, 5)
_APART = ("what", "run", "topology", "violations", "folder", "seed", "changes_a_minute")
_CAUSE = "shortest prefix that brings it again"


def rounds_section(folder: RoundsFolder, place: str) -> Section:
    """Everything about one folder of `armor torture` or `armor drill`."""
    blocks: list[Block] = [Text(rounds_summary(folder)), Text(origin_text(folder.environment))]
    blocks.append(_picture(folder))
    facts = [(label(key), _shown(value)) for key, value in folder.verdict.items() if key not in _APART]
    blocks.append(Facts(tuple(facts)))
    if kinds := Counter(fault["kind"] for row in folder.rows for fault in row.get("faults", ())):
        rows = tuple((kind, number(count)) for kind, count in sorted(kinds.items()))
        blocks.append(
            Part("Faults", (Grid("How often each kind of fault began.", ("kind", "faults"), rows, right=(1,)),))
        )
    blocks += _violations(folder.verdict["violations"])
    blocks += [environment_part(folder.environment), repeat_part(folder.path, folder.environment)]
    return Section(f"{_name(folder.verdict)} {folder.path.name}", place, tuple(blocks))


def rounds_summary(folder: RoundsFolder) -> str:
    """What was done and what did not hold, in one sentence."""
    verdict = folder.verdict
    rounds, found = counted(verdict["rounds"], "round"), counted(len(verdict["violations"]), "violation")
    what = f"{verdict['run']} on {verdict['topology']}, seed {verdict['seed']}"
    return f"{what}: {rounds} in {verdict['minutes']:g} minutes, {found}."


def rounds_line(folder: RoundsFolder) -> tuple[str, ...]:
    """Cells of `ROUNDS_HEADER`."""
    verdict, command = folder.verdict, folder.environment.get("command", [])
    shown = " ".join(_without_folder([str(word) for word in command]))
    return (
        f"`{shown}`",
        str(folder.environment.get("commit", ""))[:7],
        f"{verdict['rounds']:,}",
        f"{verdict['minutes']:.1f}",
        f"{sum(len(row.get('faults', ())) or 1 for row in folder.rows):,}",
        str(len(verdict["violations"])),
        _outcome(verdict),
    )


def _without_folder(words: list[str]) -> list[str]:
    """A command without what only says where and how it is printed."""
    kept, skip = [], False
    for word in words:
        if not skip and word not in ("--out", "--json"):
            kept.append(word)
        skip = word == "--out"
    return kept


def _outcome(verdict: Json) -> str:
    """What of a verdict a reader wants to know first."""
    said = []
    if "within_bound_percent" in verdict:
        recovered, lost = verdict["recovered_ms"], verdict["lost_requests"]
        failures = (
            f"{verdict['failures']:,} failures (besides {verdict['not_counted']:,} while the machine stood still)"
        )
        said.append(f"{verdict['within_bound_percent']:g} % of {failures} within {verdict['bound_ms']:g} ms")
        said.append(f"recovered after {recovered['median']:g} ms (p99 {recovered['p99']:g}, most {recovered['max']:g})")
        said.append(f"lost requests {lost['median']:g} (p99 {lost['p99']:g})")
    if "longest_gap_ms" in verdict:
        said.append(f"longest time without answers {verdict['longest_gap_ms']:g} ms")
        said.append(f"rule changes a minute {', '.join(map(str, verdict['changes_a_minute'][0]))}")
    if "kills_during_a_write" in verdict:
        said.append(f"{verdict['kills_during_a_write']} kills during a write")
    if "longest_calm_s" in verdict:
        said.append(f"{verdict['recoveries']} recoveries, the longest after {verdict['longest_calm_s']:g} s")
    if verdict.get("acknowledged_rows"):
        said.append(f"{verdict['lost_rows']} of {verdict['acknowledged_rows']:,} acknowledged rows lost")
    return "; ".join(said)


def _picture(folder: RoundsFolder) -> Picture:
    verdict, rows = folder.verdict, [row for row in folder.rows if row.get("counted", True)]
    key, what = next(
        (pair for pair in _AXES if any(pair[0] in row for row in rows)), ("violations", "violations of a round")
    )
    values = [len(row[key]) if key == "violations" else row.get(key) for row in rows]
    title = f"{_name(verdict)}: {verdict['run']} on {verdict['topology']}"
    at_min = [row["at_s"] / 60 for row in rows]
    bound = verdict.get("bound_ms") if what.endswith("ms") else None
    data = rounds_png(Rounds(title, what, at_min, values, [bool(row["violations"]) for row in rows], bound))
    caption = "A dot is a round that counts; a cross one after which something did not hold; dashed: the bound."
    return Picture(f"{title}, {what} of each round", data, ".png", caption)


_AXES = (
    ("calm_s", "until all was right again, s"),
    ("recovered_ms", "until requests were answered, ms"),
    ("longest_gap_ms", "longest time without answers, ms"),
    ("lost_rows", "lost rows"),
)


def _violations(violations: list[Any]) -> list[Block]:
    """A line each: tortures name the faults, drills have a sentence."""
    if not violations:
        return []
    rows = []
    for each in violations:
        faults = each.get("faults", []) if isinstance(each, dict) else []
        causes = ", ".join(f"{fault['kind']} {fault['target']} at {fault['at_s']:g} s" for fault in faults)
        prefix = f"{_CAUSE}: " if faults and each.get("replayed") else ""
        what = each["what"] if isinstance(each, dict) else each
        rows.append((Cell(what, "differs"), prefix + causes))
    return [Part("Violations", (Grid("What did not hold.", ("what", "faults"), tuple(rows), wide=(0, 1)),))]


def _name(verdict: Json) -> str:
    return f"Drill {verdict['what']}" if "what" in verdict else "Torture"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each:g}" for name, each in value.items())
    return number(value)
