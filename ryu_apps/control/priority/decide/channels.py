"""Which connections a switch has under PSO, and what goes over each.

A switch has one *main* connection, of the class of traffic type 1, which is the datapath that apps see. State never
travels anywhere else, unless the table says `by_class`: commands, requests, replies, port status. It must not be lost
when a connection falls, and a barrier holds for one connection alone. Each other class has a connection that carries
what the network may lose anyway: packet-ins to the controller, packet-outs to the switch.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ryu_apps.control.priority.decide.queue import Kind
from ryu_apps.openflow.wire import HEADER_BYTES, MalformedMessageError, MsgType, WireError
from ryu_apps.pmt.channels import channel_rows, main_class
from ryu_apps.pmt.rules import UNMATCHED_CLASS, PolicyMapTable


@dataclass(frozen=True, slots=True)
class Connection:
    """One controller connection of a switch: its class, the controller's TCP port, and the DSCP of its packets."""

    class_id: int
    port: int
    dscp: int
    is_main: bool


def connections(table: PolicyMapTable, main_port: int) -> tuple[Connection, ...]:
    """Connections of a switch, the main connection first.

    Parameters
    ----------
    main_port
        TCP port where the controller expects main connections; class k has `main_port` + 1 + k.

    Raises
    ------
    PmtError
        More queues than class selectors.
    """
    main = main_class(table)
    rows = [
        Connection(class_id, main_port if class_id == main else main_port + 1 + class_id, row.dscp, class_id == main)
        for class_id, row in enumerate(channel_rows(table))
    ]
    return tuple(sorted(rows, key=lambda row: not row.is_main))


def class_order(table: PolicyMapTable) -> tuple[int, ...]:
    """Class ids, most urgent first."""
    return (*(each.class_id for each in table.classes), UNMATCHED_CLASS)


def controller_ids(table: PolicyMapTable, ready: Collection[int]) -> dict[int, int]:
    """Controller id to which the packet-ins of each class go, while only some per-class connections stand.

    Parameters
    ----------
    ready
        Classes whose own connection has got its id.

    Returns
    -------
    Class to id. A class without a connection of its own shares the main connection, and never loses packet-ins.
    """
    own_main_id = main_id(table, ready)
    return {each: each if each in ready else own_main_id for each in class_order(table)}


def main_id(table: PolicyMapTable, ready: Collection[int]) -> int:
    """Controller id of the main connection: 0, to which plain `output:CONTROLLER` goes, unless class 0 has its own."""
    return main_class(table) if UNMATCHED_CLASS in ready else UNMATCHED_CLASS


def switch_of(known: int | None, features_reply: bytes) -> int:
    """Datapath id that a FEATURES_REPLY gives to its connection, which stays that of one switch.

    Parameters
    ----------
    known
        What the connection has said before; None: nothing yet.

    Raises
    ------
    WireError
        It says another id than before, or is truncated.
    """
    end = HEADER_BYTES + 8
    if len(features_reply) < end:
        raise MalformedMessageError(f"a FEATURES_REPLY of {len(features_reply)} bytes; it is truncated")
    dpid = int.from_bytes(features_reply[HEADER_BYTES:end], "big")  # it is decoded once, for the apps
    if known is not None and known != dpid:
        raise WireError(f"it claims datapath id {dpid:#x}, and has claimed {known:#x} before; a connection has one")
    return dpid


@dataclass(frozen=True, slots=True)
class Treatment:
    """How a message stands to barriers, and whether it may be dropped."""

    kind: Kind
    may_be_dropped: bool = False


_ECHOES = (MsgType.ECHO_REQUEST, MsgType.ECHO_REPLY)


def receive_treatment(msg_type: int) -> Treatment:
    """Treatment of a message from a switch.

    A barrier reply says that what was asked before has its replies and errors (OpenFlow 1.3.5 section 6.2), so those
    do not pass it. Packet-ins answer nothing: they pass, and a switch may drop them itself.
    """
    if msg_type == MsgType.PACKET_IN:
        return Treatment(Kind.FREE, may_be_dropped=True)
    if msg_type in _ECHOES:
        return Treatment(Kind.FREE)
    return Treatment(Kind.BARRIER if msg_type == MsgType.BARRIER_REPLY else Kind.ORDERED)


def send_treatment(msg_type: int) -> Treatment:
    """Treatment of a message to a switch: all but echoes heed barriers; only packet-outs may be dropped."""
    if msg_type in _ECHOES:
        return Treatment(Kind.FREE)
    if msg_type == MsgType.BARRIER_REQUEST:
        return Treatment(Kind.BARRIER)
    return Treatment(Kind.ORDERED, may_be_dropped=msg_type == MsgType.PACKET_OUT)
