"""Rows that carry control over the data links, on stock Open vSwitch with its own in-band control switched off.

Every control packet is on the tree, or on the bypass around one failed link of it; its destination MAC address says
which, and is replaced on delivery. Each row names the port that such packets come in by, so nothing that comes from a
host is taken for control; and what else has an address of the control network is dropped where it comes in.

A packet leaves the tree at most once, for a path without loops, so no packet loops, whatever has failed. It arrives
while no link of its way on the tree is down, or while the first failed one can be passed by and its bypass is up: so
one failed link takes no switch from the controller that the network still joins to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mininet_topos.connectivity import require_connected
from mininet_topos.errors import BadInputError, PlanLimitError
from mininet_topos.ports import HOST_PORT, PortMap, assign_ports
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.addressing import CONTROL_MASK, control_ipv4, control_mac, dpid_of
from ryu_apps.plan.fields import ARP_REPLY, ARP_REQUEST, ETH_ARP, ETH_IPV4, IP_TCP
from ryu_apps.plan.ids import OFPP_IN_PORT, OFPP_LOCAL, Kind, Owner, Priority, Table, cookie, in_band_group
from ryu_apps.plan.in_band.values import Channel, InBandPlan, Service
from ryu_apps.plan.in_band.ways import ControlWays, Path, control_ways, reverse
from ryu_apps.plan.order import canonical
from ryu_apps.plan.rows import (
    Action,
    Bucket,
    FlowRow,
    Group,
    GroupRow,
    Move,
    Output,
    Resubmit,
    RulePlan,
    SetField,
    match,
)

ON_TREE = 0
MAX_LINKS = 0xFFFE
_MARK_BASE = 0x0203 << 32
_UNTAGGED = 0
_DROP: tuple[Action, ...] = ()
_Fields = dict[str, int | tuple[int, int]]


def way_mac(way: int) -> int:
    """Destination MAC address of control packets under way: on the tree (0), or around link `way` - 1."""
    return _MARK_BASE | way


def plan_in_band(topology: Topology, channel: Channel) -> InBandPlan:
    """Rows of every switch for in-band control.

    Parameters
    ----------
    topology
        Connected. Switch k has address 10.255.k/256.k%256 and MAC address `control_mac(k)` on its own port (LOCAL).

    Raises
    ------
    BadInputError
        The topology is in parts, has no switch where the controller should hang, or a link on the controller's port.
    PlanLimitError
        More links than bypasses can be distinguished.
    """
    require_connected(topology)
    if len(topology.link_ids) > MAX_LINKS:
        raise PlanLimitError(f"{len(topology.link_ids)} links are too many for in-band control; it knows {MAX_LINKS}")
    ways, ports = control_ways(topology, channel.controller_at), assign_ports(topology)
    if (channel.controller_at, channel.controller_port) in ports.direction_at:
        raise BadInputError(
            f"{channel.controller_at} has a link on port {channel.controller_port}, where the controller is attached; "
            "give it another"
        )
    numbers = {link_id: number for number, link_id in enumerate(topology.link_ids, 1)}
    # The bypass around a tree link is called by the lower end of the link, which has but one such link.
    way_of = {node: numbers[topology.link_id(hop)] for node, hop in ways.parent.items()}
    switches = {
        node: _Switch(node, dpid_of(topology, node), topology, channel, ways, ports, way_of)
        for node in topology.node_names
    }
    for switch in switches.values():
        switch.add_tree()
        switch.add_guards()
    for node, path in ways.up.items():
        for come, go in _hops(path):
            switches[come.dst].add_bypass_up(way_of[node], come, go)
    for (node, member), path in ways.down.items():
        for come, go in _hops(path):
            switches[come.dst].add_bypass_down(way_of[node], member, come, go)
    return InBandPlan({switch.dpid: switch.plan() for switch in switches.values()}, ways.order)


def _hops(path: Path) -> Iterator[tuple[Direction, Direction | None]]:
    """Every hop of a path with the one after it; None after the last."""
    return zip(path, (*path[1:], None), strict=True)


@dataclass
class _Switch:
    """The rows of one switch while they are collected."""

    node: str
    dpid: int
    topology: Topology
    channel: Channel
    ways: ControlWays
    ports: PortMap
    way_of: dict[str, int]
    flows: list[FlowRow] = field(default_factory=list)
    groups: dict[tuple[int, int, int], GroupRow] = field(default_factory=dict)

    def plan(self) -> RulePlan:
        """What was collected, in canonical order."""
        return canonical(RulePlan(self.dpid, self.node, tuple(self.flows), tuple(self.groups.values())))

    # ---- the tree

    def add_tree(self) -> None:
        """Rows for packets on the tree: from here, to here, and through."""
        parent = self.ways.parent.get(self.node)
        above = self.channel.controller_port if parent is None else self.ports.port_of[parent]
        for child in self.ways.children(self.node):
            in_port = self.ports.port_of[reverse(self.ways.parent[child])]
            self._transit(in_port, ON_TREE, self._to_controller(), self._up(in_port))
        for service in self.channel.services:
            self._entry(OFPP_LOCAL, service, self.dpid, self._up(OFPP_LOCAL))
        for member in self.ways.members[self.node]:
            number, actions = dpid_of(self.topology, member), self._down(member, above)
            if parent is None:
                for service in self.channel.services:
                    self._entry(above, service, number, actions)
            else:
                self._transit(above, ON_TREE, _to_switch(self.channel, number), actions)

    def _up(self, in_port: int) -> tuple[Action, ...]:
        hop, bypass = self.ways.parent.get(self.node), self.ways.up.get(self.node)
        return self._hand_over() if hop is None else self._by(hop, bypass, self.way_of[self.node], in_port)

    def _down(self, member: str, in_port: int) -> tuple[Action, ...]:
        if member == self.node:
            return self._deliver()
        child = next(each for each in self.ways.children(self.node) if member in self.ways.members[each])
        hop, bypass = reverse(self.ways.parent[child]), self.ways.down.get((child, member))
        return self._by(hop, bypass, self.way_of[child], in_port)

    def _by(self, hop: Direction, bypass: Path | None, way: int, in_port: int) -> tuple[Action, ...]:
        """Over a link of the tree while its port is live, else by the bypass around it."""
        port_no = self.ports.port_of[hop]
        if not bypass:
            return (Output(port_no),)
        aside = self.ports.port_of[bypass[0]]
        out = OFPP_IN_PORT if aside == in_port else aside
        key = (port_no, out, way)
        if key not in self.groups:
            buckets = (
                Bucket((Output(port_no),), watch_port=port_no),
                Bucket((SetField("eth_dst", way_mac(way)), Output(out)), watch_port=aside),
            )
            self.groups[key] = GroupRow(in_band_group(len(self.groups)), "ff", buckets)
        return (Group(self.groups[key].group_id),)

    # ---- bypasses

    def add_bypass_up(self, way: int, come: Direction, go: Direction | None) -> None:
        """Row for packets to the controller that go around a failed link and come here by `come`."""
        actions = self._hand_over() if go is None else (Output(self.ports.port_of[go]),)
        self._transit(self.ports.port_of[reverse(come)], way, self._to_controller(), actions)

    def add_bypass_down(self, way: int, member: str, come: Direction, go: Direction | None) -> None:
        """Row for packets to a switch that go around a failed link and come here by `come`."""
        actions = self._deliver() if go is None else (Output(self.ports.port_of[go]),)
        number = dpid_of(self.topology, member)
        self._transit(self.ports.port_of[reverse(come)], way, _to_switch(self.channel, number), actions)

    # ---- ends

    def _deliver(self) -> tuple[Action, ...]:
        return SetField("eth_dst", control_mac(self.dpid)), Output(OFPP_LOCAL)

    def _hand_over(self) -> tuple[Action, ...]:
        return SetField("eth_dst", self.channel.controller_mac), Output(self.channel.controller_port)

    def _to_controller(self) -> _Fields:
        controller = self.channel.controller_ipv4
        return {"ipv4_src": (controller & CONTROL_MASK, CONTROL_MASK), "ipv4_dst": controller}

    def _transit(self, in_port: int, way: int, ends: _Fields, actions: tuple[Action, ...]) -> None:
        self._add(Priority.IN_BAND, in_port, way, {**ends, "eth_dst": way_mac(way)}, actions)

    def _entry(self, in_port: int, service: Service, number: int, actions: tuple[Action, ...]) -> None:
        """Row for packets of one connection between the controller and switch `number` that enter the network here."""
        to_controller = in_port == OFPP_LOCAL
        ends = (control_ipv4(number), self.channel.controller_ipv4)
        source, destination = ends if to_controller else ends[::-1]
        end = "dst" if to_controller == service.at_controller else "src"
        fields: _Fields = {"ipv4_src": source, "ipv4_dst": destination}
        fields[f"tcp_{end}"] = service.tcp_port
        marking: tuple[Action, ...] = () if service.dscp is None else (SetField("ip_dscp", service.dscp),)
        if not any(isinstance(action, SetField) and action.field == "eth_dst" for action in actions):
            marking += (SetField("eth_dst", way_mac(ON_TREE)),)
        priority = Priority.IN_BAND if service.at_controller else Priority.IN_BAND_SERVICE
        self._add(priority, in_port, ON_TREE, fields, (*marking, *actions))

    def _add(
        self,
        priority: Priority,
        in_port: int,
        way: int,
        fields: _Fields,
        actions: tuple[Action, ...],
    ) -> None:
        fixed = {"in_port": in_port, "eth_type": ETH_IPV4, "ip_proto": IP_TCP, "vlan_vid": _UNTAGGED}
        destination = fields["ipv4_dst"]
        owner = cookie(Owner.IN_BAND, Kind.PLANNED, way, destination if isinstance(destination, int) else 0)
        self.flows.append(FlowRow(Table.CLASSIFY, priority, match(**fixed, **fields), actions, cookie=owner))

    # ---- what else there is

    def add_guards(self) -> None:
        """Rows that answer ARP for the control network, and keep everything else out of it."""
        network = (self.channel.controller_ipv4 & CONTROL_MASK, CONTROL_MASK)
        ends = [OFPP_LOCAL] + [self.channel.controller_port] * (self.node == self.ways.root)
        asked: _Fields = {"eth_type": ETH_ARP, "arp_op": ARP_REQUEST, "arp_spa": network, "arp_tpa": network}
        self._guard(Priority.IN_BAND, ({"in_port": port, **asked} for port in ends), _arp_answer())
        kept_out: list[_Fields] = [{"in_port": port} for port in ends]
        for eth_type, names in ((ETH_IPV4, ("ipv4_src", "ipv4_dst")), (ETH_ARP, ("arp_spa", "arp_tpa"))):
            kept_out += [{"eth_type": eth_type, name: network} for name in names]
        self._guard(Priority.IN_BAND_GUARD, kept_out, _DROP)
        for mark in self.channel.data_markings:
            actions: tuple[Action, ...] = _DROP
            if mark.becomes is not None:
                actions = (SetField("ip_dscp", mark.becomes), Resubmit(Table.CLASSIFY))
            fields: _Fields = {"in_port": HOST_PORT, "eth_type": ETH_IPV4, "ip_dscp": mark.dscp}
            self._guard(Priority.IN_BAND_MARK, (fields,), actions)

    def _guard(self, priority: Priority, matches: Iterable[_Fields], actions: tuple[Action, ...]) -> None:
        owner = cookie(Owner.IN_BAND, Kind.PLANNED)
        self.flows += [FlowRow(Table.CLASSIFY, priority, match(**each), actions, cookie=owner) for each in matches]


def _to_switch(channel: Channel, number: int) -> _Fields:
    return {"ipv4_src": channel.controller_ipv4, "ipv4_dst": control_ipv4(number)}


def _arp_answer() -> tuple[Action, ...]:
    """Turn an ARP request into its answer: everybody in the control network is at the address of the tree."""
    return (
        Move("eth_src", 0, "eth_dst", 0, 48),
        SetField("eth_src", way_mac(ON_TREE)),
        SetField("arp_op", ARP_REPLY),
        Move("arp_sha", 0, "arp_tha", 0, 48),
        SetField("arp_sha", way_mac(ON_TREE)),
        Move("arp_spa", 0, "reg0", 0, 32),
        Move("arp_tpa", 0, "arp_spa", 0, 32),
        Move("reg0", 0, "arp_tpa", 0, 32),
        Output(OFPP_IN_PORT),
    )
