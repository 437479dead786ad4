"""A PMT as one canonical JSON text, as it is kept in OVSDB on each switch, and back."""

from __future__ import annotations

import json

from ryu_apps.pmt.document import MAX_TEXT_BYTES
from ryu_apps.pmt.fields import PMT_FIELDS, show_value
from ryu_apps.pmt.parse import VERSION, parse_pmt
from ryu_apps.pmt.rules import PmtError, PolicyMapTable, Rule
from ryu_apps.pmt.scheduling import SchedulerKind


def to_json(table: PolicyMapTable) -> str:
    """Canonical text: equal tables give equal texts. ASCII, no spaces, so that it fits an OVSDB string.

    Raises
    ------
    PmtError
        Longer than 65,536 bytes.
    """
    document: dict[str, object] = {"version": VERSION, "rules": [_rule(rule) for rule in table.rules]}
    if table.data_dscp is not None:
        document["data_dscp"] = table.data_dscp.value
    if table.scheduler.kind is not SchedulerKind.STRICT:
        document["scheduler"] = table.scheduler.kind.value
    if table.scheduler.shares:
        document["shares"] = dict(table.scheduler.shares)
    if table.by_class:
        document["by_class"] = _by_class(table)
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    if len(text) > MAX_TEXT_BYTES:
        raise PmtError(f"this PMT takes {len(text)} bytes, more than {MAX_TEXT_BYTES}; merge rules")
    return text


def from_json(text: str, source: str = "pmt") -> PolicyMapTable:
    """Read what `to_json` wrote; checked like a file.

    Raises
    ------
    PmtError
        Not a PMT.
    """
    return parse_pmt(text, source)


def _by_class(table: PolicyMapTable) -> list[str]:
    return sorted(each.value for each in table.by_class)


def _rule(rule: Rule) -> dict[str, object]:
    fields = {name: show_value(PMT_FIELDS[name], value, mask) for name, value, mask in rule.match}
    return {"traffic_type": int(rule.traffic_type), "action": str(rule.action), **fields}


def show(table: PolicyMapTable) -> str:
    """A table as YAML for people, one rule a line; `parse_pmt` reads it back to an equal table."""
    lines = [] if table.data_dscp is None else [f"data_dscp: {table.data_dscp.value}"]
    if table.scheduler.kind is not SchedulerKind.STRICT:
        lines.append(f"scheduler: {table.scheduler.kind.value}")
    if table.scheduler.shares:
        shares = (f'"{name}": {int(share) if share.is_integer() else share}' for name, share in table.scheduler.shares)
        lines.append(f"shares: {{{', '.join(shares)}}}")
    if table.by_class:
        lines.append(f"by_class: [{', '.join(_by_class(table))}]")
    lines.append("rules:" if table.rules else "rules: []")
    for rule in table.rules:
        words = _rule(rule)
        order = ["traffic_type", *(name for name in words if name in PMT_FIELDS), "action"]
        # Quotes keep YAML's flow syntax away from colons.
        shown = (f'{name}: "{words[name]}"' if ":" in str(words[name]) else f"{name}: {words[name]}" for name in order)
        lines.append(f"  - {{{', '.join(shown)}}}")
    return "\n".join(lines) + "\n"
