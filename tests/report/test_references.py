"""Every campaign that is kept is judged today as it was when it was measured, and can be drawn again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.campaign.act.store import Store
from experiments.campaign.integrity import check_campaign
from experiments.cli.main import main

REFERENCES = Path(__file__).resolve().parents[2] / "reference_results"
CAMPAIGNS = sorted(path.parent.name for path in REFERENCES.glob("*/campaign.json"))


def claims_of(folder: Path) -> dict[str, object]:
    """The claims of each id, as judged."""
    return {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))["claims"]
        for path in folder.glob("*/verdict.json")
    }


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_rows_and_description_of_a_kept_campaign_belong_together(name: str) -> None:
    store = Store.open(REFERENCES / name)
    check_campaign(store.description, store.rows(), "reference")


@pytest.mark.slow
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_kept_campaign_is_judged_and_drawn_again(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "--redraw", str(REFERENCES / name), "--out", str(tmp_path / "redrawn"), "--json"]) == 0
    assert capsys.readouterr().out
    assert claims_of(tmp_path / "redrawn") == claims_of(REFERENCES / name)
    assert all((tmp_path / "redrawn" / each / "figure.png").stat().st_size for each in claims_of(REFERENCES / name))
