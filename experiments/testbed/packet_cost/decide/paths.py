"""The ways a packet can take through one switch whose cost per packet is compared: rows of real plans, one packet each.

One switch of a real network, one destination. `find_scene` picks them so that every way exists: a failure far away
that makes the switch choose another port, and a failure of the switch's own port that it can answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mininet_topos.errors import PlanError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.choices import OFF
from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.ids import Kind, Priority, Status, Table, cookie, split_cookie
from ryu_apps.plan.interpret import Packet, SwitchModel, SwitchResult, interpret_switch
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import ETH_TYPE_IPV4, tag_tci, untagged_row
from ryu_apps.plan.rows import BackupRow, FlowRow, RulePlan, match, sorted_flows
from ryu_apps.schemes import plan_network

# In the order of the tables and pictures.
PATHS: dict[str, str] = {
    "plain": "one rule: output",
    "group": "one rule: fast-failover group (FFG)",
    "two_tables": "two tables: output",
    "two_tables_group": "two tables: fast-failover group",
    "cb": "CB: state table, route, group",
    "agent": "SD-FAST, agent mode: untagged",
    "learned": "SD-FAST, learned mode: untagged",
    "learned_rule": "SD-FAST, learned mode: learned rule pushes a tag",
    "agent_rule": "SD-FAST, agent mode: the agent's rule pushes a tag",
    "cb_turned": "CB: own port down, tagged and turned",
    "cb_tagged": "CB: a tagged packet backtracks",
    "learned_tagged": "SD-FAST, learned mode: a tagged packet teaches",
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A switch, a destination, and what the switch knows about it.

    Attributes
    ----------
    node, target
        The switch, and the switch of the destination host.
    primary_port
        Port towards the destination.
    far
        Row for a failure on the primary path that the switch does not see itself.
    """

    node: str
    target: str
    primary_port: int
    far: BackupRow


@dataclass(frozen=True, slots=True)
class CostPath:
    """One way through a switch: what is installed, which packet enters where, and where it must leave.

    Attributes
    ----------
    name
        A key of `PATHS`.
    plan
        All rows and groups of the switch, those that a failure brought included.
    failed_port
        Port whose link is down.
    tag_out
        802.1Q TCI that the packet leaves with; 0: none.
    hops
        Rules that the packet matches.
    """

    name: str
    plan: RulePlan
    packet: Packet
    in_port: int
    out_port: int
    failed_port: int | None
    tag_out: int
    hops: int


def cost_paths(topology: Topology) -> tuple[CostPath, ...]:
    """Every way of `PATHS`, in its order, on the switch that `find_scene` picks.

    Raises
    ------
    PlanError
        No switch of the network has every way.
    """
    # Without notifications: their rows lead further packets through the network, which the other schemes do not have.
    learned_plans = plan_network("sdfast", topology, PlanOptions(max_failures=1, notification=OFF))
    scene = find_scene(topology, learned_plans)
    dpid, hosts = dpid_of(topology, scene.node), hosts_of(topology)
    untagged = Packet(hosts[scene.node].ipv4, hosts[scene.target].ipv4)
    tagged = replace(untagged, vlan_tci=tag_tci(scene.far.tag_id, Status.CRANKBACK))

    def plan(scheme: str, mode: str = "learned") -> RulePlan:
        return plan_network(scheme, topology, PlanOptions(mode=mode, max_failures=1, notification=OFF))[dpid]

    learned, agent, cb, group = learned_plans[dpid], plan("sdfast", "agent"), plan("cb"), plan("ffg")
    taught = _visit(topology, learned, tagged, scene.primary_port, None).learned
    host, back, down = HOST_PORT, scene.primary_port, scene.primary_port
    shortest = plan("shortest")
    ways: dict[str, tuple[RulePlan, Packet, int, int | None]] = {
        "plain": (shortest, untagged, host, None),
        "group": (group, untagged, host, None),
        "two_tables": (behind_a_state_table(shortest), untagged, host, None),
        "two_tables_group": (behind_a_state_table(group), untagged, host, None),
        "cb": (cb, untagged, host, None),
        "agent": (agent, untagged, host, None),
        "learned": (learned, untagged, host, None),
        "learned_rule": (_with_rows(learned, taught), untagged, host, None),
        "agent_rule": (_with_rows(agent, (untagged_row(scene.far),)), untagged, host, None),
        "cb_turned": (cb, untagged, host, down),
        "cb_tagged": (cb, tagged, back, None),
        "learned_tagged": (learned, tagged, back, None),
    }
    return tuple(_cost_path(topology, name, *ways[name][:3], failed_port=ways[name][3]) for name in PATHS)


