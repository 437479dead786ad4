"""PMT text to a table: reads, checks every rule by itself, then the rules together (validate.py)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from yaml.nodes import Node

from mininet_topos.input_files import read_text
from ryu_apps.plan.rows import Match
from ryu_apps.pmt.document import MAX_TEXT_BYTES, Place, place_of, read_choice, read_items, read_mapping, read_nodes
from ryu_apps.pmt.document import read_text as text_of
from ryu_apps.pmt.fields import PMT_FIELDS, read_value
from ryu_apps.pmt.parse_scheduler import read_scheduler
from ryu_apps.pmt.prerequisites import ContradictionError, with_prerequisites
from ryu_apps.pmt.rules import (
    Carried,
    CopyDscp,
    DataDscp,
    PmtAction,
    PolicyMapTable,
    Rule,
    SetDscp,
    ToQueue,
    TrafficType,
)
from ryu_apps.pmt.validate import check_table

VERSION = 1
MAX_RULES = 512
MAX_QUEUE_ID = 65534
TABLE_KEYS = ("version", "data_dscp", "scheduler", "shares", "by_class", "rules")
_RULE_KEYS = ("traffic_type", "action")
_MATCHLESS = {
    TrafficType.CONFIGURATION: "configuration and symmetric messages",
    TrafficType.OTHER: "other OpenFlow messages",
}


def load_pmt(path: str | Path, what: str) -> PolicyMapTable:
    """Policy Map Table of a file; `what` begins the message when it cannot be read.

    Raises
    ------
    BadInputError
        The file cannot be read, or is no PMT.
    """
    return parse_pmt(read_text(path, what, MAX_TEXT_BYTES), str(path))


def parse_pmt(text: str, source: str = "pmt") -> PolicyMapTable:
    """Read a Policy Map Table.

    Parameters
    ----------
    text
        YAML, or the canonical JSON of serial.py.
    source
        Name for errors, such as the file's path.

    Returns
    -------
    Empty (plain OpenFlow) when the text has no rules.

    Raises
    ------
    PmtError
        The sentence names file, line, value and repair.
    """
    root = read_nodes(text, source)
    if root is None:
        return PolicyMapTable()
    keys = read_mapping(root, source, "a PMT")
    for key, (_, place) in keys.items():
        if key not in TABLE_KEYS:
            raise place.error(f"unknown key {key!r}{_hint(key, TABLE_KEYS)}")
    if "version" in keys:
        _read_version(*keys["version"])
    data_dscp = read_choice(*keys["data_dscp"], "data_dscp", DataDscp) if "data_dscp" in keys else None
    items = read_items(keys["rules"][0], source, "rules") if "rules" in keys else []
    if len(items) > MAX_RULES:
        raise place_of(items[MAX_RULES], source).error(f"{len(items)} rules are more than {MAX_RULES}; merge some")
    rules = tuple(_read_rule(item, source) for item in items)
    by_class = _read_by_class(*keys["by_class"]) if "by_class" in keys else frozenset()
    table = PolicyMapTable(rules, data_dscp, by_class=by_class)
    check_table(table, source)
    return replace(table, scheduler=read_scheduler(keys, tuple(table.class_names.values()) if rules else ()))


def _read_by_class(node: Node, place: Place) -> frozenset[Carried]:
    items = read_items(node, place.source, "by_class")
    return frozenset(read_choice(item, place_of(item, place.source), "by_class", Carried) for item in items)


def _read_version(node: Node, place: Place) -> None:
    text = text_of(node, place.source, "version")
    if text != str(VERSION):
        raise place.error(f"version {text!r} is not known; this Armor reads version {VERSION}")


def _read_rule(node: Node, source: str) -> Rule:
    keys = read_mapping(node, source, "a rule")
    here = place_of(node, source)
    for key in _RULE_KEYS:
        if key not in keys:
            raise here.error(f"a rule lacks {key}; write for example traffic_type: 2, action: queue_id:1")
    traffic_type = _read_traffic_type(*keys["traffic_type"])
    action = _read_action(*keys["action"], traffic_type)
    match = _read_match({key: value for key, value in keys.items() if key not in _RULE_KEYS}, traffic_type, here)
    return Rule(traffic_type, match, action, here.line)


def _read_traffic_type(node: Node, place: Place) -> TrafficType:
    text = text_of(node, place.source, "traffic_type")
    known = {str(int(each)): each for each in TrafficType}
    if text not in known:
        raise place.error(f"traffic_type: {text} is not known; write 1 to 4 (docs/pmt.md says what they are)")
    return known[text]


def _read_action(node: Node, place: Place, traffic_type: TrafficType) -> PmtAction:
    text = text_of(node, place.source, "action")
    action = _action(text)
    if action is None:
        raise place.error(
            f"action: {text} is not known; write queue_id:N (0 to {MAX_QUEUE_ID}), dscp:CS0 to dscp:CS7 or dscp:copy"
        )
    if isinstance(action, CopyDscp) and traffic_type is not TrafficType.DATA:
        raise place.error(
            f"action: dscp:copy keeps the mark of a data packet, and traffic type {int(traffic_type)} is no data; "
            "write dscp:CSn"
        )
    return action


def _action(text: str) -> PmtAction | None:
    if text == "dscp:copy":
        return CopyDscp()
    if re.fullmatch(r"dscp:CS[0-7]", text):
        return SetDscp(int(text[-1]))
    found = re.fullmatch(r"queue_id:([0-9]{1,5})", text)
    return ToQueue(int(found[1])) if found and int(found[1]) <= MAX_QUEUE_ID else None


def _read_match(keys: dict[str, tuple[Node, Place]], traffic_type: TrafficType, here: Place) -> Match:
    parts = []
    for name, (node, place) in keys.items():
        field = PMT_FIELDS.get(name)
        if field is None:
            raise place.error(f"unknown field {name!r}{_hint(name, (*PMT_FIELDS, *_RULE_KEYS))}")
        if traffic_type in _MATCHLESS:
            raise place.error(
                f"{name} cannot be matched in traffic type {int(traffic_type)}: {_MATCHLESS[traffic_type]} carry no "
                f"packet; leave {name} out or use traffic_type 2 or 4"
            )
        try:
            parts.append((name, *read_value(field, text_of(node, place.source, name))))
        except ValueError as error:
            raise place.error(f"{name}: {error}") from None
    try:
        return with_prerequisites(tuple(sorted(parts)))
    except ContradictionError as error:
        raise here.error(str(error)) from None


def _hint(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else f"; known: {', '.join(known)}"
