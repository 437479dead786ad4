"""The app's own rows, beside every scheme: ARP and discovery frames to the controller, and hosts with foreign MACs.

Hosts of an emulated network have MAC addresses derived from their number. A host of a plain `mn` network
has another one: the row that delivers to it is then joined by one that rewrites the destination MAC first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.fields import ETH_ARP
from ryu_apps.plan.ids import Kind, Owner, Priority, Table, cookie
from ryu_apps.plan.order import canonical
from ryu_apps.plan.rows import Action, Controller, FlowRow, Output, RulePlan, SetField, match

ETH_LLDP = 0x88CC
LLDP_MULTICAST = 0x0180C200000E  # IEEE 802.1AB: nearest bridge
DEFAULT_CONTROLLER_ID = 0
_PUNT = (Controller(DEFAULT_CONTROLLER_ID),)
_PLANNED = cookie(Owner.EDGE, Kind.PLANNED)


def punt_rows(edge: bool = True, discovery: bool = True) -> tuple[FlowRow, ...]:
    """Rows that send ARP from the host port (`edge`) and discovery frames from any port to the controller."""
    arp = FlowRow(Table.CLASSIFY, Priority.EDGE, match(in_port=HOST_PORT, eth_type=ETH_ARP), _PUNT, cookie=_PLANNED)
    lldp = FlowRow(
        Table.CLASSIFY, Priority.EDGE, match(eth_dst=LLDP_MULTICAST, eth_type=ETH_LLDP), _PUNT, cookie=_PLANNED
    )
    return (arp,) * edge + (lldp,) * discovery


def foreign_rows(plan: RulePlan, mac_of: Mapping[int, int]) -> tuple[FlowRow, ...]:
    """Rows that deliver to hosts with foreign MACs.

    Parameters
    ----------
    plan
        A scheme's plan of the switch.
    mac_of
        MAC address by IPv4 address; addresses of hosts elsewhere are ignored.
    """
    rows = []
    for row in plan.flows:
        destination = next((value for name, value, mask in row.match if name == "ipv4_dst" and mask is None), None)
        if destination in plan.local_ipv4 and destination in mac_of and Output(HOST_PORT) in row.apply_actions:
            rows.append(_rewriting(row, destination, mac_of[destination]))
    return tuple(rows)


def with_edge_rows(
    plan: RulePlan, mac_of: Mapping[int, int] | None = None, edge: bool = True, discovery: bool = True
) -> RulePlan:
    """A scheme's plan with the app's own rows: what a switch really has to hold."""
    rows = (*plan.flows, *punt_rows(edge, discovery), *foreign_rows(plan, mac_of or {}))
    return canonical(replace(plan, flows=rows))


def rewritten_mac(row: FlowRow) -> int | None:
    """The MAC address that a foreign row writes; None for any other row."""
    return next(
        (action.value for action in row.apply_actions if isinstance(action, SetField) and action.field == "eth_dst"),
        None,
    )


def _rewriting(row: FlowRow, destination: int, mac: int) -> FlowRow:
    actions: list[Action] = []
    for action in row.apply_actions:
        if action == Output(HOST_PORT):
            actions.append(SetField("eth_dst", mac))
        actions.append(action)
    return replace(
        row,
        priority=Priority.DELIVER_FOREIGN,
        apply_actions=tuple(actions),
        cookie=cookie(Owner.EDGE, Kind.FOREIGN, 0, destination),
    )
