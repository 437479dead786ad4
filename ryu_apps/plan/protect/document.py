"""Protected flows as plain data (YAML, JSON), read strictly and written back. docs/protect.md describes the format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from ipaddress import IPv4Network
from typing import Any

from dataplane.model.flow_match import ANY_PORT, LARGEST_PORT, PortRange
from dataplane.model.tunnel_header import LARGEST_CONNECTION
from mininet_topos.errors import BadInputError
from mininet_topos.input_files import read_text
from mininet_topos.lines import Line, plain, read_lines
from mininet_topos.topology import Topology
from mininet_topos.wording import shown
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.fields import IP_TCP, IP_UDP
from ryu_apps.plan.protection import ProtectedFlow, Protection, with_flow

MAX_FLOWS_BYTES = 256_000
KEYS = ("from", "to", "from_prefix", "to_prefix", "protocol", "from_port", "to_port", "via", "number", "both_ways")
_RANGE = re.compile(r"([0-9]{1,5})-([0-9]{1,5})")
PROTOCOL_NUMBERS = {"tcp": IP_TCP, "udp": IP_UDP}
_PROTOCOL_NAMES = {number: name for name, number in PROTOCOL_NUMBERS.items()}


def load_flows(path: str, what: str, topology: Topology) -> tuple[ProtectedFlow, ...]:
    """Protected flows of a file; `what` begins the message when it cannot be read (errors as of `parse_flows`)."""
    return parse_flows(read_text(path, what, MAX_FLOWS_BYTES), path, topology)


def parse_flows(text: str, name: str, topology: Topology) -> tuple[ProtectedFlow, ...]:
    """Protected flows of a YAML or JSON text; messages call it `name` (`BadInputError` as `flows_of_lines`)."""
    return flows_of_lines(read_lines(text, name), name, topology)


def flows_of_lines(root: Line, name: str, topology: Topology) -> tuple[ProtectedFlow, ...]:
    """Protected flows of values that know their line; messages begin with `name` and the line of the entry.

    Raises
    ------
    BadInputError
        As `read_flows`, or flows that cannot be protected together.
    """
    value = root.value
    lines = value["flows"].value if isinstance(value, dict) and set(value) == {"flows"} else value
    if not isinstance(lines, tuple) or not lines:
        raise BadInputError(f"{name}:{root.number}: {_no_list(plain(root))}")
    protection = Protection()
    for number, line in enumerate(lines, start=1):
        protection = _with_entry(protection, line, (name, number), topology)
    return protection.flows


def _with_entry(protection: Protection, line: Line, place: tuple[str, int], topology: Topology) -> Protection:
    name, number = place
    try:
        for flow in _entry(plain(line), f"protected flow {number}", topology):
            protection = with_flow(protection, flow, topology)
    except BadInputError as error:
        raise BadInputError(f"{name}:{line.number}: {error}") from error
    return protection


def read_flows(data: Any, topology: Topology) -> tuple[ProtectedFlow, ...]:
    """Protected flows of a list of mappings, or of a mapping with that list under `flows`.

    Parameters
    ----------
    data : plain data
        As `json.loads` gives it.
    topology
        Whose hosts and switches the flows name.

    Returns
    -------
    Both directions of an entry, unless it says `both_ways: false`.

    Raises
    ------
    BadInputError
        Something that is no protected flow; the message names the entry and the value.
    """
    entries = data.get("flows") if isinstance(data, Mapping) and set(data) == {"flows"} else data
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise BadInputError(_no_list(data))
    flows: list[ProtectedFlow] = []
    for number, entry in enumerate(entries, start=1):
        flows += _entry(entry, f"protected flow {number}", topology)
    return tuple(flows)


def flow_to_data(flow: ProtectedFlow, topology: Topology) -> dict[str, Any]:
    """One direction of a flow; `read_flows` of a list of these gives the flows back."""
    hosts = hosts_of(topology)
    values = {
        "from": hosts[flow.source].name,
        "to": hosts[flow.destination].name,
        "protocol": None if flow.protocol is None else _PROTOCOL_NAMES[flow.protocol],
        "from_prefix": None if flow.source_prefix is None else str(flow.source_prefix),
        "to_prefix": None if flow.destination_prefix is None else str(flow.destination_prefix),
        "from_port": _port_data(flow.source_ports),
        "to_port": _port_data(flow.destination_ports),
        "via": list(flow.via) or None,
        "number": flow.number,
    }
    return {**{key: value for key, value in values.items() if value is not None}, "both_ways": False}


def _no_list(data: Any) -> str:
    return f"protected flows are a list such as [{{from: h1, to: h3, protocol: udp}}]; got {shown(data)}"


def _entry(entry: Any, where: str, topology: Topology) -> tuple[ProtectedFlow, ...]:
    if not isinstance(entry, Mapping):
        raise BadInputError(f"{where} is {entry!r}; write a mapping such as {{from: h1, to: h3, protocol: udp}}")
    for key in entry:
        if key not in KEYS:
            near = get_close_matches(str(key), KEYS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(KEYS)}"
            raise BadInputError(f"{where} has no key {key!r}; {hint}")
    flow = ProtectedFlow(
        _host(entry, "from", where, topology),
        _host(entry, "to", where, topology),
        _protocol(entry, where),
        _ports(entry, "from_port", where),
        _ports(entry, "to_port", where),
        _via(entry, where),
        _number(entry, where),
        _prefix(entry, "from_prefix", where),
        _prefix(entry, "to_prefix", where),
    )
    both_ways = entry.get("both_ways", True)
    if not isinstance(both_ways, bool):
        raise BadInputError(f"{where} has both_ways {both_ways!r}; write true or false")
    return (flow, flow.reverse) if both_ways else (flow,)


def _host(entry: Mapping[Any, Any], key: str, where: str, topology: Topology) -> str:
    """Switch of a host that is named as h4 or by its switch."""
    name = entry.get(key)
    for node, host in hosts_of(topology).items():
        if name in (host.name, node):
            return node
    raise BadInputError(f"{where} has {key} {name!r}, which is no host of {topology.name!r}; write for example h1")


def _protocol(entry: Mapping[Any, Any], where: str) -> int | None:
    name = entry.get("protocol")
    if name is None:
        return None
    if not isinstance(name, str) or name not in PROTOCOL_NUMBERS:
        raise BadInputError(f"{where} has protocol {name!r}; use tcp or udp, or leave it out for both")
    return PROTOCOL_NUMBERS[name]


def _number(entry: Mapping[Any, Any], where: str) -> int | None:
    value = entry.get("number")
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_CONNECTION
    ):
        raise BadInputError(f"{where} has number {value!r}; give a whole number from 0 to {LARGEST_CONNECTION}")
    return value


def _ports(entry: Mapping[Any, Any], key: str, where: str) -> PortRange:
    """A port (5000) or a range of ports ("5000-5010")."""
    value = entry.get(key)
    if value is None:
        return ANY_PORT
    found = _RANGE.fullmatch(value) if isinstance(value, str) else None
    ends = found.groups() if found else (value, value)
    first, last = (int(end) if found or (isinstance(end, int) and not isinstance(end, bool)) else 0 for end in ends)
    if not 1 <= first <= last <= LARGEST_PORT:
        raise BadInputError(
            f"{where} has {key} {value!r}; give a port from 1 to {LARGEST_PORT}, or a range such as 5000-5010"
        )
    return PortRange(first, last)


def _port_data(ports: PortRange) -> int | str | None:
    if ports == ANY_PORT:
        return None
    return ports.first if ports.first == ports.last else str(ports)


def _prefix(entry: Mapping[Any, Any], key: str, where: str) -> IPv4Network | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return IPv4Network(value)
        except ValueError:  # no prefix, or one with bits behind its mask
            pass
    raise BadInputError(f"{where} has {key} {value!r}; write a prefix without host bits, such as 10.0.0.0/24")


def _via(entry: Mapping[Any, Any], where: str) -> tuple[str, ...]:
    value = entry.get("via", ())
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(name, str) for name in value):
        raise BadInputError(f"{where} has via {value!r}; write a list of switches such as [s1, s5, s9]")
    return tuple(value)
