"""JSON Schemas of scenario, topology and PMT files for editors: `python -m docs.make_schemas` writes docs/schemas.

They are made from the tables of the readers and know keys, words and forms of values. What a reader also checks (that a
link exists, that a repair follows its failure) is beyond them, so a file that fits its schema may still be refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from experiments.scenario.failures import failure_kinds
from experiments.scenario.keys import Key
from experiments.scenario.parse import KEYS
from experiments.scenario.stream import INTERVAL_MS
from experiments.scenario.traffic import KEYS_OF_ALL, traffic_kinds
from mininet_topos.importers import json_file
from ryu_apps.plan.choices import MODES, NOTIFICATIONS
from ryu_apps.plan.scheme_names import scheme_names
from ryu_apps.pmt import parse as pmt
from ryu_apps.pmt.fields import PMT_FIELDS
from ryu_apps.pmt.rules import Carried, DataDscp, TrafficType
from ryu_apps.pmt.scheduling import SchedulerKind
from te_solver.choices import METRICS, PLANNERS, ROUTES

Schema = dict[str, Any]
FOLDER = Path(__file__).with_name("schemas")
_UNITS = ("_ms", "_s", "_mbps", "_pps", "_bytes")
_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": ["number", "null"]}
_WHOLE: Schema = {"type": ["integer", "null"], "minimum": 0}
_LIST: Schema = {"type": ["array", "null"]}


def entry(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def words(choices: Iterable[str]) -> Schema:
    """One of a few words; YAML 1.1, which some editors read, takes a bare `off` for false."""
    listed = list(choices)
    return {"enum": [*listed, *([False] if "off" in listed else []), None]}


def value_of(name: str) -> Schema:
    """What the value of a key may be, as far as its name tells: one with a unit is a number."""
    return _NUMBER if name.endswith(_UNITS) else {}


def kinds(table: Mapping[str, tuple[Key, ...]], common: Iterable[str], required: Iterable[str]) -> Schema:
    """An entry of a list whose keys depend on its `kind`."""
    shared = ["kind", *common]
    names = dict.fromkeys([*shared, *(key.name for keys in table.values() for key in keys)])
    schema = entry({name: value_of(name) for name in names} | {"kind": words(table)}, required)
    schema["allOf"] = [
        {
            "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
            "then": {"propertyNames": {"enum": list(dict.fromkeys([*shared, *(key.name for key in keys)]))}},
        }
        for kind, keys in table.items()
    ]
    return schema


def scenario_schema() -> Schema:
    """Schema of scenario files."""
    scheme = {"type": "string", "examples": list(scheme_names())}
    failures = {name: kind.keys for name, kind in failure_kinds().items()}
    traffic = {name: kind.keys for name, kind in traffic_kinds().items()}
    of_all = (*(key.name for key in KEYS_OF_ALL), INTERVAL_MS.name)
    known = {
        "scheme": scheme,
        "schemes": {"type": "array", "items": scheme, "minItems": 1},
        "mode": words(MODES),
        "modes": {"type": "array", "items": words(MODES), "minItems": 1},
        "planner": words(PLANNERS),
        "routes": words(ROUTES),
        "metric": words(METRICS),
        "notification": words(NOTIFICATIONS),
        "max_failures": _WHOLE,
        "seed": _WHOLE,
        "link_delays": {"type": ["boolean", "null"]},
        "failures": _LIST | {"items": kinds(failures, (), ("at_s",))},
        "traffic": _LIST | {"items": kinds(traffic, of_all, ("from", "to"))},
        "controls": _LIST,
    }
    schema = entry({name: known.get(name, value_of(name)) for name in KEYS}, ("topology",))
    return schema | {"oneOf": [{"required": ["scheme"]}, {"required": ["schemes"]}]}


def topology_schema() -> Schema:
    """Schema of topology files in JSON."""
    whole = ("key", "port_no", json_file.REVERSE + "port_no")
    name = _TEXT | {
        "pattern": f"^({json_file.NODE_NAME.pattern})?$",
        "not": {"pattern": f"^{json_file.TAKEN_NAME.pattern}$"},
    }
    node = dict.fromkeys(json_file.NODE_KEYS, _NUMBER) | {"name": name, "label": _TEXT}
    link = {key: _WHOLE if key in whole else _NUMBER for key in json_file.LINK_KEYS} | {"src": _TEXT, "dst": _TEXT}
    lists = {"nodes": entry(node), "links": entry(link, ("src", "dst"))}
    values = {key: {"type": "array", "items": item} for key, item in lists.items()} | {"name": _TEXT}
    return entry({key: values[key] for key in json_file.TOP_KEYS}, ("nodes", "links"))


def pmt_schema() -> Schema:
    """Schema of Policy Map Tables."""
    fields: dict[str, Schema] = {name: {"type": ["integer", "string"]} for name in PMT_FIELDS}
    types = [written for each in TrafficType for written in (int(each), str(int(each)))]
    action = _TEXT | {"pattern": "^(dscp:copy|dscp:CS[0-7]|queue_id:[0-9]{1,5})$"}
    rule = entry(fields | {"traffic_type": {"enum": types}, "action": action}, ("traffic_type", "action"))
    values = {
        "version": {"enum": [pmt.VERSION, str(pmt.VERSION)]},
        "data_dscp": {"enum": [each.value for each in DataDscp]},
        "scheduler": {"enum": [each.value for each in SchedulerKind]},
        "shares": {"type": "object", "additionalProperties": {"type": ["number", "string"]}},
        "by_class": {"type": "array", "items": {"enum": [each.value for each in Carried]}},
        "rules": {"type": "array", "items": rule, "maxItems": pmt.MAX_RULES},
    }
    return entry({key: values[key] for key in pmt.TABLE_KEYS}) | {"type": ["object", "null"]}


SCHEMAS: dict[str, Callable[[], Schema]] = {
    "scenario": scenario_schema,
    "topology": topology_schema,
    "pmt": pmt_schema,
}


def text_of(name: str) -> str:
    """Text of a schema's file."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"Armor: {name} file"}
    return json.dumps(head | SCHEMAS[name](), indent=1) + "\n"


if __name__ == "__main__":
    for each in SCHEMAS:
        (FOLDER / f"{each}.json").write_text(text_of(each), encoding="utf-8")
