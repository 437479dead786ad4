"""Rows of results as CSV and Parquet: what is read back is what the folder has."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from experiments.cli.main import main
from experiments.report.folders import read_folder
from experiments.report.table_file import write_rows
from mininet_topos.errors import BadInputError, MissingRequirementError

pd = pytest.importorskip("pandas")
REFERENCE = Path(__file__).resolve().parents[2] / "reference_results" / "sd-fast"


@pytest.fixture(scope="module")
def rows():
    return read_folder(REFERENCE).rows


def test_a_csv_file_has_every_row_with_values_and_lists(rows, tmp_path, capsys):
    file = tmp_path / "rows.csv"
    assert main(["report", str(REFERENCE), "--rows", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(file), "rows": len(rows)}
    with file.open(newline="", encoding="utf-8") as stream:
        found = list(csv.DictReader(stream))
    assert [row["trial"] for row in found] == [row["trial"] for row in rows]
    assert [json.loads(row["links"]) for row in found] == [row["links"] for row in rows]
    assert [row["variant"] for row in found] == [row["variant"] for row in rows]


def test_a_parquet_file_has_the_same(rows, tmp_path):
    file = tmp_path / "rows.parquet"
    assert main(["report", str(REFERENCE), "--rows", str(file)]) == 0
    found = pd.read_parquet(file)
    assert list(found["trial"]) == [row["trial"] for row in rows]


MIXED = [
    {"value": 3, "flag": True, "links": [["s1", "s2"]], "share": 1, "note": "a"},
    {"value": "undecided", "flag": None, "links": [], "share": 0.5},
    {"flag": False, "share": None, "note": "b"},
]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_texts_and_numbers_and_of_missing_values_are_written(suffix, tmp_path):
    file = tmp_path / f"rows{suffix}"
    write_rows(MIXED, file)
    found = pd.read_parquet(file) if suffix == ".parquet" else pd.read_csv(file)
    values = found.astype(object).where(found.notna(), None)
    assert list(values["value"]) == ["3", "undecided", None]
    assert list(values["flag"]) == [True, None, False]
    assert list(values["links"]) == ['[["s1", "s2"]]', "[]", None]
    assert list(values["share"]) == [1.0, 0.5, None]
    assert list(values["note"]) == ["a", None, "b"]


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        MissingRequirementError, match=r"Parquet needs pyarrow; install it: pip install 'armor-sdn\[parq"
    ):
        write_rows(MIXED, tmp_path / "rows.parquet")


def test_a_file_that_cannot_be_written_is_named_with_its_option(tmp_path, capsys):
    assert main(["report", str(REFERENCE), "--rows", str(tmp_path / "a" / "\0.csv")]) == 2
    assert "--rows" in capsys.readouterr().err


def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path, capsys):
    with pytest.raises(BadInputError, match=r"neither \.csv nor \.parquet"):
        write_rows([], tmp_path / "rows.xlsx")
    assert main(["report", str(REFERENCE), str(REFERENCE), "--rows", str(tmp_path / "x.csv")]) == 2
    assert main(["report", str(REFERENCE), "--rows", str(tmp_path / "x.csv"), "--into", "README.md"]) == 2
    assert "one folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
