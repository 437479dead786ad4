"""Rows of TI-LFA: primary routes with their repairs, and a row for each label.

Only the switch beside the failure pushes labels. The last switch before a segment's end pops its label and sends in one
list of actions (penultimate-hop popping), so that no packet is looked up twice: what is below is read off the
bottom-of-stack bit in the match.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.fields import ETH_IPV4, ETH_MPLS
from ryu_apps.plan.guarantees import Promise, where_repaired
from ryu_apps.plan.ids import Kind, Priority, Table, cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import ANY_TAG, FORGET_IN_PORT
from ryu_apps.plan.rows import (
    Action,
    Bucket,
    FlowRow,
    Group,
    GroupRow,
    Output,
    PopMpls,
    PushMpls,
    RulePlan,
    SetField,
    match,
    sorted_flows,
)
from ryu_apps.plan.shortest import deliver_row, destination_match
from ryu_apps.plan.ti_lfa.repairs import Repair, Repairs, Segment
from te_solver.routes import NO_LINK, ResidualRoutes

Way = tuple[int, int, tuple[int, ...]]
"""Primary port, port of the repair (0: there is none), and the labels that it pushes, the bottom one first."""

_FIRST_NODE_LABEL, _FIRST_ADJACENCY_LABEL = 16_000, 500_000
_FIRST_STACKED = 0x10000  # number of the first group that pushes above other labels


def node_label(dpid: int) -> int:
    """Label of a node segment, the same at every switch."""
    return _FIRST_NODE_LABEL + dpid


def adjacency_label(port_no: int) -> int:
    """Label of the adjacency segment over a port, known to its switch alone."""
    return _FIRST_ADJACENCY_LABEL + port_no


@lru_cache(maxsize=4)
def repairs_of(topology: Topology, routes: str, metric: str) -> dict[tuple[int, int], Repair]:
    """Repair of every (node position, destination position) that has one."""
    return Repairs(ResidualRoutes(topology, routes, metric)).all()


def plan_ti_lfa(topology: Topology, options: PlanOptions, owner: int) -> dict[int, RulePlan]:
    """Rule plans by datapath id; the cookies name `owner`."""
    repairs = repairs_of(topology, options.routes, options.metric)
    network = _Network(topology, options)
    hosts, plans = hosts_of(topology), {}
    for node, name in enumerate(topology.node_names):
        flows = [deliver_row(owner, hosts[name]), *network.label_rows(node, owner)]
        ways = {
            target: network.way(primary, repairs.get((node, target)))
            for target, primary in enumerate(network.table[node])
            if primary != NO_LINK
        }
        numbers = {way: number for number, way in enumerate(sorted({*ways.values()}), start=1)}
        for target, way in ways.items():
            ipv4 = hosts[topology.node_names[target]].ipv4
            fields, planned = destination_match(ipv4), cookie(owner, Kind.PLANNED, 0, ipv4)
            actions = FORGET_IN_PORT, Group(numbers[way])
            flows.append(FlowRow(Table.CLASSIFY, Priority.PRIMARY, fields, actions, cookie=planned))
        groups = tuple(_groups(numbers))
        dpid = dpid_of(topology, name)
        plans[dpid] = RulePlan(dpid, name, flows=sorted_flows(flows), groups=groups, local_ipv4=(hosts[name].ipv4,))
    return plans


def repaired_at_the_failure(topology: Topology, options: PlanOptions) -> Promise:
    """One failed link, and the switch next to it has a repair of at most three labels."""
    residual = ResidualRoutes(topology, options.routes, options.metric)
    return where_repaired(residual, repairs_of(topology, options.routes, options.metric))


def not_covered(topology: Topology, options: PlanOptions) -> dict[tuple[str, LinkId], tuple[str, ...]]:
    """Destinations that a (switch, link) has no repair for, because none is left or three labels do not suffice."""
    residual = ResidualRoutes(topology, options.routes, options.metric)
    repairs = repairs_of(topology, options.routes, options.metric)
    found: dict[tuple[str, LinkId], tuple[str, ...]] = {}
    for node, row in enumerate(residual.next_links().tolist()):
        for target, primary in enumerate(row):
            if primary != NO_LINK and (node, target) not in repairs:
                key = topology.node_names[node], topology.link_id(residual.links[primary].direction)
                found[key] = (*found.get(key, ()), topology.node_names[target])
    return found


def _groups(numbers: dict[Way, int]) -> Iterator[GroupRow]:
    """Groups of ways, by their numbers; and of labels above the bottom one.

    Open vSwitch runs a bucket as an action set, which pushes once: a group behind it pushes the next label.
    """
    above = sorted({(labels[at:], port) for _, port, labels in numbers for at in range(1, len(labels))})
    stacked = {each: number for number, each in enumerate(above, start=_FIRST_STACKED)}
    for (primary, port, labels), number in numbers.items():
        buckets = [Bucket((Output(primary),), watch_port=primary)]
        if port:
            buckets.append(Bucket(_pushed(labels, port, stacked), watch_port=port))
        yield GroupRow(number, "ff", tuple(buckets))
    for (labels, port), number in stacked.items():
        yield GroupRow(number, "indirect", (Bucket(_pushed(labels, port, stacked)),))


def _pushed(labels: tuple[int, ...], port: int, stacked: dict[tuple[tuple[int, ...], int], int]) -> tuple[Action, ...]:
    if not labels:
        return (Output(port),)
    onward = Group(stacked[labels[1:], port]) if labels[1:] else Output(port)
    return PushMpls(), SetField("mpls_label", labels[0]), onward


class _Network:
    """Ports and primary routes of a network, and the rows that follow from them."""

    def __init__(self, topology: Topology, options: PlanOptions) -> None:
        residual = ResidualRoutes(topology, options.routes, options.metric)
        self.table = residual.next_links().tolist()
        port_of = assign_ports(topology).port_of
        self._ports = [port_of[link.direction] for link in residual.links]
        self._ends = [topology.index_of[link.dst] for link in residual.links]
        self._out: list[list[int]] = [[] for _ in topology.node_names]
        for number, link in enumerate(residual.links):
            self._out[topology.index_of[link.src]].append(number)
        self._dpids = [dpid_of(topology, name) for name in topology.node_names]

    def way(self, primary: int, repair: Repair | None) -> Way:
        """The primary link and its repair in ports and labels."""
        if repair is None:
            return self._ports[primary], 0, ()
        labels = tuple(self._label(segment) for segment in reversed(repair.segments))
        return self._ports[primary], self._ports[repair.link], labels

    def label_rows(self, node: int, owner: int) -> Iterator[FlowRow]:
        """Rows of all labels that may come to a switch; hosts may send none, and VLAN tags do not go with labels."""
        planned = cookie(owner, Kind.PLANNED)
        forged, tagged = match(eth_type=ETH_MPLS, in_port=HOST_PORT), match(vlan_vid=ANY_TAG)
        yield FlowRow(Table.CLASSIFY, Priority.GUARD, forged, cookie=planned)
        yield FlowRow(Table.CLASSIFY, Priority.GUARD, tagged, cookie=planned)
        for target, link in enumerate(self.table[node]):
            if link != NO_LINK:
                pops = self._ends[link] == target
                yield from self._label_rows(owner, node_label(self._dpids[target]), self._ports[link], pops=pops)
        for link in self._out[node]:
            yield from self._label_rows(owner, adjacency_label(self._ports[link]), self._ports[link], pops=True)

    def _label_rows(self, owner: int, label: int, port_no: int, *, pops: bool) -> Iterator[FlowRow]:
        planned = cookie(owner, Kind.PLANNED, 0, label)
        if not pops:
            fields = match(eth_type=ETH_MPLS, mpls_label=label)
            yield FlowRow(Table.CLASSIFY, Priority.PRIMARY, fields, (FORGET_IN_PORT, Output(port_no)), cookie=planned)
            return
        for bottom, below in enumerate((ETH_MPLS, ETH_IPV4)):
            fields = match(eth_type=ETH_MPLS, mpls_label=label, mpls_bos=bottom)
            actions = FORGET_IN_PORT, PopMpls(below), Output(port_no)
            yield FlowRow(Table.CLASSIFY, Priority.PRIMARY, fields, actions, cookie=planned)

    def _label(self, segment: Segment) -> int:
        if segment.link is None:
            return node_label(self._dpids[segment.node])
        return adjacency_label(self._ports[segment.link])
