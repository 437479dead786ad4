"""Ternary matches on a 5-tuple (ProtectedFlows of P4-Protect): prefixes, a protocol or any, ranges of ports."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

LARGEST_PORT = 65535
ANYWHERE = IPv4Network("0.0.0.0/0")


@dataclass(frozen=True, slots=True)
class PortRange:
    """Ports from `first` to `last`, both included."""

    first: int
    last: int

    def __contains__(self, port: int) -> bool:
        return self.first <= port <= self.last

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


ANY_PORT = PortRange(0, LARGEST_PORT)


@dataclass(frozen=True, slots=True)
class FlowMatch:
    """A row of ProtectedFlows; `protocol` None is TCP and UDP."""

    source: IPv4Network = ANYWHERE
    destination: IPv4Network = ANYWHERE
    protocol: int | None = None
    source_ports: PortRange = ANY_PORT
    destination_ports: PortRange = ANY_PORT


@dataclass(frozen=True, slots=True)
class FiveTuple:
    """Addresses, protocol and ports of a TCP or UDP packet."""

    source: IPv4Address
    destination: IPv4Address
    protocol: int
    source_port: int
    destination_port: int


def matches(match: FlowMatch, flow: FiveTuple) -> bool:
    """Whether a row of ProtectedFlows applies to a packet."""
    return (
        flow.source in match.source
        and flow.destination in match.destination
        and match.protocol in (None, flow.protocol)
        and flow.source_port in match.source_ports
        and flow.destination_port in match.destination_ports
    )


def overlaps(one: FlowMatch, other: FlowMatch) -> bool:
    """Whether there is a packet that both match."""
    return (
        one.source.overlaps(other.source)
        and one.destination.overlaps(other.destination)
        and (one.protocol == other.protocol or None in (one.protocol, other.protocol))
        and _share(one.source_ports, other.source_ports)
        and _share(one.destination_ports, other.destination_ports)
    )


def covers(wide: FlowMatch, narrow: FlowMatch) -> bool:
    """Whether one matches every packet that the other matches."""
    return (
        narrow.source.subnet_of(wide.source)
        and narrow.destination.subnet_of(wide.destination)
        and wide.protocol in (None, narrow.protocol)
        and _holds(wide.source_ports, narrow.source_ports)
        and _holds(wide.destination_ports, narrow.destination_ports)
    )


def _share(one: PortRange, other: PortRange) -> bool:
    return one.first <= other.last and other.first <= one.last


def _holds(wide: PortRange, narrow: PortRange) -> bool:
    return narrow.first in wide and narrow.last in wide
