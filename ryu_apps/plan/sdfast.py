"""SD-FAST as rule plans: learned mode (data plane only) and agent mode (the paper's).

Learned mode
    CLASSIFY sends every IPv4 packet through LEARNED (which may give it a tag) to ROUTE, which
    knows (tag, destination) -> port group. A port group is a fast-failover group: the port while
    it lives, else EXTEND, which adds the failed link to the tag and asks ROUTE again. ROUTE rows
    carry `learn`, so the first tagged packet that passes a switch notifies it of the failure.
Agent mode
    CLASSIFY holds plain `output` primaries. Backup rows wait in OVSDB; the agent moves them into
    CLASSIFY (untagged) and ROUTE (tagged) when a port fails or a tagged packet is punted to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import Host, dpid_of, hosts_of
from ryu_apps.plan.backup_planner import BackupPlanner, SwitchRows
from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.ids import (
    AGENT_CONTROLLER_ID,
    ALWAYS_LIVE_GROUP,
    STATUS_BITS,
    VLAN_PRESENT,
    Kind,
    Priority,
    Table,
    cookie,
    port_group,
)
from ryu_apps.plan.notification import (
    afresh_rows,
    agent_notification_rows,
    notification_rows,
    notifying_extension,
)
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import (
    ANY_TAG,
    ETH_TYPE_IPV4,
    FORGET_IN_PORT,
    OWNER,
    PCP_BITS,
    UNTAGGED,
    commodity_match,
    learned_route_row,
    tag_tci,
    tags_learned_from,
)
from ryu_apps.plan.rows import (
    Action,
    BackupRow,
    Bucket,
    Controller,
    ExtensionRow,
    FlowRow,
    Group,
    GroupRow,
    Load,
    Match,
    Output,
    PopVlan,
    Resubmit,
    RulePlan,
    match,
    sorted_flows,
)

_PLANNED = cookie(OWNER, Kind.PLANNED)
_FAILED_PORT_REGISTER = "reg2"


def plan_sdfast(topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Rule plans of SD-FAST, by datapath id.

    Raises
    ------
    PlanLimitError
        More failed sets than the 4094 tag ids.
    """
    planner = BackupPlanner(topology, options)
    hosts = hosts_of(topology)
    plans = {}
    for position, rows in planner.rows().items():
        node = topology.node_names[position]
        dpid = dpid_of(topology, node)
        plans[dpid] = RulePlan(
            dpid,
            node,
            flows=sorted_flows(
                [*_flows(hosts[node], rows, options), *_notification_flows(planner, node, rows, options)]
            ),
            groups=() if options.uses_agent else _port_groups(topology, node),
            backups=tuple(sorted(rows.backups, key=lambda row: (row.destination, row.source or 0, row.tag_id))),
            extensions=tuple(sorted(rows.extensions, key=lambda row: (row.tag_id, row.port_no))),
            local_ipv4=(hosts[node].ipv4,),
            tag_space=(planner.sets.n_links, planner.sets.max_failures),
        )
    return plans


def _flows(host: Host, rows: SwitchRows, options: PlanOptions) -> Iterable[FlowRow]:
    yield _planned(Table.CLASSIFY, Priority.GUARD, match(in_port=HOST_PORT, vlan_vid=ANY_TAG), ())
    if not options.uses_agent:
        yield from _learned_mode_flows(host, rows, options)
    else:
        yield from _agent_mode_flows(host, rows)


def _notification_flows(planner: BackupPlanner, node: str, rows: SwitchRows, options: PlanOptions) -> Iterable[FlowRow]:
    if not options.floods or not planner.sets.max_failures:
        return ()
    ports = assign_ports(planner.topology)
    link_ports = [ports.port_of[link.direction] for link in planner.topology.links_from[node]]
    if options.uses_agent:
        return agent_notification_rows(planner.sets, link_ports, options.hard_timeout_s)
    primaries = [row for row in rows.backups if row.tag_id == NO_TAG]
    first = [row for row in rows.extensions if row.tag_id == NO_TAG]
    return (
        *notification_rows(rows.notified, planner.sets, link_ports, options.hard_timeout_s),
        *afresh_rows(primaries, first),
    )


