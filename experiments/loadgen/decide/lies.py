"""Lies of a rogue switch: messages whose form is right, and whose content is not (OpenFlow 1.3.5 section 7)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

from experiments.loadgen.decide.switch import (
    LIVE,
    Heard,
    Meaning,
    Part,
    hear,
    multipart_reply,
    port_description,
)
from ryu_apps.openflow.wire import HEADER_BYTES, MsgType, header, message

_ADD, _DELETE, _MODIFY = 0, 1, 2
_LINK_DOWN, _BLOCKED = 1, 2
_LOCAL, _CONTROLLER, _ANY = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
_RESERVED = (0, _LOCAL, _CONTROLLER, _ANY, 0xFF00)
_DESCRIPTION_BYTES, _MANY_PORTS = 1056, 1000
_NAMES = (b"\xff" * 16, b"\x1b[2J\x1b[31mport\0\0", b"", b"s1-eth1\0s2-eth1\0", b"../../../../etc/")
Make = Callable[[np.random.Generator], bytes]


def port_lie(rng: np.random.Generator, ports: Sequence[int]) -> bytes:
    """A port status that is not true, or cannot be.

    It says that a port of the switch is gone, down or renamed, or that there is one with a new or reserved number.

    Parameters
    ----------
    rng : numpy.random.Generator
    ports
        Of the switch.
    """
    number = int(rng.choice([*ports, int(rng.choice(_RESERVED)), int(rng.integers(1, 1 << 32))]))
    reason = int(rng.choice([_ADD, _DELETE, _MODIFY, int(rng.integers(3, 256))]))
    name = _NAMES[int(rng.integers(len(_NAMES)))] if rng.random() < 0.5 else None
    state = int(rng.choice([0, LIVE, _LINK_DOWN, _LINK_DOWN | LIVE, _BLOCKED, 0xFFFFFFFF]))
    return message(MsgType.PORT_STATUS, struct.pack("!B7x", reason) + port_description(number, name, state))


def hear_lying_about_ports(rng: np.random.Generator, given: bytes, dpid: int, ports: Sequence[int]) -> Heard:
    """As `hear`, but a list of ports is empty, too long, has a port twice, or has numbers and names that cannot be.

    Parameters
    ----------
    rng : numpy.random.Generator
    given
        One whole message.
    dpid, ports
        Of the switch.
    """
    if _part_asked(given) != Part.PORT_DESC:
        return hear(given, dpid, ports)
    lists = (
        (),
        (*ports, *ports),
        (*ports, *_RESERVED),
        range(1, _MANY_PORTS + 1),
        tuple(int(number) for number in rng.integers(1, 1 << 32, len(ports))),
    )
    numbers = lists[int(rng.integers(len(lists)))]
    names = [_NAMES[int(place)] for place in rng.integers(len(_NAMES), size=len(numbers))]
    body = b"".join(port_description(number, name) for number, name in zip(numbers, names, strict=True))
    return Heard(Meaning.REQUEST, multipart_reply(Part.PORT_DESC, body, header(given).xid))


def description_lie(rng: np.random.Generator) -> bytes:
    """A description, or features, that nobody asked for and that describe no switch.

    Parameters
    ----------
    rng : numpy.random.Generator
    """
    return _description(rng, 0) if rng.random() < 0.5 else _features(rng, int(rng.integers(1, 1 << 63)), 0)


def hear_lying_about_itself(rng: np.random.Generator, given: bytes, dpid: int, ports: Sequence[int]) -> Heard:
    """As `hear`, but features and descriptions describe no switch; only the datapath id is right.

    Parameters
    ----------
    rng : numpy.random.Generator
    given
        One whole message.
    dpid, ports
        Of the switch.
    """
    xid = header(given).xid
    if header(given).msg_type == MsgType.FEATURES_REQUEST:
        return Heard(Meaning.FEATURES, _features(rng, dpid, xid))
    if _part_asked(given) == Part.DESC:
        return Heard(Meaning.REQUEST, _description(rng, xid))
    return hear(given, dpid, ports)


def _part_asked(given: bytes) -> int | None:
    """Type of a multipart request; None for any other message."""
    if header(given).msg_type != MsgType.MULTIPART_REQUEST or len(given) < HEADER_BYTES + 2:
        return None
    return int.from_bytes(given[HEADER_BYTES : HEADER_BYTES + 2], "big")


def _description(rng: np.random.Generator, xid: int) -> bytes:
    """Texts without an end, that are no text, with commands for a terminal; no description, or several."""
    entries = (b"\xff" * 256, b"A" * 256, b"\x1b[2J".ljust(256, b"\x07"), b"\0" * 256, rng.bytes(256))
    fill = entries[int(rng.integers(len(entries)))]
    one = (fill * 5)[:_DESCRIPTION_BYTES]
    return multipart_reply(Part.DESC, one * int(rng.choice([0, 1, 1, 1, 2, 50])), xid)


def _features(rng: np.random.Generator, dpid: int, xid: int) -> bytes:
    """Features with tables, buffers, connections and capabilities that no switch has."""
    n_buffers = int(rng.choice([0, 1, 0xFFFFFFFF]))
    n_tables, auxiliary_id = (int(each) for each in rng.choice([0, 1, 255], 2))
    capabilities, reserved = (int(each) for each in rng.choice([0, 0x4F, 0xFFFFFFFF], 2))
    body = struct.pack("!QIBB2xII", dpid, n_buffers, n_tables, auxiliary_id, capabilities, reserved)
    return message(MsgType.FEATURES_REPLY, body, xid)
