"""Lengths inside messages of a switch, checked before a parser sees them.

Ryu's parsers step through lists by the length that each entry gives itself. An entry of length 0 keeps them in place
for ever, and with them every switch of the controller: hello elements, multipart replies of flows, groups, meters and
tables, queues (the last is known as faucetsdn/ryu#118). Layouts: OpenFlow 1.3.5 section 7. Like Open vSwitch, which
checks the same (`lib/ofp-msgs.inc`), this takes a message of fixed size only when it has exactly that size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ryu_apps.openflow.wire import HEADER_BYTES, VERSION, MalformedMessageError, MsgType

_MULTIPART_BODY = HEADER_BYTES + 8
MAX_TYPE = 29  # OFPT_METER_MOD
# Requests and commands: they go to switches, and never come from one.
_OF_A_CONTROLLER = frozenset((5, 7, 9, 13, 14, 15, 16, 17, 18, 20, 22, 24, 26, 28, 29))
# By message type: bytes of what has a fixed size, and least bytes of the others that have more than a header.
_EXACT_BYTES: dict[int, int] = {
    MsgType.FEATURES_REPLY: 32,
    8: 12,
    MsgType.PORT_STATUS: 80,
    MsgType.BARRIER_REPLY: 8,
    25: 24,
    27: 32,
}
_LEAST_BYTES: dict[int, int] = {
    MsgType.ERROR: 12,
    MsgType.EXPERIMENTER: 16,
    MsgType.PACKET_IN: 34,
    MsgType.FLOW_REMOVED: 56,
    MsgType.MULTIPART_REPLY: _MULTIPART_BODY,
    MsgType.QUEUE_REPLY: _MULTIPART_BODY,
}
# Where a message has its match, and how many bytes must follow that: two of padding before the packet.
_MATCHES: dict[int, tuple[int, int]] = {MsgType.PACKET_IN: (24, 2), MsgType.FLOW_REMOVED: (48, 0)}
# Bytes of each entry of the multipart replies whose entries have a fixed size.
_FIXED_PARTS = {0: 1056, 2: 24, 3: 24, 4: 112, 5: 40, 8: 40, 11: 16, 13: 64}


@dataclass(frozen=True, slots=True)
class _List:
    """A list of entries that say how long they are.

    Attributes
    ----------
    length_at
        Where an entry has its 16-bit length.
    least
        Bytes that every entry has.
    inner
        (message, start of the entry, its end) -> None; checks lists inside it.
    is_padded
        Whether entries are padded to 8 bytes, which their length does not count.
    """

    name: str
    length_at: int
    least: int
    inner: Callable[[bytes, int, int], None] | None = None
    is_padded: bool = False

    def check(self, message: bytes, start: int, end: int) -> None:
        """Refuse an entry that is shorter than its fixed part, or runs over the end."""
        at = start
        while at < end:
            length = int.from_bytes(message[at + self.length_at : at + self.length_at + 2], "big")
            if length < self.least or at + length > end:
                raise MalformedMessageError(
                    f"{self.name} of length {length} at byte {at}: at least {self.least}, and {end - at} are left"
                )
            if self.inner is not None:
                self.inner(message, at, at + length)
            at += length + (-length % 8 if self.is_padded else 0)


_ACTIONS = _List("an action", 2, 8)


def _instruction(message: bytes, start: int, end: int) -> None:
    if int.from_bytes(message[start : start + 2], "big") in (3, 4):  # write and apply actions
        _ACTIONS.check(message, start + 8, end)


_INSTRUCTIONS = _List("an instruction", 2, 8, _instruction)


def _check_match(message: bytes, at: int, end: int) -> int:
    """Refuse a match, or a field of it, that runs over its end; where the match ends with its padding."""
    length = int.from_bytes(message[at + 2 : at + 4], "big")
    padded_end = at + length + -length % 8
    if length < 4 or padded_end > end:
        raise MalformedMessageError(f"a match of length {length} at byte {at} is not whole")
    field = at + 4
    while field < at + length:
        field += 4 + int.from_bytes(message[field + 3 : field + 4], "big")
        if field > at + length:
            raise MalformedMessageError(f"a field of the match at byte {at} runs over its end")
    return padded_end


def _flow(message: bytes, start: int, end: int) -> None:
    _INSTRUCTIONS.check(message, _check_match(message, start + 48, end), end)


def _within(inner: _List, offset: int) -> Callable[[bytes, int, int], None]:
    return lambda message, start, end: inner.check(message, start + offset, end)


_BUCKETS = _List("a bucket", 0, 16, _within(_ACTIONS, 16))
_IDS = _List("an instruction or action id", 2, 4)


def _table_property(message: bytes, start: int, end: int) -> None:
    if int.from_bytes(message[start : start + 2], "big") in (0, 1, 4, 5, 6, 7):  # instructions and actions
        _IDS.check(message, start + 4, end)


_PROPERTIES = _List("a table property", 2, 4, _table_property, is_padded=True)
_VERSION_BITMAP, _VERSIONS = 1, 256  # a version is one byte of the header


def _hello_element(message: bytes, start: int, end: int) -> None:
    kind, most = int.from_bytes(message[start : start + 2], "big"), 4 + _VERSIONS // 8
    if kind == _VERSION_BITMAP and end - start > most:
        raise MalformedMessageError(f"a bitmap of versions of length {end - start} at byte {start}: at most {most}")


# Ryu steps over hello elements by their length alone; Open vSwitch's has 8 bytes, where padding makes no difference.
_HELLO_ELEMENTS = _List("a hello element", 2, 4, _hello_element)
_QUEUES = _List("a queue", 8, 16, _within(_List("a queue property", 2, 8), 16))
# Multipart types whose entries say how long they are.
_LISTED_PARTS = {
    1: _List("a flow", 0, 56, _flow),
    6: _List("statistics of a group", 0, 40),
    7: _List("a group", 0, 8, _within(_BUCKETS, 8)),
    9: _List("statistics of a meter", 4, 40),
    10: _List("a meter", 0, 8, _within(_List("a meter band", 2, 12), 8)),
    12: _List("table features", 0, 64, _within(_PROPERTIES, 64)),
}


def check_received(message: bytes, version: int) -> None:
    """Refuse a message of a switch that a parser must not see.

    Parameters
    ----------
    message
        One whole message.
    version
        What was agreed on, or is offered while nothing is. Of other versions than 1.3 only hello has its list checked.

    Raises
    ------
    MalformedMessageError
        It is shorter or longer than its type allows, an entry of a list has an impossible length, only controllers
        send its type, or its version is another.
    """
    kind, size = message[1], len(message)
    if kind == MsgType.HELLO:
        if message[0] >= VERSION:  # older ones have no elements
            _HELLO_ELEMENTS.check(message, HEADER_BYTES, size)
        return
    if size < _LEAST_BYTES.get(kind, HEADER_BYTES):
        raise MalformedMessageError(f"a message of type {kind} has {size} bytes; it is truncated")
    if kind in (MsgType.ERROR, MsgType.ECHO_REQUEST, MsgType.ECHO_REPLY):
        return  # no lists, and allowed before a version is agreed on
    if message[0] != version:
        raise MalformedMessageError(f"a message of version {message[0]:#04x} where {version:#04x} is spoken")
    if version == VERSION:
        _check_body(message, kind, size)


def _check_body(message: bytes, kind: int, size: int) -> None:
    if kind > MAX_TYPE or kind in _OF_A_CONTROLLER:
        whose = "only controllers send it" if kind <= MAX_TYPE else f"OpenFlow 1.3 has types 0 to {MAX_TYPE}"
        raise MalformedMessageError(f"a message of type {kind} from a switch; {whose}")
    if size != _EXACT_BYTES.get(kind, size):
        raise MalformedMessageError(f"a message of type {kind} has {size} bytes, not {_EXACT_BYTES[kind]}")
    if kind in _MATCHES:
        match_at, more_bytes = _MATCHES[kind]
        if _check_match(message, match_at, size) + more_bytes > size:
            raise MalformedMessageError(f"a message of type {kind} ends with its match at byte {match_at}")
    elif kind == MsgType.MULTIPART_REPLY:
        _check_part(message, size)
    elif kind == MsgType.QUEUE_REPLY:
        _QUEUES.check(message, _MULTIPART_BODY, size)


def _check_part(message: bytes, size: int) -> None:
    part = int.from_bytes(message[HEADER_BYTES : HEADER_BYTES + 2], "big")
    if part in _LISTED_PARTS:
        _LISTED_PARTS[part].check(message, _MULTIPART_BODY, size)
    elif (size - _MULTIPART_BODY) % _FIXED_PARTS.get(part, 1):
        raise MalformedMessageError(
            f"a multipart reply of type {part} has {size - _MULTIPART_BODY} bytes, "
            f"no multiple of the {_FIXED_PARTS[part]} of an entry"
        )
