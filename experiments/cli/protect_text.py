"""What 1+1 protection's commands say to people."""

from __future__ import annotations

from typing import Any

from experiments.terminal.output import table
from mininet_topos.wording import counted

_MEANINGS = {
    "cases": "a protected flow, and failed links that hit one of its tunnels",
    "delivered": "every packet exactly once",
    "disconnected": "nothing arrives, since a connection has no tunnel left",
    "dropped": "though each connection has a tunnel left",
    "duplicated": "a packet arrives twice, or not as it was",
    "looped": "",
    "broken": "cases that break the promise",
}


def protection_text(value: dict[str, Any]) -> str:
    """The result of `armor verify protect`."""
    links = f"{counted(value['failures'], 'failed link')} at once"
    rows = [(name, f"{value[name]:,}", meaning) for name, meaning in _MEANINGS.items()]
    lines = [f"protect on {value['topology']}: {value['flows']:,} protected flows, {links}", ""]
    lines += [f"  {line}" for line in table(rows, right=(1,)).splitlines()]
    lines += ["", f"  {value['seconds']:.2f} s, {value['cases_per_s'] or 0:,.0f} cases a second"]
    lines += [f"  BROKEN: {example}" for example in value["examples"]]
    lines.append("  the promise holds" if value["holds"] else "  THE PROMISE IS BROKEN")
    return "\n".join(lines)
