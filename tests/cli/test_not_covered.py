"""`armor plan` of a scheme whose switches may hold no repair: for which of their links, and for packets to whom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.cli.main import main

BRIDGE = {
    "nodes": [{}, {}, {}, {}],
    "links": [{"src": a, "dst": b} for a, b in (("s1", "s2"), ("s2", "s3"), ("s3", "s1"), ("s3", "s4"))],
}


def test_links_without_a_repair_are_named_by_switch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bridge.json"
    path.write_text(json.dumps(BRIDGE), encoding="utf-8")
    assert main(["plan", "ti_lfa", str(path), "--switch", "s3"]) == 0
    assert "# Not covered: packets at s3 to s4, when s3-s4 fails" in capsys.readouterr().out
    assert main(["plan", "ti_lfa", str(path), "--json"]) == 0
    missing = json.loads(capsys.readouterr().out)["not_covered"]
    assert {(each["switch"], each["link"]) for each in missing} == {("s3", "s3-s4"), ("s4", "s3-s4")}
