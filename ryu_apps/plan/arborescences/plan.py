"""Rows of failover over arc-disjoint arborescences in circular order, and what that order survives.

Source: Chiesa et al., "On the Resiliency of Static Forwarding Tables", IEEE/ACM Transactions on Networking 25(2),
2017 (INFOCOM 2016). A packet that comes by an arc of an arborescence goes on along it; where its next link has failed,
it goes on along the next arborescence, and after the last along the first. No packet carries a mark.

What is proven, for any order: with k arborescences that span, at most k - 1 failures, k being 2 or 3. A link has arcs
in two arborescences at most; a packet that arc x-y of one has stopped at x, and that goes on along the one with arc
y-x, never comes to y-x, because no node of an arborescence comes after itself. So two failures stop it once in each of
three at most: where the third stops it too, that is at the far end of the first link, and the first arborescence then
leads past it. With four in any order, packets can loop after three failures.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.arborescences.packing import Arc, Packing, pack
from ryu_apps.plan.guarantees import Promise
from ryu_apps.plan.ids import Kind, Priority, Table, cookie, ports_group
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import ETH_TYPE_IPV4, FORGET_IN_PORT
from ryu_apps.plan.rows import Action, Bucket, FlowRow, Group, GroupRow, Output, RulePlan, match, sorted_flows
from ryu_apps.plan.shortest import deliver_row
from te_solver.routes import ResidualRoutes

Circle = tuple[int, ...]
"""Ports in the order in which packets try them."""


class _Wires(NamedTuple):
    """Ports at the tail and at the head of each arc, and the arcs into each node."""

    leaving: list[int]
    arriving: list[int]
    into: list[list[int]]


@lru_cache(maxsize=4)
def packings(topology: Topology, metric: str) -> tuple[Packing, ...]:
    """Arborescences towards every node; arcs are the positions of `ResidualRoutes.links`."""
    arcs = arcs_of(topology, metric)
    return tuple(pack(len(topology.node_names), arcs, root) for root in range(len(topology.node_names)))


def plan_arborescences(topology: Topology, options: PlanOptions, owner: int) -> dict[int, RulePlan]:
    """Rule plans by datapath id; the cookies name `owner`."""
    found, wires = packings(topology, options.metric), _wires(topology, options.metric)
    hosts = hosts_of(topology)
    plans = {}
    for node, name in enumerate(topology.node_names):
        flows, groups = [deliver_row(owner, hosts[name])], {}
        for root, packing in enumerate(found):
            for in_port, circle in _routes(packing, wires, node):
                group = _group(circle)
                groups[group.group_id] = group
                flows.append(_row(owner, hosts[topology.node_names[root]].ipv4, in_port, group.group_id))
        dpid = dpid_of(topology, name)
        rows, held = sorted_flows(flows), tuple(groups[key] for key in sorted(groups))
        plans[dpid] = RulePlan(dpid, name, flows=rows, groups=held, local_ipv4=(hosts[name].ipv4,))
    return plans


def fewer_failures_than_arborescences(topology: Topology, options: PlanOptions) -> Promise:
    """Fewer failed links than arborescences span, once the packet has come to where they do, and none before.

    Nodes behind a bridge have one arborescence; from the bridge on, the others span.
    """
    found = packings(topology, options.metric)
    residual = ResidualRoutes(topology, metric=options.metric)
    ends = [topology.index_of[link.dst] for link in residual.links]
    numbers = residual.link_number.tolist()

    def promised(source: int, destination: int, failed: int) -> bool:
        packing, node = found[destination], source
        while node not in packing.inner:
            arc = packing.trees[0][node]
            if failed >> numbers[arc] & 1:
                return False
            node = ends[arc]
        return failed.bit_count() < packing.full

    return promised


def arcs_of(topology: Topology, metric: str) -> list[Arc]:
    """Both directions of every link, in the order of `ResidualRoutes.links`."""
    residual, order = ResidualRoutes(topology, metric=metric), topology.index_of
    return [Arc(order[link.src], order[link.dst], residual.cost(number)) for number, link in enumerate(residual.links)]


def _wires(topology: Topology, metric: str) -> _Wires:
    links, ports = ResidualRoutes(topology, metric=metric).links, assign_ports(topology).port_of
    into: list[list[int]] = [[] for _ in topology.node_names]
    for number, link in enumerate(links):
        into[topology.index_of[link.dst]].append(number)
    arriving = [ports[Direction(link.dst, link.src, link.key)] for link in links]
    return _Wires([ports[link.direction] for link in links], arriving, into)


def _routes(packing: Packing, wires: _Wires, node: int) -> Iterator[tuple[int | None, Circle]]:
    """(in-port, ports to try) of a switch's routes to one root; no in-port: every packet that no other route takes."""
    trees = [tree for tree in packing.trees if node in tree]
    ports = [wires.leaving[tree[node]] for tree in trees]
    for number, tree in enumerate(trees):
        circle = (*ports[number:], *ports[:number])
        if number:
            children = (arc for arc in wires.into[node] if arc in tree.values())
            yield from ((wires.arriving[arc], circle) for arc in children)
        else:
            yield None, circle


def _group(circle: Circle) -> GroupRow:
    return GroupRow(ports_group(circle), "ff", tuple(Bucket((Output(port),), watch_port=port) for port in circle))


@lru_cache(maxsize=1 << 12)
def _onward(group_id: int) -> tuple[Action, ...]:
    """Through a group that may choose the in-port: Open vSwitch drops what leaves by it, unless it is forgotten."""
    return FORGET_IN_PORT, Group(group_id)


def _row(owner: int, ipv4: int, in_port: int | None, group_id: int) -> FlowRow:
    planned = cookie(owner, Kind.PLANNED, 0, ipv4)
    if in_port is None:
        fields, priority = match(eth_type=ETH_TYPE_IPV4, ipv4_dst=ipv4), Priority.PRIMARY
    else:
        fields, priority = match(eth_type=ETH_TYPE_IPV4, in_port=in_port, ipv4_dst=ipv4), Priority.BY_IN_PORT
    return FlowRow(Table.CLASSIFY, priority, fields, _onward(group_id), cookie=planned)
