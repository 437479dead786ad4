"""`armor verify` of schemes that protect flows: packets of every flow, through plans and hairpins, links down.

Switches are the interpreter's; the hairpins beside them are dataplane.model's, which works on bytes. A protected
flow's packet has to arrive exactly once as long as each of its connections has a tunnel left, and never twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from itertools import product
from time import perf_counter
from typing import Any

from dataplane.model import protection_node
from dataplane.model.flow_match import ANY_PORT, FiveTuple, PortRange
from dataplane.model.sequence import Ingress, number_packet
from dataplane.model.tunnel_header import Tunnel, encapsulate
from experiments.verify.streams.case_counts import CaseCounts
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, LinkId, Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of, node_ipv4
from ryu_apps.plan.choices import NO_MODE
from ryu_apps.plan.fields import IP_TCP, IP_UDP
from ryu_apps.plan.ids import PROTECT_PORT, VLAN_PRESENT
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.protect.tunnels import find_pairs_of_paths
from ryu_apps.plan.protection import (
    ProtectedFlow,
    Protection,
    first_match,
    flow_text,
    match_of,
    protection_of,
)
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.scheme import Scheme

PACKETS_PER_CASE = 3
MAX_HOPS = 10_000
_SOME_PORT = 1024
_WORST_FIRST = ("looped", "duplicated", "dropped", "disconnected", "delivered")


def all_flows(topology: Topology) -> tuple[ProtectedFlow, ...]:
    """A protected flow for every ordered pair that two disjoint paths join."""
    pairs = [(src, dst) for src in topology.node_names for dst in topology.node_names if src != dst]
    found = find_pairs_of_paths(topology, pairs)
    return tuple(ProtectedFlow(src, dst) for (src, dst), paths in found.items() if paths is not None)


class Hairpin:
    """The packet program beside a bridge: dataplane.model's node, and the slots that stand for connections."""

    def __init__(self, topology: Topology, protection: Protection, node: str) -> None:
        def connection(number: int, ingress: str, egress: str) -> protection_node.Connection:
            return protection_node.Connection(number, address_of(topology, ingress), address_of(topology, egress))

        every = [connection(each.number, each.ingress, each.egress) for each in protection.connections]
        self._slots = {
            each.slot: connection(each.number, each.ingress, each.egress)
            for each in protection.connections
            if each.ingress == node
        }
        self._node = protection_node.to_node(address_of(topology, node), (), every)

    def process(self, packet: bytes, slot: int | None) -> bytes | None:
        """What comes back from the hairpin, untagged; None: nothing does."""
        if slot is not None:
            return self._protect(packet, slot)
        self._node, fate, left = protection_node.process(self._node, packet)
        return None if fate is protection_node.Fate.DROP else left

    def _protect(self, packet: bytes, slot: int) -> bytes | None:
        connection = self._slots.get(slot)
        if connection is None:
            return packet
        key = connection.egress, connection.number
        end, number = number_packet(self._node.sends.get(key, Ingress()))
        self._node = replace(self._node, sends={**self._node.sends, key: end})
        return encapsulate(packet, Tunnel(connection.number, number, connection.ingress, connection.egress))


def address_of(topology: Topology, node: str) -> IPv4Address:
    """Address of a switch as an end of connections."""
    return IPv4Address(node_ipv4(dpid_of(topology, node)))


def packet_of(flow: FiveTuple, number: int) -> bytes:
    """An IPv4 packet of a TCP or UDP flow, with 4 bytes of payload that number it."""
    ports = flow.source_port.to_bytes(2, "big") + flow.destination_port.to_bytes(2, "big")
    rest = (12).to_bytes(2, "big") + bytes(2) if flow.protocol == IP_UDP else bytes(16)
    transport = ports + rest + number.to_bytes(4, "big")
    length = (20 + len(transport)).to_bytes(2, "big")
    ends = flow.source.packed + flow.destination.packed
    return b"\x45\0" + length + bytes(4) + bytes([64, flow.protocol, 0, 0]) + ends + transport


