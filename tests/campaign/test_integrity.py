"""Files of a campaign that were truncated, edited or mixed: named by file and line, and nothing is overwritten."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.integrity import check_campaign
from experiments.cli.main import main
from machine.environment import REPOSITORY
from mininet_topos.errors import BadInputError

TRIAL = {"trial": "a/r1", "kind": "mixed", "round": 1, "seed": 7, "links": []}
DESCRIPTION = {"ids": ["f"], "quick": False, "seed": 7, "trials": [TRIAL], "figures": {"f": ["a/r1"]}}
ROW = {"version": 1, "trial": "a/r1", "status": "ok", "error": None, "kind": "mixed", "round": 1, "seed": 7}
REFERENCE = REPOSITORY / "reference_results/sd-fast"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "its version is '2', this Armor reads 1"),
        ({"trial": "b/r1"}, "'b/r1' is no trial of this campaign"),
        ({"trial": ["a/r1"]}, "is no trial of this campaign"),
        ({"status": "good"}, "status is 'good'"),
        ({"round": "1"}, "round is '1', and that of trial 'a/r1' is '1'"),
        ({"seed": 8}, "seed is '8', and that of trial 'a/r1' is '7'"),
        ({"parameters": {"probe_ms": 2.0}}, "its parameters are not those of trial 'a/r1'"),
    ],
)
def test_a_row_that_does_not_belong_is_named_by_its_line(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError) as caught:
        check_campaign(DESCRIPTION, [ROW, {**ROW, **change}], "folder")
    assert str(caught.value).startswith("'folder', rows.jsonl, line 2: ")
    assert words in str(caught.value)


def complaint(description: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Where the complaint is; empty when there is none."""
    try:
        check_campaign(description, rows, "folder")
    except BadInputError as error:
        return str(error).partition(":")[0]
    return ""


@pytest.mark.parametrize("key", sorted(DESCRIPTION))
@given(value=json_values)
def test_any_other_description_is_taken_or_refused_by_its_key(key: str, value: Any) -> None:
    assert complaint({**copy.deepcopy(DESCRIPTION), key: value}, []) in ("", "'folder', campaign.json")


@given(key=st.sampled_from(sorted(ROW)), value=json_values)
def test_any_other_row_is_taken_or_refused(key: str, value: Any) -> None:
    assert complaint(DESCRIPTION, [{**ROW, key: value}]) in ("", "'folder', rows.jsonl, line 1")


def edited(tmp_path: Path, change: Any) -> Path:
    """The reference campaign with one row changed, and a figure that stands there already."""
    from experiments.campaign.act.store import Store

    rows = Store.open(REFERENCE).rows()
    change(rows)
    folder = tmp_path / "edited"
    folder.mkdir()
    for name in ("campaign.json", "calibration.json", "environment.json"):
        (folder / name).write_bytes((REFERENCE / name).read_bytes())
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "sdfast-fig8").mkdir()
    (folder / "sdfast-fig8" / "verdict.json").write_text("{}", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_edited_values_are_refused_by_the_id_and_leave_the_old_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["backtracking_ms"], row["stages_ms"] = "much", "many"

    folder = edited(tmp_path, change)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert main(["reproduce", "--redraw", str(folder)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "cannot be judged" in said.err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.slow
def test_a_value_that_is_no_number_is_refused_by_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        rows[4]["seconds"] = float("nan")

    assert main(["reproduce", "--redraw", str(edited(tmp_path, change))]) == 2
    assert "line 5, is no JSON (NaN is no number)" in capsys.readouterr().err
