"""SD-FAST in learned mode with SQR before the ports of some links: a cut of such a link loses no packet.

SD-FAST sends a packet for a dead port round; what was sent into the link before anybody noticed is lost. Here packets
for a kept link go through its virtual port (plan.sqr): once the link has died, that gives back the kept packets and all
that follow, in order, and they are escalated like any packet that meets a dead port. So the port's group has no bucket
that watches the port: nobody but the virtual port decides that it is dead.
"""

from __future__ import annotations

from dataclasses import replace

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.ids import Kind, Priority, SchemeId, Table, cookie, port_group
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import ETH_TYPE_IPV4
from ryu_apps.plan.rows import Bucket, FlowRow, GroupRow, Load, Output, Resubmit, RulePlan, match, sorted_flows
from ryu_apps.plan.sdfast import plan_sdfast
from ryu_apps.plan.sqr.plan import replayed_links, virtual_ports


def plan_lossless(topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Rule plans by datapath id; without `options.replayed`, those of SD-FAST.

    Raises
    ------
    BadInputError
        Agent mode: its rows come after the failure, and what is given back before them would be lost.
    PlanLimitError
        As `plan_sdfast`.
    """
    if options.mode != "learned":
        raise BadInputError(f"scheme lossless has mode learned only, not {options.mode!r}; leave the mode out")
    plans = plan_sdfast(topology, options)
    for (node, port_no), virtual in virtual_ports(topology, replayed_links(topology, options.replayed)).items():
        dpid = dpid_of(topology, node)
        plans[dpid] = _with_virtual_port(plans[dpid], port_no, virtual)
    return plans


def _with_virtual_port(plan: RulePlan, port_no: int, virtual: int) -> RulePlan:
    kept = GroupRow(port_group(port_no), "indirect", (Bucket((Output(virtual),)),))
    groups = tuple(kept if group.group_id == kept.group_id else group for group in plan.groups)
    given_back = FlowRow(
        Table.CLASSIFY,
        Priority.REPLAY,
        match(in_port=virtual, eth_type=ETH_TYPE_IPV4),
        (Load("reg2", 0, 32, port_no), Resubmit(Table.ESCALATE)),
        cookie=cookie(SchemeId.SQR, Kind.PLANNED),
    )
    return replace(plan, flows=sorted_flows((*plan.flows, given_back)), groups=groups)