def samples_of(flow: ProtectedFlow, protection: Protection, topology: Topology) -> list[tuple[str, FiveTuple]]:
    """(switch of the receiving host, 5-tuple) of packets that belong to a flow, and to no earlier one.

    The hosts of a prefix and the ports of a range are those at their ends, beside the host that the flow names.
    """
    wanted = match_of(flow, topology)
    addresses = {node: IPv4Address(host.ipv4) for node, host in hosts_of(topology).items()}
    inside = [node for node, address in addresses.items() if address in wanted.destination and node != flow.source]
    nodes = dict.fromkeys((flow.destination, inside[0], inside[-1]))
    protocols = (IP_UDP, IP_TCP) if wanted.protocol is None else (wanted.protocol,)
    ends = product(nodes, protocols, _ports_of(wanted.source_ports), _ports_of(wanted.destination_ports))
    packets = [(node, FiveTuple(addresses[flow.source], addresses[node], *rest)) for node, *rest in ends]
    return [each for each in packets if first_match(protection, flow.source, each[1], topology) is flow]


def _ports_of(ports: PortRange) -> tuple[int, ...]:
    return (_SOME_PORT,) if ports == ANY_PORT else tuple(dict.fromkeys((ports.first, ports.last)))


def fields_of(packet: bytes, vlan_tci: int) -> Packet:
    """What a switch matches on in an IPv4 packet."""
    start = (packet[0] & 15) * 4
    ports = [int.from_bytes(packet[start + at : start + at + 2], "big") for at in (0, 2)]
    has_ports = packet[9] in (6, 17)
    return Packet(
        ipv4_src=int.from_bytes(packet[12:16], "big"),
        ipv4_dst=int.from_bytes(packet[16:20], "big"),
        ip_proto=packet[9],
        l4_src=ports[0] if has_ports else 0,
        l4_dst=ports[1] if has_ports else 0,
        vlan_tci=vlan_tci,
        ip_dscp=packet[1] >> 2,
    )


class ProtectedNetwork:
    """Switches, hairpins and failed links; hairpins keep their counters from packet to packet."""

    def __init__(
        self, topology: Topology, models: dict[str, SwitchModel], protection: Protection, failed: frozenset[LinkId]
    ) -> None:
        self._topology, self._models, self._failed = topology, models, failed
        self._ports = assign_ports(topology)
        self._hairpins = {node: Hairpin(topology, protection, node) for node in topology.node_names}

    def deliveries(self, source: str, packet: bytes, in_port: int = HOST_PORT) -> tuple[str, list[tuple[str, bytes]]]:
        """("" or "looped", packets that hosts get: (switch, bytes)) for a packet that enters at a switch's port."""
        waiting: list[tuple[str, int, bytes, int]] = [(source, in_port, packet, 0)]
        got: list[tuple[str, bytes]] = []
        for _ in range(MAX_HOPS):
            if not waiting:
                return "", got
            node, in_port, data, tci = waiting.pop()
            for port, tag in self._outputs(node, in_port, data, tci):
                if port == HOST_PORT:
                    got.append((node, data))
                elif port == PROTECT_PORT:
                    back = self._hairpins[node].process(data, tag & 0xFFF if tag & VLAN_PRESENT else None)
                    waiting += [] if back is None else [(node, PROTECT_PORT, back, 0)]
                else:
                    waiting += self._over_link(node, port, data, tag)
        return "looped", got

    def _outputs(self, node: str, in_port: int, data: bytes, tci: int) -> Iterator[tuple[int, int]]:
        result = interpret_switch(self._models[node], fields_of(data, tci), in_port, frozenset())
        return ((port, leaving.vlan_tci) for port, leaving, _ in result.outputs)

    def _over_link(self, node: str, port: int, data: bytes, tci: int) -> list[tuple[str, int, bytes, int]]:
        direction = self._ports.direction_at.get((node, port))
        if direction is None or self._topology.link_id(direction) in self._failed:
            return []
        back = Direction(direction.dst, direction.src, direction.key)
        return [(direction.dst, self._ports.port_of[back], data, tci)]


