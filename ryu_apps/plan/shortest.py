"""Shortest paths (or a spanning tree) and no recovery: the control that every scheme is compared with."""

from __future__ import annotations

from mininet_topos.ports import assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import Host, dpid_of, hosts_of
from ryu_apps.plan.ids import Kind, Priority, Table, cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import ETH_TYPE_IPV4
from ryu_apps.plan.rows import Action, FlowRow, Match, Output, RulePlan, match, sorted_flows
from te_solver.routes import NO_LINK, ResidualRoutes


def plan_shortest(topology: Topology, options: PlanOptions, owner: int) -> dict[int, RulePlan]:
    """Rule plans with one plain `output` row per destination, by datapath id; the cookies name `owner`."""
    residual = ResidualRoutes(topology, options.routes, options.metric)
    table = residual.next_links()
    ports = assign_ports(topology)
    hosts = hosts_of(topology)
    plans = {}
    for position, node in enumerate(topology.node_names):
        flows = [deliver_row(owner, hosts[node])]
        for target, link in enumerate(table[position].tolist()):
            if link != NO_LINK:
                out = Output(ports.port_of[residual.links[link].direction])
                flows.append(destination_row(owner, hosts[topology.node_names[target]], out))
        dpid = dpid_of(topology, node)
        plans[dpid] = RulePlan(dpid, node, flows=sorted_flows(flows), local_ipv4=(hosts[node].ipv4,))
    return plans


def destination_match(ipv4: int) -> Match:
    """Match of all packets to one address."""
    return match(eth_type=ETH_TYPE_IPV4, ipv4_dst=ipv4)


def deliver_row(owner: int, host: Host) -> FlowRow:
    """Row that hands packets to the local host."""
    fields = destination_match(host.ipv4)
    planned = cookie(owner, Kind.PLANNED, 0, host.ipv4)
    return FlowRow(Table.CLASSIFY, Priority.DELIVER, fields, (Output(host.port_no),), cookie=planned)


def destination_row(owner: int, host: Host, action: Action) -> FlowRow:
    """Row for all packets to a host behind another switch."""
    fields = destination_match(host.ipv4)
    planned = cookie(owner, Kind.PLANNED, 0, host.ipv4)
    return FlowRow(Table.CLASSIFY, Priority.PRIMARY, fields, (action,), cookie=planned)
