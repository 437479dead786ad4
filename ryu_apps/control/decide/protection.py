"""What the controller tells the nodes of 1+1 protection, and how the two ends of a connection find together again.

A node that has restarted has lost its numbers. It gets those that the other end's suggest (P4-Protect, section
5.4.2): a sending end goes on ahead of all that may be under way, a receiving end with the last number given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import IPv4Address
from typing import Any

from dataplane.model.node_lines import NodeState
from dataplane.model.sequence import Egress, Ingress, after_egress_restart, after_ingress_restart
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of, node_ipv4
from ryu_apps.plan.protect.document import flow_to_data
from ryu_apps.plan.protection import Connection, Protection, flow_text

Json = Any
IN_FLIGHT = 1 << 20  # more packets than paths and queues of an emulated network can hold


def address_of(topology: Topology, node: str) -> str:
    """Address of a switch as an end of connections."""
    return str(IPv4Address(node_ipv4(dpid_of(topology, node))))


def row_of(topology: Topology, connection: Connection) -> tuple[int, str, str, int]:
    """A connection as it is sent to nodes."""
    ends = address_of(topology, connection.ingress), address_of(topology, connection.egress)
    return connection.number, *ends, connection.slot


def request_for(
    node: str, connections: tuple[Connection, ...], states: Mapping[str, NodeState], topology: Topology
) -> Json | None:
    """What to tell a node; None when it has what it needs.

    Parameters
    ----------
    connections
        All that are wanted.
    states
        Nodes that have answered, this one among them.
    """
    state = states[node]
    mine = [each for each in connections if node in (each.ingress, each.egress)]
    rows = sorted(row_of(topology, each) for each in mine)
    if state.configured and sorted(state.connections) == rows:
        return None
    request: dict[str, Json] = {"connections": [list(row) for row in rows]}
    if not state.configured:
        request |= _numbers(node, mine, states, topology)
    return request


def are_served(connections: Collection[Connection], states: Mapping[str, NodeState], topology: Topology) -> bool:
    """Whether both ends of all these connections have taken them over."""
    held = {node: {row[:3] for row in state.connections} for node, state in states.items() if state.configured}
    return all(
        row_of(topology, each)[:3] in held.get(end, ()) for each in connections for end in (each.ingress, each.egress)
    )


def _numbers(
    node: str, connections: list[Connection], states: Mapping[str, NodeState], topology: Topology
) -> dict[str, list[list[Json]]]:
    """Numbers that the other ends of a restarted node's connections suggest; those that know none are left out."""
    sending: list[list[Json]] = []
    receiving: list[list[Json]] = []
    for each in connections:
        other = states.get(each.egress if each.ingress == node else each.ingress)
        if other is None or not other.configured:
            continue
        address = address_of(topology, each.egress)
        if each.ingress == node and each.number in other.receiving:
            sent = after_ingress_restart(Egress(other.receiving[each.number].last), IN_FLIGHT)
            sending.append([each.number, address, sent.last])
        elif each.egress == node and (each.number, address) in other.sending:
            received = after_egress_restart(Ingress(other.sending[each.number, address].last), Egress())
            receiving.append([each.number, received.last])
    return {"sending": sending, "receiving": receiving}


def protection_to_json(protection: Protection, topology: Topology, states: Mapping[str, NodeState | None]) -> Json:
    """Flows, connections, and the counters of their ends, for `armor protect list` and `stats`.

    Parameters
    ----------
    states
        Each node as it described itself last; None: it does not answer.
    """
    rows = []
    for each in protection.connections:
        begins, ends = states.get(each.ingress), states.get(each.egress)
        sent = begins.sending.get((each.number, address_of(topology, each.egress))) if begins else None
        got = ends.receiving.get(each.number) if ends else None
        rows.append(
            {
                "number": each.number,
                "from": each.ingress,
                "to": each.egress,
                "slot": each.slot,
                "sent": sent.sent if sent else None,
                "last_sent": sent.last if sent else None,
                "accepted": got.accepted if got else None,
                "duplicate": got.duplicate if got else None,
                "out_of_window": got.out_of_window if got else None,
                "last_accepted": got.last if got else None,
            }
        )
    flows = [{**flow_to_data(flow, topology), "text": flow_text(flow)} for flow in protection.flows]
    return {"flows": flows, "connections": rows, "nodes": {node: state is not None for node, state in states.items()}}
