"""What the controller and a node of 1+1 protection say to each other, a line of JSON each way, read strictly.

Either end may be broken or hostile. What has another form is refused in a sentence before any of it is used: a request
by the node, a state by the controller, which goes on with the other nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address
from typing import Any, NamedTuple

from dataplane.model.protection_node import Connection
from dataplane.model.sequence import NUMBER_BITS, Egress, Ingress
from dataplane.model.tunnel_header import LARGEST_CONNECTION, LARGEST_SLOT
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.wording import one_line, shown

Json = Any
_LARGEST_NUMBER = (1 << NUMBER_BITS) - 1
_LARGEST_COUNT = (1 << 64) - 1
_ERROR_CHARACTERS = 300


class NodeError(ArmorError):
    """A node of 1+1 protection refuses a request, or answers with something that is no state."""


class NodeRequest(NamedTuple):
    """What a node is to serve from now on.

    Attributes
    ----------
    slots
        Connections that begin or end there, with their slots.
    sending, receiving
        Numbers that the other ends know better.
    """

    slots: dict[Connection, int]
    sending: tuple[tuple[Connection, Ingress], ...]
    receiving: tuple[tuple[Connection, Egress], ...]


class Sending(NamedTuple):
    """A sending end: the last number given, packets sent."""

    last: int
    sent: int = 0


class Receiving(NamedTuple):
    """A receiving end: the last number accepted, packets accepted and dropped."""

    last: int
    accepted: int = 0
    duplicate: int = 0
    out_of_window: int = 0


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
    sending
        By number and receiving end's address.
    receiving
        By number.
    """

    epoch: str
    configured: bool
    connections: tuple[tuple[int, str, str, int], ...] = ()
    sending: Mapping[tuple[int, str], Sending] = field(default_factory=dict)
    receiving: Mapping[int, Receiving] = field(default_factory=dict)


def read_request(value: Json, address: IPv4Address) -> NodeRequest | None:
    """What the node at an address is asked to serve; None: its state alone is asked for.

    Raises
    ------
    BadInputError
        It is no request.
    """
    request = _object(value, "a request")
    if "connections" not in request:
        return None
    slots = {
        Connection(_connection(number), IPv4Address(_address(ingress)), IPv4Address(_address(egress))): _slot(slot)
        for number, ingress, egress, slot in _rows(request["connections"], "connections", 4)
    }
    by_end = {(each.number, str(each.egress)): each for each in slots}

    def known(number: Json, egress: Json) -> Connection:
        key = _connection(number), _address(egress)
        if key not in by_end:
            raise BadInputError(f"connection {key[0]} to {key[1]} is none of the request's; add it to connections")
        return by_end[key]

    sending = _rows(request.get("sending", []), "sending", 3)
    receiving = _rows(request.get("receiving", []), "receiving", 2)
    return NodeRequest(
        slots,
        tuple((known(number, egress), Ingress(_number(last))) for number, egress, last in sending),
        tuple((known(number, str(address)), Egress(_number(last))) for number, last in receiving),
    )


def read_state(value: Json) -> NodeState:
    """State from a node's answer.

    Raises
    ------
    NodeError
        The answer is an error, or no state.
    """
    try:
        state = _object(value, "an answer")
        if "error" in state:
            raise NodeError(f"a node of 1+1 protection says: {one_line(str(state['error']))[:_ERROR_CHARACTERS]}")
        rows = _rows(state.get("connections"), "connections", 4)
        return NodeState(
            _of(state, "epoch", str),
            _of(state, "configured", bool),
            tuple((_connection(row[0]), _address(row[1]), _address(row[2]), _slot(row[3])) for row in rows),
            {
                (_connection(end.get("number")), _address(end.get("egress"))): _sending(end)
                for end in _objects(state, "sending")
            },
            {_connection(end.get("number")): _receiving(end) for end in _objects(state, "receiving")},
        )
    except BadInputError as error:
        raise NodeError(f"a node of 1+1 protection answers with what is no state: {error}") from error


def _sending(end: Mapping[str, Json]) -> Sending:
    return Sending(_number(end.get("last")), _count(end, "sent"))


def _receiving(end: Mapping[str, Json]) -> Receiving:
    counts = (_count(end, key) for key in ("accepted", "duplicate", "out_of_window"))
    return Receiving(_number(end.get("last")), *counts)


def _object(value: Json, what: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise BadInputError(f"{what} is {shown(value)}; give an object")
    return value


def _of(entry: Mapping[str, Json], key: str, kind: type) -> Json:
    value = entry.get(key)
    if type(value) is not kind:
        raise BadInputError(f"{key} is {shown(value)}; give a value of type {kind.__name__}")
    return value


def _objects(entry: Mapping[str, Json], key: str) -> Iterator[Mapping[str, Json]]:
    return (_object(each, f"an entry of {key}") for each in _of(entry, key, list))


def _rows(value: Json, what: str, length: int) -> list[list[Json]]:
    if not isinstance(value, list) or not all(isinstance(row, list) and len(row) == length for row in value):
        raise BadInputError(f"{what} is {shown(value)}; give a list of rows of {length} values")
    return value


def _whole(value: Json, what: str, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise BadInputError(f"{what} is {shown(value)}; give a whole number from 0 to {most}")
    return value


def _connection(value: Json) -> int:
    return _whole(value, "the number of a connection", LARGEST_CONNECTION)


def _slot(value: Json) -> int:
    return _whole(value, "a slot", LARGEST_SLOT)


def _number(value: Json) -> int:
    return _whole(value, "the last number of an end", _LARGEST_NUMBER)


def _count(end: Mapping[str, Json], key: str) -> int:
    return _whole(end.get(key), key, _LARGEST_COUNT)


def _address(value: Json) -> str:
    try:
        if isinstance(value, str):
            return str(IPv4Address(value))
    except AddressValueError:
        pass
    raise BadInputError(f"the address of an end is {shown(value)}; give an IPv4 address")