@dataclass
class ProtectionResult(CaseCounts):
    """What became of the cases; `to_json` has the keys of `armor verify --json`."""

    scheme: str = ""
    flows: int = 0
    duplicated: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "planner": "disjoint",
            "scheme": self.scheme,
            "mode": NO_MODE,
            "flows": self.flows,
            "duplicated": self.duplicated,
            "crankback_cases": 0,
            "longest_crankback": 0,
            **self.shared_json(),
        }

    def add(self, outcome: str, promised: bool, what: str) -> None:
        """Count a case: delivered, disconnected, dropped, looped or duplicated."""
        breaks = outcome in ("looped", "duplicated") or (promised and outcome != "delivered")
        self.count(outcome, breaks=breaks, what=f"{what}: {outcome}")


def verify_protect(
    scheme: Scheme,
    topology: Topology,
    flows: Iterable[ProtectedFlow],
    failed_sets: Sequence[frozenset[LinkId]],
    metric: str = "hops",
    *,
    progress: Callable[[int], object] = lambda _done: None,
    planned: Mapping[int, RulePlan] | None = None,
) -> ProtectionResult:
    """Walk packets of every flow while each set of links is down.

    Parameters
    ----------
    scheme
        One that protects flows.
    failed_sets
        A case is a flow and one of these that hits one of its tunnels.
    metric : {"hops", "delay"}
    progress
        Called with 1 after each set of links.
    planned
        Plans to walk through; default: those of the scheme.

    Raises
    ------
    BadInputError
        The flows cannot be protected.
    """
    protection = protection_of(topology, flows)
    options = PlanOptions(metric=metric, protection=protection)
    began = perf_counter()
    plans = scheme.plan(topology, options) if planned is None else planned
    models = {plan.node: SwitchModel(plan) for plan in plans.values()}
    paths = find_pairs_of_paths(topology, protection.pairs, metric)
    ways = {pair: [{topology.link_id(way) for way in path} for path in both or ()] for pair, both in paths.items()}
    flights = [(flow, samples_of(flow, protection, topology)) for flow in protection.flows]
    size = max((len(failed) for failed in failed_sets), default=0)
    result = ProtectionResult(topology.name, size, scheme=scheme.name, flows=len(protection.flows))
    for failed in failed_sets:
        network = ProtectedNetwork(topology, models, protection, failed)
        for flow, samples in flights:
            tunnels = [ways[segment] for segment in flow.segments]
            if all(path.isdisjoint(failed) for both in tunnels for path in both) or not samples:
                continue
            is_whole = all(any(path.isdisjoint(failed) for path in both) for both in tunnels)
            outcome = _outcome(network, flow, samples, is_whole=is_whole)
            names = " ".join(sorted(map(str, failed)))
            result.add(outcome, outcome == "dropped", f"{flow_text(flow)}, {names} down")
        progress(1)
    result.seconds = perf_counter() - began
    return result


def _outcome(
    network: ProtectedNetwork, flow: ProtectedFlow, samples: Sequence[tuple[str, FiveTuple]], *, is_whole: bool
) -> str:
    """What becomes of a few packets of a flow, the worst of them.

    A packet is promised while each connection has a tunnel left (`is_whole`) and the rest of its way, where it is a
    plain packet, is whole.
    """
    found = {"delivered"}
    end = flow.segments[-1][1]
    for number in range(max(PACKETS_PER_CASE, len(samples))):
        node, five_tuple = samples[number % len(samples)]
        packet = packet_of(five_tuple, number)
        looped, got = network.deliveries(flow.source, packet)
        whole = [each for each in got if each == (node, packet)]
        if looped:
            found.add(looped)
        elif len(got) > 1 or len(whole) != len(got):
            found.add("duplicated")
        elif not whole:
            is_promised = is_whole and (end == node or network.deliveries(end, packet, PROTECT_PORT)[1] != [])
            found.add("dropped" if is_promised else "disconnected")
    return next(each for each in _WORST_FIRST if each in found)
