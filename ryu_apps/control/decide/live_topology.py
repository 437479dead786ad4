"""The network as it shows itself (ports, liveness, discovery frames) against the topology that was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, FailureScenario, LinkId, Topology
from ryu_apps.control.decide.frames import LldpProbe
from ryu_apps.openflow.messages import PortDesc
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.ids import CONTROL_PORT

PortKey = tuple[str, int]
SILENT_AFTER_INTERVALS = 3
MAX_UNEXPECTED_PORTS = 16  # of a switch, kept and named; a switch that makes up port numbers fills no memory


class Mismatch(NamedTuple):
    """A difference between the topology and what the network shows: its kind, where, and a sentence."""

    kind: str
    node: str
    text: str


@dataclass(frozen=True)
class Expected:
    """What the topology says, in the words of switches."""

    topology: Topology

    @cached_property
    def node_of(self) -> dict[int, str]:
        """Switch name of every datapath id."""
        return {dpid_of(self.topology, node): node for node in self.topology.node_names}

    @cached_property
    def port_of(self) -> dict[Direction, int]:
        """Port of every directed link."""
        return assign_ports(self.topology).port_of

    @cached_property
    def peer_of(self) -> dict[PortKey, PortKey]:
        """The port at the other end, of every link port."""
        return {
            (link.src, self.port_of[link.direction]): (link.dst, self.port_of[Direction(link.dst, link.src, link.key)])
            for link in self.topology.links
        }

    @cached_property
    def link_ends(self) -> dict[LinkId, tuple[PortKey, PortKey]]:
        """Both (switch, port) of every link."""
        return {
            link: (
                (link.a, self.port_of[Direction(link.a, link.b, link.key)]),
                (link.b, self.port_of[Direction(link.b, link.a, link.key)]),
            )
            for link in self.topology.link_ids
        }

    @cached_property
    def direction_of(self) -> dict[PortKey, Direction]:
        """The directed link of every link port."""
        return {(direction.src, port_no): direction for direction, port_no in self.port_of.items()}

    @cached_property
    def port_nos(self) -> dict[str, frozenset[int]]:
        """Ports of every switch: its host's and its links'."""
        return {node: frozenset((HOST_PORT, *links)) for node, links in self._directions_at.items()}

    @cached_property
    def _directions_at(self) -> dict[str, dict[int, Direction]]:
        found: dict[str, dict[int, Direction]] = {node: {} for node in self.topology.node_names}
        for (node, port_no), direction in self.direction_of.items():
            found[node][port_no] = direction
        return found

    def has_port(self, port: PortKey) -> bool:
        """Whether the topology gives a switch this port."""
        return port[1] in self.port_nos.get(port[0], ())

    def ports_at(self, node: str) -> dict[int, str]:
        """What is behind each port of a switch, in words."""
        links = self._directions_at.get(node, {})
        return {HOST_PORT: "host", **{port_no: f"link to {direction.dst}" for port_no, direction in links.items()}}

    def links_at(self, node: str) -> dict[int, str]:
        """Name of the link behind each link port of a switch."""
        links = self._directions_at.get(node, {})
        return {port_no: str(self.topology.link_id(direction)) for port_no, direction in links.items()}


@dataclass(frozen=True, slots=True)
class Heard:
    """A discovery frame that arrived: where it had left, and when (seconds)."""

    lldp_probe: LldpProbe
    at_s: float


@dataclass(frozen=True)
class LiveTopology:
    """Ports of every connected switch, since when each is live, and the discovery frames that arrived.

    Attributes
    ----------
    ports
        By switch and port number: those of the topology, and at most `MAX_UNEXPECTED_PORTS` others of a switch.
    live_since_s : mapping of (str, int) to float
        Ports that are live now.
    heard : mapping of (str, int) to Heard
        Latest discovery frame by the port where it arrived.
    crowded
        Switches that have described more unexpected ports than are kept.
    """

    expected: Expected
    ports: Mapping[str, Mapping[int, PortDesc]] = field(default_factory=dict)
    live_since_s: Mapping[PortKey, float] = field(default_factory=dict)
    heard: Mapping[PortKey, Heard] = field(default_factory=dict)
    crowded: frozenset[str] = frozenset()

    def is_live(self, port: PortKey) -> bool | None:
        """Whether a port is live; None when its switch is not connected or does not have it."""
        described = self.ports.get(port[0], {}).get(port[1])
        return None if described is None else described.live

    def has_room(self, port: PortKey) -> bool:
        """Whether a port is kept: the topology has it, it is kept already, or few others are."""
        known = self.ports.get(port[0], {})
        if self.expected.has_port(port) or port[1] in known:
            return True
        others = known.keys() - self.expected.port_nos.get(port[0], frozenset())
        return port[1] < CONTROL_PORT and len(others) < MAX_UNEXPECTED_PORTS

    def failure_scenario(self) -> FailureScenario:
        """Directions whose sending port is known to be down: what the planner may take as failed."""
        down = (direction for port, direction in self.expected.direction_of.items() if self.is_live(port) is False)
        return FailureScenario(directions=frozenset(down))


def switch_connected(live: LiveTopology, node: str, ports: Mapping[int, PortDesc], now_s: float) -> LiveTopology:
    """A switch has described its ports."""
    known = switch_gone(live, node)
    kept, is_crowded = _kept(live.expected, node, ports)
    since = {(node, port_no): now_s for port_no, port in kept.items() if port.live}
    before = {port: live.live_since_s[port] for port in since if port in live.live_since_s}
    return replace(
        known,
        ports={**known.ports, node: kept},
        live_since_s={**known.live_since_s, **since, **before},
        crowded=known.crowded | {node} if is_crowded else known.crowded,
    )


def _kept(expected: Expected, node: str, ports: Mapping[int, PortDesc]) -> tuple[dict[int, PortDesc], bool]:
    """The ports to be kept of a description, and whether it has more unexpected ones than that."""
    # From `CONTROL_PORT` on they are those that Armor adds, and reserved ones.
    others = sorted(number for number in ports if not expected.has_port((node, number)) and number < CONTROL_PORT)
    kept = {number: port for number, port in ports.items() if expected.has_port((node, number))}
    kept |= {number: ports[number] for number in others[:MAX_UNEXPECTED_PORTS]}
    return kept, len(others) > MAX_UNEXPECTED_PORTS


def switch_gone(live: LiveTopology, node: str) -> LiveTopology:
    """The connection of a switch is gone."""
    return replace(
        live,
        ports={name: ports for name, ports in live.ports.items() if name != node},
        live_since_s={port: since for port, since in live.live_since_s.items() if port[0] != node},
        heard={port: heard for port, heard in live.heard.items() if port[0] != node},
        crowded=live.crowded - {node},
    )


def port_changed(live: LiveTopology, node: str, port: PortDesc, now_s: float, deleted: bool = False) -> LiveTopology:
    """A port was added, has changed, or is gone."""
    key = (node, port.port_no)
    if not live.has_room(key):
        is_more = not deleted and port.port_no < CONTROL_PORT and node not in live.crowded
        return replace(live, crowded=live.crowded | {node}) if is_more else live
    ports = {number: known for number, known in live.ports.get(node, {}).items() if number != port.port_no}
    since = {name: value for name, value in live.live_since_s.items() if name != key}
    heard = live.heard
    if not deleted:
        ports[port.port_no] = port
    if port.live and not deleted:
        since[key] = live.live_since_s.get(key, now_s)
    else:
        heard = {name: value for name, value in heard.items() if name != key}
    return replace(live, ports={**live.ports, node: ports}, live_since_s=since, heard=heard)


def lldp_probe_heard(live: LiveTopology, node: str, port_no: int, lldp_probe: LldpProbe, now_s: float) -> LiveTopology:
    """A discovery frame has arrived at a port; at one that is not kept, it says nothing."""
    if not live.expected.has_port((node, port_no)) and port_no not in live.ports.get(node, {}):
        return live
    return replace(live, heard={**live.heard, (node, port_no): Heard(lldp_probe, now_s)})


def find_mismatches(live: LiveTopology, now_s: float, interval_s: float | None) -> tuple[Mismatch, ...]:
    """Every difference between the topology and what the network shows.

    Parameters
    ----------
    interval_s
        How often discovery frames are sent; None: discovery is off, and links that nothing was heard of are
        no difference.
    """
    found = [*_port_mismatches(live), *_heard_mismatches(live)]
    if interval_s is not None:
        found += _silent_links(live, now_s, SILENT_AFTER_INTERVALS * interval_s)
    return tuple(sorted(found))


def _port_mismatches(live: LiveTopology) -> Iterator[Mismatch]:
    for node, ports in live.ports.items():
        wanted = live.expected.ports_at(node)
        for port_no in sorted(wanted.keys() - ports.keys()):
            text = f"{node} has no port {port_no} ({wanted[port_no]}); add it or correct the topology file"
            yield Mismatch("missing port", node, text)
        for port_no in sorted(ports.keys() - wanted.keys()):
            name = ports[port_no].name
            text = f"{node} has port {port_no} ({name}), which the topology does not know; no traffic uses it"
            yield Mismatch("unexpected port", node, text)
    for node in live.crowded:
        text = f"{node} describes more than {MAX_UNEXPECTED_PORTS} ports that the topology does not know; look at it"
        yield Mismatch("unexpected port", node, text)


def _heard_mismatches(live: LiveTopology) -> Iterator[Mismatch]:
    expected = live.expected
    for (node, port_no), heard in live.heard.items():
        sender = expected.node_of.get(heard.lldp_probe.dpid)
        there = f"{sender or f'datapath {heard.lldp_probe.dpid:#x}'} port {heard.lldp_probe.port_no}"
        here = f"{node} port {port_no}"
        wanted = expected.peer_of.get((node, port_no))
        if wanted is None:
            text = f"{here} is joined to {there}, but the topology has no link there; add the link or remove the wire"
            yield Mismatch("unexpected link", node, text)
        elif wanted != (sender, heard.lldp_probe.port_no):
            text = (
                f"{here} is joined to {there}, not to {wanted[0]} port {wanted[1]}; swap the wires or correct the file"
            )
            yield Mismatch("wrong peer", node, text)


def _silent_links(live: LiveTopology, now_s: float, silent_after_s: float) -> Iterator[Mismatch]:
    for sender, receiver in live.expected.peer_of.items():
        ready = [live.live_since_s.get(port) for port in (sender, receiver)]
        since = [value for value in ready if value is not None]
        if len(since) < 2 or now_s - max(since) < silent_after_s:
            continue
        heard = live.heard.get(receiver)
        if heard is None or now_s - heard.at_s > silent_after_s:
            here, there = (f"{node} port {port_no}" for node, port_no in (receiver, sender))
            text = f"{here} hears nothing of {there}, though both are live; check the wire"
            yield Mismatch("silent link", receiver[0], text)
