"""What a page may ask of a live network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId, Topology

SILENT, CARRIER, ONE_WAY, FLAP = FAILURE_KINDS = ("silent", "carrier", "one-way", "flap")
TRAFFIC_KINDS = ("ping", "udp", "tcp")


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail a link; `one-way` fails it from its first end to its second."""

    link: LinkId
    kind: str

    @property
    def direction(self) -> Direction:
        """What fails one way."""
        return Direction(*self.link)


@dataclass(frozen=True, slots=True)
class FailSwitch:
    """Fail all links of a switch silently."""

    node: str


@dataclass(frozen=True, slots=True)
class Repair:
    """Repair whatever has failed on a link, or a switch that has failed."""

    target: LinkId | str


@dataclass(frozen=True, slots=True)
class Send:
    """Start traffic between two hosts, in place of what they exchange now."""

    source: str
    destination: str
    kind: str


Action = Fail | FailSwitch | Repair | Send


def read_action(topology: Topology, value: Mapping[str, Any]) -> Action:
    """The action that a page asks for.

    Parameters
    ----------
    value
        {"do": "fail", "link": "s1-s2", "kind": "silent"}, {"do": "fail", "switch": "s1"}, {"do": "repair"} with either,
        or {"do": "send", "from": "s1", "to": "s9", "kind": "ping"}.

    Raises
    ------
    BadInputError
        It is no such thing, or names what the topology does not have.
    """
    do = value.get("do")
    if do == "fail" and "switch" in value:
        return FailSwitch(_node(topology, value, "switch"))
    if do == "fail":
        return Fail(_link(topology, value), _choice(value, FAILURE_KINDS))
    if do == "repair":
        return Repair(_node(topology, value, "switch") if "switch" in value else _link(topology, value))
    if do == "send":
        source, destination = _node(topology, value, "from"), _node(topology, value, "to")
        if source == destination:
            raise BadInputError(f"{source!r} cannot send to itself; choose two hosts")
        return Send(source, destination, _choice(value, TRAFFIC_KINDS))
    raise BadInputError(f"{do!r} is nothing to do; use fail, repair or send")


def _link(topology: Topology, value: Mapping[str, Any]) -> LinkId:
    return topology.parse_link(str(value.get("link")))


def _node(topology: Topology, value: Mapping[str, Any], key: str) -> str:
    node = value.get(key)
    if not isinstance(node, str) or node not in topology.index_of:
        raise BadInputError(f"{node!r} is no switch of {topology.name!r}; write its name as on the map")
    return node


def _choice(value: Mapping[str, Any], known: tuple[str, ...]) -> str:
    kind = value.get("kind", known[0])
    if kind not in known:
        raise BadInputError(f"kind {kind!r} is not known; use {', '.join(known)}")
    return str(kind)
