"""Folders of tortures and drills: a section of the page, and a line of a table."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from experiments.cli.main import main
from experiments.report.build import report_page
from experiments.report.folders import RoundsFolder, read_folder
from experiments.report.markdown import END, ROUNDS, filled
from experiments.report.render import to_html
from experiments.report.rounds_section import rounds_line
from experiments.testbed.runs.folder import ResultFolder
from mininet_topos.errors import BadInputError

ROOT = Path(__file__).resolve().parents[2]
FAULTS = [{"at_s": 1.0, "kind": "silent", "target": "s1-s2", "for_s": 2.0}]
VIOLATION = {"what": "s3 lacks 2 rows", "at_s": 61.0, "round": 2, "replayed": True, "faults": FAULTS}
SHARED = {"run": "sdfast-agent", "topology": "usnet", "seed": 5, "rounds": 2, "minutes": 1.5, "folder": "x"}
TORTURE = {
    **SHARED,
    "faults": 2,
    "recoveries": 1,
    "longest_calm_s": 7.5,
    "violations": [VIOLATION],
    "acknowledged_rows": 900,
    "lost_rows": 0,
}
OUTCOMES = {
    "failures": 2,
    "not_counted": 3,
    "within_bound_percent": 50.0,
    "bound_ms": 350.0,
    "recovered_ms": {"median": 300.0, "p99": 400.0, "max": 401.0},
    "lost_requests": {"median": 60.0, "p99": 80.0, "max": 81.0},
}
LINKS = {**SHARED, "what": "links", **OUTCOMES, "violations": ["round 2: s3 lacks 2 rows"]}


def folder(path: Path, verdict: dict[str, object], outcome: dict[str, object]) -> Path:
    """What the command leaves after two rounds, of which the second is violated."""
    made = ResultFolder(path)
    command = ["armor", "torture", "usnet", "--json", "--out", "/somewhere"]
    made.write_environment({"command": command, "commit": "a" * 40, "started": "2026-11-25T05:26:46+0000"})
    for number in (1, 2):
        violations = [] if number == 1 else ["s3 lacks 2 rows"]
        made.add_round({"round": number, "at_s": 30.0 * number, **outcome, "violations": violations})
    made.write_verdict(verdict)
    return path


@pytest.fixture
def torture(tmp_path: Path) -> Path:
    return folder(tmp_path / "torture", TORTURE, {"calm_s": 4.0, "faults": FAULTS})


@pytest.fixture
def links(tmp_path: Path) -> Path:
    return folder(tmp_path / "links", LINKS, {"recovered_ms": 300.0, "lost": 60})


def test_a_page_says_how_often_what_broke_and_what_did_not_hold(torture: Path, links: Path) -> None:
    html = to_html(report_page([torture, links]))
    for said in ("2 rounds in 1.5 minutes, 1 violation", "s3 lacks 2 rows", "silent s1-s2 at 1 s", "data:image/png"):
        assert html.count(said) >= 2 or said.startswith("silent")
    assert "shortest prefix that brings it again: silent s1-s2" in html
    assert "Drill links links" in html


def test_rows_may_be_packed(torture: Path) -> None:
    before = read_folder(torture)
    rows = torture / "rows.jsonl"
    (torture / "rows.jsonl.gz").write_bytes(gzip.compress(rows.read_bytes()))
    rows.unlink()
    assert read_folder(torture) == before


def test_a_line_names_the_command_without_the_folder(torture: Path, links: Path) -> None:
    lines = []
    for path in (torture, links):
        found = read_folder(path)
        assert isinstance(found, RoundsFolder)
        lines.append(rounds_line(found))
    assert lines[0][:6] == ("`armor torture usnet`", "aaaaaaa", "2", "1.5", "2", "1")
    assert lines[0][6] == "1 recoveries, the longest after 7.5 s; 0 of 900 acknowledged rows lost"
    failures = "2 failures (besides 3 while the machine stood still)"
    assert lines[1][6].startswith(f"50 % of {failures} within 350 ms; recovered after 300 ms (p99 400, most 401)")


def test_a_page_gets_a_line_for_each_folder(torture: Path, links: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{ROUNDS}\nold\n{END}\nafter\n", encoding="utf-8")
    assert main(["report", str(torture), str(links), "--into", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.count("| `armor torture usnet` |") == 2
    assert filled(text, [torture, links]) == text


def test_the_table_of_the_manual_is_made_from_the_kept_runs() -> None:
    page = (ROOT / "docs" / "torture.md").read_text(encoding="utf-8")
    assert filled(page, sorted((ROOT / "reference_results" / "torture").iterdir())) == page


def test_tortures_and_campaigns_share_no_table(torture: Path) -> None:
    campaign = ROOT / "reference_results" / "sd-fast"
    with pytest.raises(BadInputError, match="takes campaigns, or folders of"):
        filled(ROUNDS, [torture, campaign])
