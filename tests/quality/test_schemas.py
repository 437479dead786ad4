"""JSON Schemas for editors: made from the readers' tables, they fit what readers take and refuse misspelt files."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from docs.make_schemas import FOLDER, SCHEMAS, text_of
from experiments.scenario.failures import failure_kinds
from experiments.scenario.traffic import traffic_kinds
from mininet_topos.catalogue import list_topologies, load_topology
from mininet_topos.importers.json_file import to_json
from tests.quality.layers import ROOT

EXAMPLES = ROOT / "examples"
TOPOLOGIES = ("gscale_figure15.json", "kuijia_figure1.json", "pso_line.json", "sqr_ring.json")
SMALLEST = {"topology": "pair", "scheme": "sdfast", "traffic": [{"from": "h1", "to": "h2"}]}
RULE = {"traffic_type": 1, "action": "dscp:CS7"}


def fits(name: str, document: Any) -> bool:
    """Whether a document is valid under the stored schema of its kind."""
    return Draft202012Validator(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))).is_valid(document)


@pytest.mark.parametrize("name", SCHEMAS)
def test_stored_schemas_are_those_of_the_code(name: str) -> None:
    stored = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert stored == text_of(name), "run python -m docs.make_schemas"
    Draft202012Validator.check_schema(json.loads(stored))


def test_every_example_fits_its_schema() -> None:
    files = {"scenario": [*EXAMPLES.glob("*.yaml"), EXAMPLES / "schemes.json"], "pmt": EXAMPLES.glob("pmt/*.yaml")}
    files["topology"] = map(EXAMPLES.joinpath, TOPOLOGIES)
    found = {
        (kind, file.name): fits(kind, yaml.safe_load(file.read_text())) for kind, of in files.items() for file in of
    }
    assert len(found) > 15
    assert [each for each, good in found.items() if not good] == []


def test_every_topology_that_armor_writes_fits() -> None:
    names = [row.name for row in list_topologies() if row.kind != "generator"]
    assert len(names) > 10
    assert [name for name in names if not fits("topology", json.loads(to_json(load_topology(name))))] == []


def first_example(kind: type) -> Any:
    """The entry that the docstring of a kind begins with."""
    found = re.match(r"`({.*?})`", kind.__doc__ or "")
    assert found, kind
    return yaml.safe_load(found[1])


@pytest.mark.parametrize("kind", failure_kinds().values())
def test_every_kind_of_failure_fits_and_its_keys_belong_to_it(kind: type) -> None:
    entry = first_example(kind)
    assert fits("scenario", SMALLEST | {"failures": [entry]})
    assert not fits("scenario", SMALLEST | {"failures": [entry | {"severity": 3}]})
    assert not fits("scenario", SMALLEST | {"failures": [entry | {"at_s": "soon"}]})


@pytest.mark.parametrize("kind", traffic_kinds().values())
def test_every_kind_of_traffic_fits(kind: type) -> None:
    assert fits("scenario", SMALLEST | {"traffic": [first_example(kind)]})


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "red"},
        {"mode": "lerned"},
        {"schemes": ["ffg"]},
        {"seed": "one"},
        {"traffic": [{"from": "h1"}]},
        {"traffic": [{"from": "h1", "to": "h2", "kind": "pong"}]},
        {"failures": [{"link": ["s1", "s2"], "kind": "silent", "at_s": 1, "period_s": 2}]},
        {"failures": [{"link": ["s1", "s2"]}]},
    ],
)
def test_a_wrong_scenario_does_not_fit(change: dict[str, Any]) -> None:
    assert fits("scenario", SMALLEST)
    assert not fits("scenario", SMALLEST | change)


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"nodes": []},
        {"nodes": [{"nme": "s1"}], "links": []},
        {"nodes": [{"name": "h1"}], "links": []},
        {"nodes": [{"name": "s1"}], "links": [{"src": "s1"}]},
        {"nodes": [{"name": "s1"}], "links": [{"src": "s1", "dst": "s2", "delay_ms": "5"}]},
    ],
)
def test_a_wrong_topology_does_not_fit(document: Any) -> None:
    assert not fits("topology", document)


@pytest.mark.parametrize(
    "document",
    [
        {"rule": []},
        {"version": 2},
        {"rules": [{"traffic_type": 1}]},
        {"rules": [RULE | {"traffic_type": 5}]},
        {"rules": [RULE | {"action": "dscp:CS8"}]},
        {"rules": [RULE | {"tcp_port": 80}]},
    ],
)
def test_a_wrong_pmt_does_not_fit(document: Any) -> None:
    assert fits("pmt", {"rules": [RULE]})
    assert not fits("pmt", document)
