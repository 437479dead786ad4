"""What the switches of a scheme hold no repair for, as `armor plan` and `armor verify` say it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mininet_topos.connectivity import bridges

if TYPE_CHECKING:
    from mininet_topos.topology import Topology
    from ryu_apps.plan.options import PlanOptions
    from ryu_apps.plan.scheme import Scheme


def not_covered_json(
    scheme: Scheme, topology: Topology, options: PlanOptions, switches: Collection[str] = ()
) -> dict[str, Any]:
    """Key `not_covered`: destinations by switch and failed link; no key when the scheme does not say it.

    `bridge` tells the two causes apart: no path is left, or there is one that the scheme cannot use.

    Parameters
    ----------
    switches
        Only these; none: all.
    """
    if scheme.not_covered is None:
        return {}
    cut = set(bridges(topology))
    found = [
        {"switch": node, "link": str(link), "bridge": link in cut, "destinations": list(destinations)}
        for (node, link), destinations in scheme.not_covered(topology, options).items()
        if not switches or node in switches
    ]
    return {"not_covered": found}


def not_covered_lines(value: Mapping[str, Any]) -> Iterator[str]:
    """A line for each switch and link; one that says so when every link is covered."""
    if value.get("not_covered") == []:
        yield "Not covered: nothing; every switch has a repair for each of its links"
    for each in value.get("not_covered", ()):
        destinations = ", ".join(each["destinations"])
        left = "a bridge: no path is left" if each["bridge"] else "though a path is left"
        yield f"Not covered: packets at {each['switch']} to {destinations}, when {each['link']} fails ({left})"
