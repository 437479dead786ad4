"""Reads the rows that a switch holds, over its management socket."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mininet_topos.errors import ArmorError
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import MsgType, header, split_messages
from ryu_apps.plan.rows import FlowRow, GroupRow

Entry = TypeVar("Entry")

_TIMEOUT_S = 10.0
_RECEIVE_BYTES = 1 << 18


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
    management : Path
        The bridge's OpenFlow management socket.

    Raises
    ------
    DumpError
        No connection, or no whole answer in time.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(str(management))
            connection.sendall(encode.hello())
            flows = _ask(connection, encode.flow_stats_request(xid=1), decode.decode_flow_stats)
            groups = _ask(connection, encode.group_desc_request(xid=2), decode.decode_group_desc)
    except OSError as error:
        raise DumpError(f"{management} does not answer ({error}); is its ovs-vswitchd running?") from error
    return Held(
        flows=tuple(stat.row for stat in flows if stat.row is not None),
        groups=tuple(stat.row for stat in groups if stat.row is not None),
        foreign=sum(stat.row is None for stat in flows) + sum(stat.row is None for stat in groups),
    )


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
