"""What the controller tells the nodes of 1+1 protection, and how the two ends of a connection find together again.

A node that has restarted has lost its numbers. It gets those that the other end's suggest (P4-Protect, section
5.4.2): a sending end goes on ahead of all that may be under way, a receiving end with the last number given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from dataplane.model.sequence import Egress, Ingress, after_egress_restart, after_ingress_restart
from mininet_topos.errors import ArmorError
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of, node_ipv4
from ryu_apps.plan.protect.document import flow_to_data
from ryu_apps.plan.protection import Connection, Protection, flow_text

Json = Any
IN_FLIGHT = 1 << 20  # more packets than paths and queues of an emulated network can hold


class NodeError(ArmorError):
    """A node of 1+1 protection refuses a request, or answers with something that is no state."""


@dataclass(frozen=True)
class NodeState:
    """A node as it describes itself.

    Attributes
    ----------
    epoch
        Another one after each restart.
    configured
        Whether it has received its connections since.
    connections : tuple of (int, str, str, int)
        Number, both ends' addresses, slot.
    sending : mapping of (int, str) to int
        Last number given, by number and receiving end's address.
    receiving
        Last number accepted, by number.
    """

    epoch: str
    configured: bool
    connections: tuple[tuple[int, str, str, int], ...] = ()
    sending: Mapping[tuple[int, str], int] = field(default_factory=dict)
    receiving: Mapping[int, int] = field(default_factory=dict)


def read_state(value: Json) -> NodeState:
    """State from a node's answer.

    Raises
    ------
    NodeError
        The answer is an error, or no state.
    """
    try:
        if "error" in value:
            raise NodeError(f"a node of 1+1 protection says: {value['error']}")
        return NodeState(
            value["epoch"],
            value["configured"],
            tuple((number, ingress, egress, slot) for number, ingress, egress, slot in value["connections"]),
            {(row["number"], row["egress"]): row["last"] for row in value["sending"]},
            {row["number"]: row["last"] for row in value["receiving"]},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise NodeError(f"a node of 1+1 protection said {str(value)[:80]!r}, which is no state of it") from error


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
            sent = after_ingress_restart(Egress(other.receiving[each.number]), IN_FLIGHT)
            sending.append([each.number, address, sent.last])
        elif each.egress == node and (each.number, address) in other.sending:
            received = after_egress_restart(Ingress(other.sending[each.number, address]), Egress())
            receiving.append([each.number, received.last])
    return {"sending": sending, "receiving": receiving}


def protection_to_json(protection: Protection, topology: Topology, answers: Mapping[str, Json]) -> Json:
    """Flows, connections, and the counters of their ends, for `armor protect list` and `stats`.

    Parameters
    ----------
    answers : mapping of str to JSON
        Last answer of each node.
    """
    rows = []
    for each in protection.connections:
        egress = address_of(topology, each.egress)
        ends = {"sending": answers.get(each.ingress, {}), "receiving": answers.get(each.egress, {})}
        sent = [
            row for row in ends["sending"].get("sending", ()) if (row["number"], row["egress"]) == (each.number, egress)
        ]
        got = [row for row in ends["receiving"].get("receiving", ()) if row["number"] == each.number]
        rows.append(
            {
                "number": each.number,
                "from": each.ingress,
                "to": each.egress,
                "slot": each.slot,
                "sent": sent[0]["sent"] if sent else None,
                "last_sent": sent[0]["last"] if sent else None,
                **{key: got[0][key] if got else None for key in ("accepted", "duplicate", "out_of_window")},
                "last_accepted": got[0]["last"] if got else None,
            }
        )
    flows = [{**flow_to_data(flow, topology), "text": flow_text(flow)} for flow in protection.flows]
    return {"flows": flows, "connections": rows, "nodes": {node: "epoch" in each for node, each in answers.items()}}
