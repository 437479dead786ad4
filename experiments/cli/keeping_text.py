"""What `armor verify sqr` and `lossless` say to people."""

from __future__ import annotations

from typing import Any

from experiments.cli.output import indented, table
from mininet_topos.wording import counted

_MEANINGS = {
    "cases": "an ordered pair, and failed links that hit its primary path; a packet leaves in every tick",
    "delivered": "no packet is lost",
    "disconnected": "nothing joins the pair any more",
    "dropped": "packets are lost though the pair is still joined",
    "looped": "",
    "reordered_cases": "a packet is overtaken: its first copy comes after that of a later one",
    "promised": "cases that the scheme promises to deliver: ",
    "broken": "cases that break the promise",
    "crankback_cases": "packets walk back, at most {longest_crankback} links",
}
_PROMISES = {
    "sqr": "one failed link, where the switch beside it has a loop-free alternate; in order",
    "lossless": "up to the planned number of failed links; order is not promised",
}


def keeping_text(value: dict[str, Any]) -> str:
    """The result of a verification with kept packets."""
    mode = "" if value["mode"] == "none" else f", {value['mode']} mode"
    links = f"{counted(value['failures'], 'failed link')} at once"
    meanings = _MEANINGS | {"promised": _MEANINGS["promised"] + _PROMISES[value["scheme"]]}
    rows = [(name.replace("_", " "), f"{value[name]:,}", meaning.format(**value)) for name, meaning in meanings.items()]
    lines = [f"{value['scheme']} on {value['topology']}{mode}, every link keeps packets: {links}", ""]
    lines += [indented(table(rows, right=(1,)))]
    lines += [
        "",
        f"  of {value['sent']:,} packets of pairs that stay joined {value['lost']:,} are lost, "
        f"{value['duplicated']:,} come again and {value['reordered']:,} are overtaken",
        f"  {value['seconds']:.2f} s, {value['cases_per_s'] or 0:,.0f} cases a second",
    ]
    lines += [f"  BROKEN: {example}" for example in value["examples"]]
    lines.append("  the promise holds" if value["holds"] else "  THE PROMISE IS BROKEN")
    return "\n".join(lines)
