"""Reads the rows that a switch holds, over its management socket."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mininet_topos.errors import ArmorError
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import MsgType, header, split_messages
from ryu_apps.plan.rows import FlowRow, GroupRow

Entry = TypeVar("Entry")
FlowEntry = TypeVar("FlowEntry")
GroupEntry = TypeVar("GroupEntry")

_TIMEOUT_S = 10.0
_RECEIVE_BYTES = 1 << 18
_MULTIPART_HEADER_BYTES = 16


class DumpError(ArmorError):
    """A switch does not say what it holds."""


@dataclass(frozen=True)
class Held:
    """Rows of a switch; `foreign` counts those in words that a plan does not speak."""

    flows: tuple[FlowRow, ...]
    groups: tuple[GroupRow, ...]
    foreign: int


def read_switch(management: Path) -> Held:
    """Flows and groups of a switch.

    Parameters
    ----------
    management
        The bridge's OpenFlow management socket.

    Raises
    ------
    DumpError
        No connection, or no whole answer in time.
    """
    flows, groups = _read(management, decode.decode_flow_stats, decode.decode_group_desc)
    return Held(
        flows=tuple(stat.row for stat in flows if stat.row is not None),
        groups=tuple(stat.row for stat in groups if stat.row is not None),
        foreign=sum(stat.row is None for stat in flows) + sum(stat.row is None for stat in groups),
    )


def fingerprint(management: Path) -> frozenset[bytes]:
    """Flows and groups of a switch as they come on the wire, counters and ages blanked.

    Two equal fingerprints are equal rows; it takes a tenth of the time that reading them as values takes.

    Raises
    ------
    DumpError
        No connection, or no whole answer in time.
    """
    flows, groups = _read(management, _blank_flows, _raw_entries)
    return frozenset((*flows, *groups))


def _read(
    management: Path,
    flows_of: Callable[[bytes], tuple[list[FlowEntry], bool]],
    groups_of: Callable[[bytes], tuple[list[GroupEntry], bool]],
) -> tuple[list[FlowEntry], list[GroupEntry]]:
    """Flows and groups of a switch, as two readers of reply messages give them."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(str(management))
            connection.sendall(encode.hello())
            flows = _ask(connection, encode.flow_stats_request(xid=1), flows_of)
            return flows, _ask(connection, encode.group_desc_request(xid=2), groups_of)
    except OSError as error:
        raise DumpError(f"{management} does not answer ({error}); is its ovs-vswitchd running?") from error


def _raw_entries(message: bytes) -> tuple[list[bytes], bool]:
    """Entries of one part of a multipart reply, each led by its length (OpenFlow 1.3.5, 7.3.5), and if more come."""
    (flags,) = struct.unpack_from("!H", message, 10)
    entries, offset = [], _MULTIPART_HEADER_BYTES
    while offset < len(message):
        (length,) = struct.unpack_from("!H", message, offset)
        entries.append(bytes(message[offset : offset + length]))
        offset += length
    return entries, bool(flags & 1)


def _blank_flows(message: bytes) -> tuple[list[bytes], bool]:
    """ofp_flow_stats without duration (bytes 4 to 11) and counters (32 to 47)."""
    entries, more = _raw_entries(message)
    return [entry[:4] + entry[12:32] + entry[48:] for entry in entries], more


def _ask(
    connection: socket.socket, request: bytes, decoder: Callable[[bytes], tuple[list[Entry], bool]]
) -> list[Entry]:
    """Entries of all parts of the answer to a multipart request."""
    connection.sendall(request)
    xid = header(request).xid
    entries: list[Entry] = []
    rest = b""
    while True:
        data = connection.recv(_RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError("it closed the connection")
        messages, rest = split_messages(rest + data)
        for message in messages:
            kind = header(message)
            if kind.msg_type == MsgType.ECHO_REQUEST:
                connection.sendall(encode.echo_reply(message))
            elif kind.xid == xid and kind.msg_type == MsgType.ERROR:
                raise DumpError(f"the switch refuses to say what it holds: {decode.decode_error(message)}")
            elif kind.xid == xid and kind.msg_type == MsgType.MULTIPART_REPLY:
                part, more = decoder(message)
                entries += part
                if not more:
                    return entries
