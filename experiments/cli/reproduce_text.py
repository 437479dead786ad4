"""The result of a campaign as text for a person: a table of claims and one of numbers for each id, and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.campaign.act.registration import registration_text
from experiments.campaign.durations import in_words
from experiments.campaign.order import NOT_RUN
from experiments.terminal.output import table

Json = Mapping[str, Any]


def campaign_text(value: Json) -> str:
    """Text of `armor reproduce`."""
    results = [result_text(result) for result in value["results"]]
    return "\n\n".join([*results, *_overview(value["results"]), *_failed(value), _ending(value)])


def result_text(result: Json) -> str:
    """Text of one id."""
    quick = " (quick)" if result["quick"] else ""
    parts = [f"== {result['id']}{quick}: {result['title']}"]
    judged, beside = _judged(result["claims"]), len(result["claims"])
    beside -= len(judged)
    if judged:
        parts.append(claims_text(judged))
    if beside:
        parts.append(f"{beside} more comparisons, for which the paper gives no band: {result['id']}/verdict.json")
    header, rows = result["table"]["header"], result["table"]["rows"]
    if rows:
        parts.append(table(rows, header, right=range(1, len(header))))
    if not result["claims"] and not rows:
        parts.append("no trial is good, so there is nothing to judge or draw")
    counts = f"{result['verdict']}: {result['trials'] - result['failed_trials']} of {result['trials']} trials good"
    return "\n\n".join([*parts, "; ".join([counts, *result["caption"].splitlines()])])


def _judged(claims: Sequence[Json]) -> list[Json]:
    """Claims that have a verdict; the others are compared by the table, and stand in verdict.json and reports."""
    return [claim for claim in claims if claim["verdict"] != "measured"]


def _overview(results: Sequence[Json]) -> list[str]:
    """What a reader looks for first: every verdict of every id, without remarks."""
    rows = [
        (result["id"], claim["verdict"], claim["name"], claim["unit"], shown(claim["paper"]), measured(claim))
        for result in results
        for claim in _judged(result["claims"])
    ]
    if not rows or len(results) == 1:
        return []
    text = table(rows, ("id", "verdict", "claim", "unit", "paper", "measured [95 %]"))
    return [f"== Verdicts\n\n{text}"]


def claims_text(claims: Sequence[Json]) -> str:
    """Claims beside what was measured; remarks below, each once."""
    numbers: dict[str, int] = {}
    rows = []
    for claim in claims:
        note = claim["note"]
        mark = "" if note is None else f" [{numbers.setdefault(note, len(numbers) + 1)}]"
        rows.append(
            (
                claim["verdict"],
                claim["name"] + mark,
                claim["unit"],
                shown(claim["paper"]),
                measured(claim),
                claim["band"] or "-",
            )
        )
    text = table(rows, ("verdict", "claim", "unit", "paper", "measured [95 %]", "band"))
    return "\n".join([text, *(f"[{number}] {note}" for note, number in numbers.items())])


def measured(claim: Json) -> str:
    """A measured value with its interval."""
    text = shown(claim["measured"])
    return text if claim["low"] is None else f"{text} [{shown(claim['low'])}, {shown(claim['high'])}]"


def shown(value: float | str | None) -> str:
    """A number with three digits that count; words as they are.

    Examples
    --------
    >>> shown(-54.26), shown(1234.5), shown(None), shown("in this order")
    ('-54.3', '1,234', '-', 'in this order')
    """
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def list_text(rows: Sequence[Json], together: Sequence[Json]) -> str:
    """Text of `armor reproduce --list`: ids, and below what papers ask for at once."""
    header = ("id", "paper", "trials", "takes", "quick: trials", "takes", "what")
    ids = [(*_line(row, row["paper"]), row.get("title")) for row in rows if "same_as" not in row]
    ids += [(*_line(row, row["paper"]), " and ".join(row["same_as"])) for row in rows if "same_as" in row]
    text = table([*ids, *((*_line(row, ""), "") for row in together)], header, right=range(2, 6))
    notes = "Durations are estimates for two cores; full runs took 0.5 to 1.4 times as long."
    return f"{text}\n\n{notes} Ids share trials; a trial runs once in a campaign."


def _line(row: Json, paper: str) -> tuple[object, ...]:
    full, quick = in_words(row["seconds"]), in_words(row["quick_seconds"])
    return row["id"], paper, row["trials"], full, row["quick_trials"], quick


def _failed(value: Json) -> list[str]:
    """Every failed trial by its name; of those that are still to run, how many."""
    failed = [each for each in value["failed"] if each["error"] != NOT_RUN]
    waiting = len(value["failed"]) - len(failed)
    parts = []
    if failed:
        lines = [f"  {each['trial']}: {each['error']}" for each in failed]
        parts.append("\n".join([f"{len(lines)} of {value['trials']} trials failed:", *lines]))
    if waiting:
        parts.append(f"{waiting} of {value['trials']} trials have not run yet: armor reproduce --resume FOLDER")
    return parts


def _ending(value: Json) -> str:
    counts = ", ".join(f"{count} {word}" for word, count in value["verdicts"].items() if count) or "no claim judged"
    lines = [f"claims: {counts}"]
    good = value["trials"] - value["failed_trials"]
    again = value["attempts"] - value["trials"]
    trials = f"trials: {good} of {value['trials']} good"
    if again > 0:
        trials += f", {again} more attempts"
    if value["untrustworthy_trials"]:
        trials += f", {value['untrustworthy_trials']} not trustworthy"
    lines.append(trials)
    if value["calibration"] and not value["calibration"]["trustworthy"]:
        lines.append(f"NOT TRUSTWORTHY: {'; '.join(value['calibration']['problems'])}")
    lines += [registration_text(value["registration"]), f"everything is in {value['folder']}"]
    return "\n".join(lines)
