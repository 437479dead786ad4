"""What `armor verify` says to people about schemes that buffer packets."""

from __future__ import annotations

from typing import Any

from experiments.terminal.output import indented, table
from mininet_topos.wording import counted
from ryu_apps.plan.choices import mode_words

_MEANINGS = {
    "cases": "an ordered pair, and failed links that hit its primary path; a packet leaves in every tick",
    "delivered": "no packet is lost",
    "disconnected": "nothing joins the pair any more",
    "dropped": "packets are lost though the pair is still joined",
    "looped": "",
    "reordered_cases": "a packet is reordered: its first copy comes after that of a later one",
    "promised": "cases that the scheme promises to deliver: ",
    "broken": "cases that break the promise",
    "crankback_cases": "packets backtrack, at most {longest_crankback} links",
}


def buffering_text(value: dict[str, Any], promise: str) -> str:
    """The result of a verification with buffered packets, and what the scheme promises in words."""
    links = f"{counted(value['failures'], 'failed link')} at once"
    meanings = _MEANINGS | {"promised": _MEANINGS["promised"] + promise}
    rows = [(name.replace("_", " "), f"{value[name]:,}", meaning.format(**value)) for name, meaning in meanings.items()]
    packets = f"packets marked by {value['marked']}" if value["marked"] else "packets"
    lines = [
        f"{value['scheme']} on {value['topology']}{mode_words(value['mode'])}, every link keeps {packets}: {links}",
        "",
    ]
    lines += [indented(table(rows, right=(1,)))]
    lines += [
        "",
        f"  of {value['sent']:,} packets of pairs that stay joined {value['lost']:,} are lost, "
        f"{value['duplicated']:,} come again and {value['reordered']:,} are reordered",
        *_unmarked_lines(value),
        f"  {value['seconds']:.2f} s, {value['cases_per_s'] or 0:,.0f} cases a second",
    ]
    lines += [f"  BROKEN: {example}" for example in value["examples"]]
    lines.append("  the promise holds" if value["holds"] else "  THE PROMISE IS BROKEN")
    return "\n".join(lines)


def _unmarked_lines(value: dict[str, Any]) -> list[str]:
    if not value["marked"]:
        return []
    lost = f"{value['unmarked_lost']:,} are lost, as they may be"
    return [f"  of {value['unmarked_sent']:,} packets without a mark {lost}"]