def find_scene(topology: Topology, learned_plans: dict[int, RulePlan]) -> Scene:
    """First switch and destination, in node order, that have every way of `PATHS`.

    Parameters
    ----------
    learned_plans
        SD-FAST's plans in learned mode for single failures, by datapath id.

    Raises
    ------
    PlanError
        There is none: no failure anywhere makes a switch change its port for something it does not see.
    """
    ports = assign_ports(topology)
    nodes = {host.ipv4: node for node, host in hosts_of(topology).items()}
    for plan in learned_plans.values():
        primary = {row.destination: row.out_port for row in plan.backups if row.tag_id == NO_TAG}
        own_tags = {row.port_no: row.new_tag_id for row in plan.extensions if row.tag_id == NO_TAG}
        answered = {(row.destination, row.tag_id) for row in plan.backups if row.tag_id != NO_TAG}
        for row in plan.backups:
            port = primary.get(row.destination, HOST_PORT)
            far = row.crosses and row.out_port != port and row.tag_id not in own_tags.values()
            if far and (plan.node, port) in ports.direction_at and (row.destination, own_tags[port]) in answered:
                return Scene(plan.node, nodes[row.destination], port, row)
    raise PlanError(
        f"{topology.name} has no switch that changes its port for a far failure; use a network with longer cycles"
    )


def behind_a_state_table(plan: RulePlan) -> RulePlan:
    """The same rows in table ROUTE, behind a table CLASSIFY that only sends IPv4 on to it."""
    consult = FlowRow(
        Table.CLASSIFY,
        Priority.PRIMARY,
        match(eth_type=ETH_TYPE_IPV4),
        goto_table=Table.ROUTE,
        cookie=cookie(split_cookie(plan.flows[0].cookie).scheme, Kind.PLANNED),
    )
    moved = (replace(row, table_id=Table.ROUTE) for row in plan.flows)
    return replace(plan, flows=sorted_flows((consult, *moved)))


def link_ports(topology: Topology, node: str) -> tuple[int, ...]:
    """Ports of a switch with a link behind, in order."""
    return tuple(sorted(port for name, port in assign_ports(topology).direction_at if name == node))


def _with_rows(plan: RulePlan, rows: tuple[FlowRow, ...]) -> RulePlan:
    return replace(plan, flows=sorted_flows((*plan.flows, *rows)))


def _cost_path(
    topology: Topology, name: str, plan: RulePlan, packet: Packet, in_port: int, *, failed_port: int | None
) -> CostPath:
    result = _visit(topology, plan, packet, in_port, failed_port)
    if len(result.outputs) != 1 or result.punts:
        raise PlanError(f"way {name!r} at {plan.node} sends {len(result.outputs)} packets on; each way must send one")
    ((out_port, leaving, _),) = result.outputs
    return CostPath(name, plan, packet, in_port, out_port, failed_port, leaving.vlan_tci, len(result.rules))


def _visit(topology: Topology, plan: RulePlan, packet: Packet, in_port: int, failed_port: int | None) -> SwitchResult:
    live = {HOST_PORT, *link_ports(topology, plan.node)} - {failed_port}
    return interpret_switch(SwitchModel(plan), packet, in_port, frozenset(port for port in live if port is not None))
