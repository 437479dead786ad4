"""`armor compare`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from experiments.cli.compare import FILES
from experiments.cli.main import main
from experiments.comparison.decide.pasted import BEGIN
from experiments.comparison.decide.row import Row
from tests.plan.test_own_scheme import armor, example  # noqa: F401 - a fixture
from tests.quality.layers import ROOT

PROMISED = {
    "scheme", "mode", "failures", "stage", "cases", "delivered", "looped", "dropped", "micro_loops", "first_stretch",
    "mean_stretch", "longest_crankback", "flows_most", "groups_most", "header_bits",
}  # fmt: skip
MORE = {"parted", "flows_mean", "groups_mean", "needs"}


def compare(*words: str) -> int:
    return main(["compare", *words])


def test_json_has_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("sdfast", "cbc", "square", "--failures", "2,1", "--json") == 0
    value = json.loads(capsys.readouterr().out)
    assert value["measured"] == []
    assert {frozenset(row) for row in value["rows"]} == {frozenset(PROMISED | MORE)} == {frozenset(Row.__slots__)}
    found = [(row["scheme"], row["mode"], row["failures"], row["stage"]) for row in value["rows"]]
    modes = [("sdfast", "learned"), ("sdfast", "agent")]
    sdfast = [(*mode, count, stage) for mode in modes for count in (2, 1) for stage in ("first", "settled")]
    cbc = [("cbc", "none", count, stage) for count in (2, 1) for stage in ("first", "updating", "settled")]
    assert found == sdfast + cbc


def test_a_folder_gets_table_page_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "comparison"
    assert compare("ffg", "ffg_restoration", "figure2", "--out", str(folder)) == 0
    assert {path.name for path in folder.iterdir()} == set(FILES)
    value = json.loads((folder / "compare.json").read_text())
    with (folder / "compare.csv").open() as file:
        assert [row["scheme"] for row in csv.DictReader(file)] == [row["scheme"] for row in value["rows"]]
    page = (folder / "compare.html").read_text(encoding="utf-8")
    assert re.findall(r"""(?:src|href)=(?!"data:|"#).{0,60}|url\(|@import|https?:|<script""", page) == []
    assert "ffg_restoration" in page
    assert (folder / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert "ffg_restoration" in capsys.readouterr().out


def test_the_same_seed_draws_the_same_cases(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("ffg", "darkstrand", "--failures", "3", "--sample", "20", "--json", "--seed")
    found = []
    for seed in ("7", "7", "8"):
        assert compare(*words, seed) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1] != found[2]


def test_a_scheme_of_an_installed_package_has_a_line(example: dict[str, str]) -> None:  # noqa: F811
    found = armor(example, "compare", "shortest", "two_trees", "square", "--json")
    assert found.returncode == 0, found.stderr
    rows = json.loads(found.stdout)["rows"]
    assert {(row["scheme"], row["header_bits"]) for row in rows} == {("shortest", 0), ("two_trees", 1)}
    assert '"two_trees"' in armor(example, "compare", "square", "--json").stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("sdfast", "square", "--failures", "1,1"), "name each number once"),
        (("sdfast", "square", "--failures", "0"), "whole number of at least 1"),
        (("sdfast", "square", "--failures", "1,"), "whole number of at least 1"),
        (("sdfast", "square", "--failures", "9"), "has 4 links"),
        (("sqr", "square"), "armor verify sqr"),
        (("kuijia", "square"), "needs tunnels"),
        (("square", "--hard-timeout-s", "3"), "changes no case"),
        (("sdfast", "cb"), "cb"),
        (("ffg", "square", "--into", "nowhere.md"), "page 'nowhere.md' cannot be read"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(*words) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert len(said.splitlines()) == 1


def test_the_table_of_the_manual_is_what_its_command_gives(tmp_path: Path) -> None:
    manual = (ROOT / "docs" / "schemes.md").read_text(encoding="utf-8")
    (words,) = re.findall(rf"^{re.escape(BEGIN)} (.*) -->$", manual, re.MULTILINE)
    copy = tmp_path / "schemes.md"
    copy.write_text(manual, encoding="utf-8")
    assert compare(*words.split(), "--into", str(copy), "--out", str(tmp_path / "files")) == 0
    assert copy.read_text(encoding="utf-8") == manual
