"""Results that are kept: all that judging and drawing needs, nothing of this machine, and no older results lost."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from scripts.keep_results import main

ROWS = '{"round": 1}\n{"round": 2}\n'


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    texts = {
        "rows.jsonl": ROWS,
        "environment.json": json.dumps({"command": ["armor", "torture", "--out", str(folder)], "cores": 2}),
        "campaign.json": "{}",
        "verdict.json": json.dumps({"folder": str(folder)}),
        "events.jsonl": "{}\n",
        "fig-1/verdict.json": '{"claims": []}',
        "fig-1/figure.png": "PNG",
        "fig-1/figure.svg": "SVG",
        "logs/s1/ovs-vswitchd.log": "started",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_rows_verdicts_and_pictures_are_kept_and_the_place_is_not(results: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept" / "paper"
    assert main([str(results), str(kept)]) == 0
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()) == [
        "campaign.json",
        "environment.json",
        "fig-1/figure.png",
        "fig-1/verdict.json",
        "rows.jsonl.gz",
        "verdict.json",
    ]
    assert gzip.decompress((kept / "rows.jsonl.gz").read_bytes()).decode() == ROWS
    facts = json.loads((kept / "environment.json").read_text(encoding="utf-8"))
    assert facts == {"command": ["armor", "torture", "--out", "mine"], "cores": 2}
    assert json.loads((kept / "verdict.json").read_text(encoding="utf-8")) == {"folder": "mine"}


def test_nothing_that_is_kept_already_is_written_over(results: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    assert main([str(results), str(kept)]) == 2
    assert list(kept.iterdir()) == []


@pytest.mark.parametrize("lacking", ["rows.jsonl", "environment.json"])
def test_a_folder_without_rows_or_environment_is_refused(
    results: Path, lacking: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (results / lacking).unlink()
    assert main([str(results), str(tmp_path / "kept")]) == 2
    assert lacking in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()
