"""Failover by a second tree: two trees to each switch share no direction of a link; a tag says "the second one"."""

from armor.schemes import (  # noqa: I001 - one name a line would be as long as the scheme
    ANY_TAG, ETH_TYPE_IPV4, FORGET_IN_PORT, HOST_PORT, UNTAGGED, VLAN_PRESENT, Direction, Kind, Priority, Scheme, Table,
    assign_ports, cookie, dpid_of, hosts_of, pair_group, rows,
)  # fmt: skip

NUMBER, SECOND, DELIVER = 200, VLAN_PRESENT | 1, rows.Output(HOST_PORT)


def tree(topology, root, without):
    """Next hop of each node to the root, by directions of links that are not in `without`."""
    found, waiting = {root: None}, [root]
    for node in waiting:
        for hop in (Direction(link.dst, node, link.key) for link in topology.links_from[node]):
            if hop.src not in found and hop not in without:
                found[hop.src] = hop
                waiting.append(hop.src)
    return found


def two_trees(topology, root):
    """The first tree grows by the hop that leaves most nodes a second way to the root (Lovász 1976)."""
    first = {root: None}
    while len(first) < len(topology.node_names):
        hops = [Direction(link.dst, node, link.key) for node in first for link in topology.links_from[node]]
        free = [hop for hop in hops if hop.src not in first]
        best = max(free, key=lambda hop: len(tree(topology, root, {*first.values(), hop})))
        first[best.src] = best
    return first, tree(topology, root, set(first.values()))


def row(priority, actions, ipv4=0, **fields):
    """A flow rule for what goes to an address, or, without one, for what the switch's own host sends."""
    fields |= {"eth_type": ETH_TYPE_IPV4, "ipv4_dst": ipv4} if ipv4 else {"in_port": HOST_PORT}
    mark = cookie(NUMBER, Kind.PLANNED, 0, ipv4)
    return rows.FlowRow(Table.CLASSIFY, priority, rows.match(**fields), actions, cookie=mark)


def plan(topology, _options):
    """Each switch's rules and fast failover groups, by datapath id."""
    ports, hosts, plans = assign_ports(topology).port_of, hosts_of(topology), {}
    trees = {root: two_trees(topology, root) for root in hosts}
    for node, local in hosts.items():
        flows, groups = [row(Priority.GUARD, (), vlan_vid=ANY_TAG)], {}
        flows.append(row(Priority.DELIVER, (DELIVER,), local.ipv4, vlan_vid=UNTAGGED))
        flows.append(row(Priority.DELIVER, (rows.PopVlan(), DELIVER), local.ipv4, vlan_vid=SECOND))
        for first, second, ipv4 in ((*trees[root], host.ipv4) for root, host in hosts.items() if root != node):
            out, other = ports[first[node]], ports[second.get(node, first[node])]
            group, buckets = pair_group(out, other), [rows.Bucket((rows.Output(out),), watch_port=out)]
            if node in second:
                tag = rows.PushVlan(), rows.SetField("vlan_vid", SECOND), rows.Output(other)
                buckets.append(rows.Bucket(tag, watch_port=other))
                flows.append(row(Priority.PRIMARY, (rows.Output(other),), ipv4, vlan_vid=SECOND))
            groups[group] = rows.GroupRow(group, "ff", tuple(buckets))
            flows.append(row(Priority.PRIMARY, (FORGET_IN_PORT, rows.Group(group)), ipv4, vlan_vid=UNTAGGED))
        parts = rows.sorted_flows(flows), tuple(groups[key] for key in sorted(groups))
        plans[dpid_of(topology, node)] = rows.RulePlan(dpid_of(topology, node), node, *parts, local_ipv4=(local.ipv4,))
    return plans


def guarantee(topology, _options):
    """Whether a packet arrives, by source, target and failed links: any one link, if every second tree is whole."""
    nodes = topology.node_names
    whole = all(len(two_trees(topology, root)[1]) == len(nodes) for root in nodes)
    return lambda _source, _target, failed: whole and failed.bit_count() == 1


SCHEME = Scheme(name="two_trees", number=NUMBER, summary="failover by a second, arc-disjoint tree", label="two trees",
                colour="#b35900", plan=plan, guarantee=guarantee, promise="a failed link", backtracks=True)  # fmt: skip
