"""FFG: fast-failover groups with a loop-free alternate, and nothing where there is none.

The alternate of (switch v, destination t) is a neighbour whose own primary path to t avoids v (the
loop-free condition of RFC 5286, decided on the installed paths, so ties count right).
"""

from __future__ import annotations

from mininet_topos.ports import PortMap, assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.ids import pair_group
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import Bucket, Group, GroupRow, Output, RulePlan, sorted_flows
from ryu_apps.plan.shortest import deliver_row, destination_row
from te_solver.routes import NO_LINK, ResidualRoutes


def find_alternates(residual: ResidualRoutes) -> dict[tuple[int, int], int]:
    """Loop-free alternate link of every (node, destination) that has one.

    Returns
    -------
    (node position, destination position) -> index into `residual.links`; cheapest first, ties
    in link order.
    """
    table = residual.next_links().tolist()
    order = residual.topology.index_of
    ends = [order[link.dst] for link in residual.links]
    distance = residual.distances()
    passes = _nodes_on_paths(table, ends)
    found: dict[tuple[int, int], tuple[float, int]] = {}
    for number, link in enumerate(residual.links):
        node, neighbour = order[link.src], ends[number]
        for target in range(len(order)):
            primary = table[node][target]
            if primary in (NO_LINK, number) or passes[neighbour][target] >> node & 1:
                continue
            offer = residual.cost(number) + float(distance[neighbour, target]), number
            if neighbour == target or table[neighbour][target] != NO_LINK:
                found[node, target] = min(found.get((node, target), offer), offer)
    return {key: number for key, (_, number) in found.items()}


def plan_ffg(topology: Topology, options: PlanOptions, owner: int) -> dict[int, RulePlan]:
    """Rule plans of FFG, by datapath id; the cookies name `owner`."""
    residual = ResidualRoutes(topology, options.routes, options.metric)
    table = residual.next_links().tolist()
    alternates = find_alternates(residual)
    ports = assign_ports(topology)
    hosts = hosts_of(topology)
    plans = {}
    for position, node in enumerate(topology.node_names):
        flows, groups = [deliver_row(owner, hosts[node])], {}
        for target, primary in enumerate(table[position]):
            if primary == NO_LINK:
                continue
            group = failover_group(residual, ports, primary, alternates.get((position, target)))
            groups[group.group_id] = group
            flows.append(destination_row(owner, hosts[topology.node_names[target]], Group(group.group_id)))
        dpid = dpid_of(topology, node)
        plans[dpid] = RulePlan(
            dpid,
            node,
            flows=sorted_flows(flows),
            groups=tuple(groups[group_id] for group_id in sorted(groups)),
            local_ipv4=(hosts[node].ipv4,),
        )
    return plans


def failover_group(residual: ResidualRoutes, ports: PortMap, primary: int, alternate: int | None) -> GroupRow:
    """Fast-failover group over a primary link and its alternate, both indexes into `residual.links`."""
    chosen = [primary] if alternate is None else [primary, alternate]
    port_nos = [ports.port_of[residual.links[link].direction] for link in chosen]
    buckets = tuple(Bucket((Output(port_no),), watch_port=port_no) for port_no in port_nos)
    return GroupRow(pair_group(port_nos[0], port_nos[-1]), "ff", buckets)


def _nodes_on_paths(table: list[list[int]], ends: list[int]) -> list[list[int]]:
    """Mask of the nodes on the primary path of every (node, destination), both ends included."""
    nodes = range(len(table))
    passes = [[0] * len(table) for _ in nodes]
    for target in nodes:
        for start in nodes:
            chain, node = [], start
            while not passes[node][target] and table[node][target] != NO_LINK:
                chain.append(node)
                node = ends[table[node][target]]
            mask = passes[node][target] | 1 << node
            passes[node][target] = mask
            for passed in reversed(chain):
                mask |= 1 << passed
                passes[passed][target] = mask
    return passes
