"""Rows of results as CSV and Parquet: what is read back is what the folder has."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from experiments.cli.main import main
from experiments.report.folders import read_folder
from mininet_topos.errors import BadInputError

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
    pytest.importorskip("pyarrow")
    file = tmp_path / "rows.parquet"
    assert main(["report", str(REFERENCE), "--rows", str(file)]) == 0
    found = pd.read_parquet(file)
    assert list(found["trial"]) == [row["trial"] for row in rows]


def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path, capsys):
    from experiments.report.table_file import write_rows

    with pytest.raises(BadInputError, match=r"neither \.csv nor \.parquet"):
        write_rows([], tmp_path / "rows.xlsx")
    assert main(["report", str(REFERENCE), str(REFERENCE), "--rows", str(tmp_path / "x.csv")]) == 2
    assert main(["report", str(REFERENCE), "--rows", str(tmp_path / "x.csv"), "--into", "README.md"]) == 2
    assert "one folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