def _learned_mode_flows(host: Host, rows: SwitchRows, options: PlanOptions) -> Iterable[FlowRow]:
    consult = (FORGET_IN_PORT, Resubmit(Table.LEARNED))
    yield _planned(Table.CLASSIFY, Priority.PRIMARY, match(eth_type=ETH_TYPE_IPV4), consult, Table.ROUTE)
    local = {"eth_type": ETH_TYPE_IPV4, "ipv4_dst": host.ipv4}
    deliver = Output(host.port_no)
    yield _planned(Table.ROUTE, Priority.DELIVER, match(**local, vlan_vid=UNTAGGED), (deliver,))
    yield _planned(Table.ROUTE, Priority.DELIVER, match(**local, vlan_vid=ANY_TAG), (PopVlan(), deliver))
    for backup in rows.backups:
        if backup.tag_id == NO_TAG:
            yield _primary(Table.ROUTE, backup, Group(port_group(backup.out_port)))
        else:
            learned = rows.learned.get(backup.key) if options.floods else None
            taught = tags_learned_from(backup) if learned is None else learned
            pcp_bits = STATUS_BITS if options.floods else PCP_BITS
            yield learned_route_row(backup, taught, options.hard_timeout_s, pcp_bits=pcp_bits)
    yield from (_extension_flow(row, options) for row in rows.extensions)


def _agent_mode_flows(host: Host, rows: SwitchRows) -> Iterable[FlowRow]:
    local = {"eth_type": ETH_TYPE_IPV4, "ipv4_dst": host.ipv4}
    punt = Controller(AGENT_CONTROLLER_ID)
    deliver = Output(host.port_no)
    tagged = match(eth_type=ETH_TYPE_IPV4, vlan_vid=ANY_TAG)
    yield _planned(Table.CLASSIFY, Priority.DELIVER, match(**local, vlan_vid=UNTAGGED), (deliver,))
    yield _planned(Table.CLASSIFY, Priority.PRIMARY, tagged, (), Table.ROUTE)
    yield _planned(Table.ROUTE, Priority.DELIVER, match(**local, vlan_vid=ANY_TAG), (punt, PopVlan(), deliver))
    yield _planned(Table.ROUTE, Priority.PUNT, tagged, (punt,))
    for backup in rows.backups:
        if backup.tag_id == NO_TAG:
            yield _primary(Table.CLASSIFY, backup, Output(backup.out_port))


def _primary(table: Table, backup: BackupRow, action: Action) -> FlowRow:
    return FlowRow(
        table,
        Priority.PRIMARY,
        commodity_match(backup.destination, backup.source, NO_TAG),
        (action,),
        cookie=cookie(OWNER, Kind.PLANNED, NO_TAG, backup.destination),
    )


def _extension_flow(row: ExtensionRow, options: PlanOptions) -> FlowRow:
    fields = {
        "vlan_vid": VLAN_PRESENT | row.tag_id if row.tag_id else UNTAGGED,
        _FAILED_PORT_REGISTER: row.port_no,
    }
    if options.floods:
        fields["eth_type"] = ETH_TYPE_IPV4  # as everything here, but recirculation asks the match to say it
        return _planned(Table.EXTEND, Priority.PRIMARY, match(**fields), notifying_extension(row.new_tag_id))
    extend = (Load("vlan_tci", 0, 16, tag_tci(row.new_tag_id, 0)), Resubmit(Table.ROUTE))
    return _planned(Table.EXTEND, Priority.PRIMARY, match(**fields), extend)


def _port_groups(topology: Topology, node: str) -> tuple[GroupRow, ...]:
    """One fast-failover group per link port, and the group that is always live."""
    ports = assign_ports(topology)
    groups = [GroupRow(ALWAYS_LIVE_GROUP, "all", (Bucket(()),))]
    for link in topology.links_from[node]:
        port_no = ports.port_of[link.direction]
        extend = (Load(_FAILED_PORT_REGISTER, 0, 32, port_no), Resubmit(Table.EXTEND))
        buckets = (
            Bucket((Output(port_no),), watch_port=port_no),
            Bucket(extend, watch_group=ALWAYS_LIVE_GROUP),
        )
        groups.append(GroupRow(port_group(port_no), "ff", buckets))
    return tuple(sorted(groups, key=lambda group: group.group_id))


def _planned(
    table: Table, priority: Priority, fields: Match, actions: tuple[Action, ...], goto: Table | None = None
) -> FlowRow:
    return FlowRow(table, priority, fields, actions, goto_table=goto, cookie=_PLANNED)
