"""Rule plans of SQR: shortest paths through virtual ports that keep copies, and ways on for what these give back.

A link whose packets are kept has a virtual port before each of its two ports. Packets for it are output to the virtual
port, where the packet program copies them and sends them on. Once the link's port has failed, the program gives the
buffered packets, and all that follow, back to the switch by the virtual port: then rows for that in_port send them by a
loop-free alternate (plan.ffg), the paper's local rerouting. Destinations without an alternate go straight to the port,
since nothing could be done with what would be kept for them.

With a marking (section V) only marked packets take the virtual port. The others take a fast-failover group over the
same two ports: what the failed link had of them is lost, what follows its detection is not.
"""

from __future__ import annotations

from collections.abc import Iterable

from dataplane.model.marking import Marking
from mininet_topos.errors import BadInputError
from mininet_topos.ports import assign_ports
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import Host, dpid_of, hosts_of
from ryu_apps.plan.ffg import failover_group, find_alternates
from ryu_apps.plan.fields import ETH_IPV4
from ryu_apps.plan.ids import VLAN_PRESENT, Kind, Priority, Table, cookie, sqr_port
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import FlowRow, Group, Match, Output, RulePlan, match, sorted_flows
from ryu_apps.plan.shortest import deliver_row, destination_row
from te_solver.routes import NO_LINK, ResidualRoutes

OWNER = 12
_TCP = 6


def replayed_links(topology: Topology, names: Iterable[str]) -> tuple[LinkId, ...]:
    """Links whose packets are kept, by name (`TopologyError` for one that is not there)."""
    return tuple(dict.fromkeys(topology.parse_link(name) for name in names))


def virtual_ports(topology: Topology, links: Iterable[LinkId]) -> dict[tuple[str, int], int]:
    """OpenFlow port of every virtual port, by switch and the link port behind it.

    Raises
    ------
    BadInputError
        A topology gives a link the number of a virtual port.
    PlanError
        A port number is too high to have one.
    """
    ports = assign_ports(topology)
    found = {
        (direction.src, ports.port_of[direction]): sqr_port(ports.port_of[direction])
        for link in links
        for direction in topology.directions(link)
    }
    for (node, _), virtual in found.items():
        if (node, virtual) in ports.direction_at:
            raise BadInputError(f"{node} has a link on port {virtual}, where a virtual port stands; give it another")
    return found


def plan_sqr(topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Rule plans by datapath id; without `options.replayed`, plain shortest paths."""
    residual = ResidualRoutes(topology, options.routes, options.metric)
    table = residual.next_links().tolist()
    alternates = find_alternates(residual)
    ports, hosts = assign_ports(topology), hosts_of(topology)
    virtual = virtual_ports(topology, replayed_links(topology, options.replayed))
    plans = {}
    for position, node in enumerate(topology.node_names):
        flows, groups = [deliver_row(OWNER, hosts[node])], {}
        for target, primary in enumerate(table[position]):
            if primary == NO_LINK:
                continue
            host = hosts[topology.node_names[target]]
            port_no = ports.port_of[residual.links[primary].direction]
            kept_by, alternate = virtual.get((node, port_no)), alternates.get((position, target))
            if kept_by is None or alternate is None:
                flows.append(destination_row(OWNER, host, Output(port_no)))
                continue
            flows += _kept_rows(host, options.marked, kept_by, ports.port_of[residual.links[alternate].direction])
            if not options.marked.is_all:
                group = failover_group(residual, ports, primary, alternate)
                groups[group.group_id] = group
                flows.append(destination_row(OWNER, host, Group(group.group_id)))
        dpid = dpid_of(topology, node)
        plans[dpid] = RulePlan(
            dpid,
            node,
            flows=sorted_flows(flows),
            groups=tuple(groups[group_id] for group_id in sorted(groups)),
            local_ipv4=(hosts[node].ipv4,),
        )
    return plans


def _kept_rows(host: Host, marked: Marking, virtual: int, alternate_port: int) -> list[FlowRow]:
    """Rows that send packets for a host into a virtual port, and those that it gives back by the alternate."""
    planned = cookie(OWNER, Kind.PLANNED, 0, host.ipv4)

    def row(priority: Priority, fields: Match, out: int) -> FlowRow:
        return FlowRow(Table.CLASSIFY, priority, fields, (Output(out),), cookie=planned)

    given_back = match(in_port=virtual, eth_type=ETH_IPV4, ipv4_dst=host.ipv4)
    rows = [row(Priority.REPLAY, given_back, alternate_port)]
    if marked.is_all:
        return [destination_row(OWNER, host, Output(virtual)), *rows]
    return [*rows, *(row(Priority.MARKED, fields, virtual) for fields in marked_matches(host.ipv4, marked))]


def marked_matches(ipv4_dst: int, marked: Marking) -> list[Match]:
    """Matches of marked packets to one address, one for each value; a TCP port counts at either end."""
    to = {"eth_type": ETH_IPV4, "ipv4_dst": ipv4_dst}
    found = [match(**to, ip_dscp=value) for value in marked.dscp]
    found += [match(**to, vlan_vid=VLAN_PRESENT | value) for value in marked.vlans]
    for port in marked.tcp_ports:
        found += [match(**to, ip_proto=_TCP, **{end: port}) for end in ("tcp_src", "tcp_dst")]
    return found
