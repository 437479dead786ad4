"""What `armor plan` and `armor verify` say of links that a switch holds no repair for, and of packets to whom."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.cli.main import main
from experiments.cli.not_covered import not_covered_json, not_covered_lines
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import find_scheme
from tests.verify.networks import topology_of

BRIDGE = {
    "nodes": [{}, {}, {}, {}],
    "links": [{"src": a, "dst": b} for a, b in (("s1", "s2"), ("s2", "s3"), ("s3", "s1"), ("s3", "s4"))],
}


EVERY = {("s3", "s3-s4"), ("s4", "s3-s4")}


def test_links_without_a_repair_are_named_by_switch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bridge.json"
    path.write_text(json.dumps(BRIDGE), encoding="utf-8")
    assert main(["plan", "ti_lfa", str(path), "--switch", "s3"]) == 0
    assert "# Not covered: packets at s3 to s4, when s3-s4 fails (a bridge: no path is left)" in capsys.readouterr().out
    assert main(["plan", "ti_lfa", str(path), "--json"]) == 0
    missing = json.loads(capsys.readouterr().out)["not_covered"]
    assert {(each["switch"], each["link"]) for each in missing} == EVERY


def test_verify_names_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bridge.json"
    path.write_text(json.dumps(BRIDGE), encoding="utf-8")
    assert main(["verify", "ti_lfa", str(path), "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert "Not covered: packets at s3 to s4, when s3-s4 fails" in said
    assert "Not covered: packets at s4 to s1, s2, s3, when s3-s4 fails" in said
    assert main(["verify", "ti_lfa", str(path), "--jobs", "1", "--json"]) == 0
    missing = json.loads(capsys.readouterr().out)["not_covered"]
    assert {(each["switch"], each["link"]) for each in missing} == EVERY


def test_a_bridge_is_named_apart_from_a_path_that_the_scheme_cannot_use() -> None:
    topology = topology_of([(1, 2), (2, 3), (3, 1), (3, 4)])
    lost = {("s3", topology.parse_link("s3-s4")): ("s4",), ("s1", topology.parse_link("s1-s2")): ("s2",)}
    scheme = replace(find_scheme("ti_lfa"), not_covered=lambda *_: lost)
    value = not_covered_json(scheme, topology, PlanOptions())
    assert [each["bridge"] for each in value["not_covered"]] == [True, False]
    bridge, ring = not_covered_lines(value)
    assert bridge.endswith("when s3-s4 fails (a bridge: no path is left)")
    assert ring.endswith("when s1-s2 fails (though a path is left)")


@pytest.mark.parametrize("command", ["plan", "verify"])
def test_full_coverage_is_said_in_a_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "ti_lfa", "ring:3"]) == 0
    assert "Not covered: nothing" in capsys.readouterr().out
    assert main([command, "shortest", "ring:3"]) == 0
    assert "Not covered" not in capsys.readouterr().out
