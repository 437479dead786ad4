"""SD-FAST with SQR before the ports of some links: a failure of such a link loses no packet.

SD-FAST reroutes a packet for a failed port; what was sent into the link before anybody noticed is lost. Here packets
for a buffered link go through its virtual port (plan.sqr): once the link has failed, that gives back the buffered
packets and all that follow, in order.

In learned mode they are extended like any packet that meets a failed port. So the port's group has no bucket that
watches the port: nobody but the virtual port decides that it is down.

In agent mode they take the rows that the agent has put there for the failed port. Until it has, the virtual port must
hold everything back (its reconfiguration time): what it gives back without such a row goes into the link itself, which
is right only once the link is up again and the agent has taken its rows away.
"""

from __future__ import annotations

from dataclasses import replace

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.ids import Kind, Priority, Table, cookie, port_group
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import ETH_TYPE_IPV4, UNTAGGED
from ryu_apps.plan.rows import Bucket, FlowRow, GroupRow, Load, Output, Resubmit, RulePlan, match, sorted_flows
from ryu_apps.plan.sdfast import plan_sdfast
from ryu_apps.plan.sqr.plan import OWNER, replayed_links, virtual_ports

_COOKIE = cookie(OWNER, Kind.PLANNED)


def plan_lossless(topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Rule plans by datapath id; without `options.replayed`, those of SD-FAST.

    Raises
    ------
    PlanLimitError
        As `plan_sdfast`.
    BadInputError
        Packets are marked by VLAN id: SD-FAST's tags are VLAN ids.
    """
    if options.marked.vlans:
        raise BadInputError(
            f"packets marked by {options.marked}, but SD-FAST's tags are VLAN ids; under lossless mark by dscp or tcp"
        )
    plans = plan_sdfast(topology, options)
    changed = _beside_the_agent if options.uses_agent else _in_the_group
    for (node, port_no), virtual in virtual_ports(topology, replayed_links(topology, options.replayed)).items():
        dpid = dpid_of(topology, node)
        plans[dpid] = changed(plans[dpid], port_no, virtual)
    return plans


def _beside_the_agent(plan: RulePlan, port_no: int, virtual: int) -> RulePlan:
    """Untagged packets for the port go through its virtual port; what that gives back is left to the agent's rows."""
    direct = (Output(port_no),)
    flows = (
        replace(row, apply_actions=(Output(virtual),))
        if (row.table_id, row.priority, row.apply_actions) == (Table.CLASSIFY, Priority.PRIMARY, direct)
        else row
        for row in plan.flows
    )
    given_back = FlowRow(
        Table.CLASSIFY,
        Priority.UNREPLAYED,
        match(in_port=virtual, eth_type=ETH_TYPE_IPV4, vlan_vid=UNTAGGED),
        direct,
        cookie=_COOKIE,
    )
    return replace(plan, flows=sorted_flows((*flows, given_back)))


def _in_the_group(plan: RulePlan, port_no: int, virtual: int) -> RulePlan:
    kept = GroupRow(port_group(port_no), "indirect", (Bucket((Output(virtual),)),))
    groups = tuple(kept if group.group_id == kept.group_id else group for group in plan.groups)
    given_back = FlowRow(
        Table.CLASSIFY,
        Priority.REPLAY,
        match(in_port=virtual, eth_type=ETH_TYPE_IPV4),
        (Load("reg2", 0, 32, port_no), Resubmit(Table.EXTEND)),
        cookie=_COOKIE,
    )
    return replace(plan, flows=sorted_flows((*plan.flows, given_back)), groups=groups)
