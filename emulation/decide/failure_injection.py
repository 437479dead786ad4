"""Stamps of what was broken or repaired, and which switch ports a failure concerns."""

from __future__ import annotations

from dataclasses import dataclass

from mininet_topos.ports import PortMap
from mininet_topos.topology import Direction, LinkId, Topology

PortKey = tuple[str, int]


@dataclass(frozen=True, slots=True)
class InjectionStamp:
    """One injected event: what was done to what, and CLOCK_MONOTONIC (seconds) just before and just after.

    `live` is what the target is afterwards: False for a failure, True for a repair.
    """

    kind: str
    target: str
    live: bool
    before_s: float
    after_s: float


def link_senders(ports: PortMap, topology: Topology, link_id: LinkId) -> tuple[PortKey, PortKey]:
    """The two ports that send on a link."""
    first, second = topology.directions(link_id)
    return sender(ports, first), sender(ports, second)


def sender(ports: PortMap, direction: Direction) -> PortKey:
    """The port that sends in a direction."""
    return direction.src, ports.port_of[direction]


def node_senders(ports: PortMap, topology: Topology, node: str) -> tuple[PortKey, ...]:
    """Every port that sends to or from a node over a link."""
    return tuple(sender(ports, link.direction) for link in topology.links if node in (link.src, link.dst))
