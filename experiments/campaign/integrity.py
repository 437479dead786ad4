"""Check that the files of a campaign are what this code has written, not truncated, edited or another campaign's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.campaign.order import FAILED, OK, ROW_VERSION
from experiments.campaign.values import Json
from mininet_topos.errors import BadInputError
from mininet_topos.wording import shown

_REPAIR = "put the file back as it was measured, or measure again in a new folder"
# What a row has from its trial, under the same name.
_OF_THE_TRIAL = ("kind", "round", "seed")


def check_campaign(description: Json, rows: Sequence[Json], folder: str) -> None:
    """Refuse files of a campaign that do not belong together.

    Parameters
    ----------
    description
        campaign.json.
    rows
        One a line of rows.jsonl, in order.
    folder
        Name for messages.

    Raises
    ------
    BadInputError
        campaign.json lacks a part, or a row is of another version, of no trial of the campaign, or changed.
    """
    trials = _trials(description, folder)
    for number, row in enumerate(rows, start=1):
        fault = _row_fault(row, trials)
        if fault is not None:
            raise BadInputError(f"{folder!r}, rows.jsonl, line {number}: {fault}; {_REPAIR}")


def _trials(description: Json, folder: str) -> dict[str, Json]:
    """Trials of campaign.json by their names."""
    kinds: dict[str, type] = {"ids": list, "quick": bool, "seed": int, "trials": list, "figures": dict}
    for key, kind in kinds.items():
        if not isinstance(description.get(key), kind):
            raise BadInputError(f"{folder!r}, campaign.json: {key} is {shown(description.get(key))}; {_REPAIR}")
    trials: dict[str, Json] = {}
    for trial in description["trials"]:
        if not isinstance(trial, dict) or not isinstance(trial.get("trial"), str):
            raise BadInputError(f"{folder!r}, campaign.json: {shown(trial)} is no trial; {_REPAIR}")
        trials[trial["trial"]] = trial
    for name, of_figure in description["figures"].items():
        unknown = [each for each in _strings(of_figure) if each not in trials]
        if unknown or not isinstance(of_figure, list):
            of = unknown[0] if unknown else of_figure
            raise BadInputError(f"{folder!r}, campaign.json: figure {name!r} names {shown(of)}, no trial; {_REPAIR}")
    return trials


def _strings(value: Any) -> list[Any]:
    """Entries of a list, those that are no text as text, so that they can be looked up."""
    return [each if isinstance(each, str) else str(each) for each in value] if isinstance(value, list) else []


def _row_fault(row: Json, trials: dict[str, Json]) -> str | None:
    name = row["trial"]
    if row.get("version") != ROW_VERSION:
        return f"its version is {shown(row.get('version'))}, this Armor reads {ROW_VERSION}"
    if not isinstance(name, str) or name not in trials:
        return f"{shown(name)} is no trial of this campaign"
    if row["status"] not in (OK, FAILED):
        return f"status is {shown(row['status'])}, neither {OK!r} nor {FAILED!r}"
    if "parameters" in row and row["parameters"] != trials[name].get("parameters"):
        return f"its parameters are not those of trial {name!r}"
    for key in _OF_THE_TRIAL:
        if row.get(key) != trials[name].get(key):
            return f"{key} is {shown(row.get(key))}, and that of trial {name!r} is {shown(trials[name].get(key))}"
    return None
