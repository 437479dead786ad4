"""Reader and writer of our own JSON (docs/topology_format.md): strict, because a misspelt key would be a lost fact."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from mininet_topos.errors import BadInputError, TopologyError
from mininet_topos.importers.raw import degrees_of
from mininet_topos.input_files import parse_json
from mininet_topos.topology import Direction, Link, Node, Topology
from mininet_topos.wording import shown

TOP_KEYS = ("name", "nodes", "links")
NODE_KEYS = ("name", "label", "latitude", "longitude")
QUANTITIES = ("capacity_mbps", "delay_ms", "jitter_ms", "port_no")
REVERSE = "reverse_"
LINK_KEYS = ("src", "dst", "key", *QUANTITIES, *(REVERSE + name for name in QUANTITIES))
# Interface names are NODE-ethPORT and Linux allows 15 characters; hK, cK and sK name hosts, controllers, switches.
NODE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,8}")
TAKEN_NAME = re.compile(r"[hc][0-9]+")
SWITCH_NAME = re.compile(r"s[0-9]+")


def read_json(content: bytes, default_name: str) -> Topology:
    """Topology of a JSON document.

    Parameters
    ----------
    content
        UTF-8 text.
    default_name
        Name of the topology when the document gives none.

    Raises
    ------
    TopologyError
        Broken JSON (with line and column), an unknown, repeated or missing key, a value of the wrong kind, or a
        breach of the topology model.
    """
    document = _parse(content)
    if not isinstance(document, dict):
        raise TopologyError(f"the file holds {_kind(document)}; a topology is an object with {', '.join(TOP_KEYS)}")
    _check_keys(document, TOP_KEYS, "the topology")
    nodes = tuple(_node(entry, number) for number, entry in enumerate(_list(document, "nodes"), start=1))
    links = _both_ways(_list(document, "links"), {node.name for node in nodes})
    name = _string(document, "name", "the topology")
    if "/" in name:
        raise TopologyError(f"the topology has name = {shown(name)}; leave out '/', since result files carry the name")
    return Topology(name or default_name, nodes, tuple(links))


def to_json(topology: Topology) -> str:
    """JSON text of a topology: one line a node and a link; `read_json` gives the topology back."""
    nodes = [_node_entry(node) for node in topology.nodes]
    firsts = {topology.link_id(link.direction): link for link in reversed(topology.links)}
    links = [_link_entry(topology, firsts[link_id]) for link_id in topology.link_ids]
    parts = [f'"name": {_dump(topology.name)}', f'"nodes": {_lines(nodes)}', f'"links": {_lines(links)}']
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _parse(content: bytes) -> Any:
    try:
        return parse_json(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise TopologyError(f"byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except BadInputError as error:
        raise TopologyError(str(error)) from None


def _kind(value: Any) -> str:
    kinds = ((bool, "true or false"), (int, "a number"), (float, "a number"), (str, "text"), (list, "a list"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null" if value is None else "an object")


def _check_keys(entry: dict[str, Any], known: Sequence[str], where: str) -> None:
    for key in entry:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(known)}"
            raise TopologyError(f"{where} has unknown key {shown(key)}; {hint}")


def _list(document: dict[str, Any], key: str) -> list[Any]:
    if key not in document:
        raise TopologyError(f"the topology has no {key!r}; give a list of objects")
    value = document[key]
    if not isinstance(value, list):
        raise TopologyError(f"{key!r} is {_kind(value)}; give a list of objects")
    return value


def _object(entry: Any, known: Sequence[str], where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise TopologyError(f"{where} is {_kind(entry)}; give an object with keys from {', '.join(known)}")
    _check_keys(entry, known, where)
    return entry


def _string(entry: dict[str, Any], key: str, where: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise TopologyError(f"{where} has {key} = {shown(json.dumps(value))}; give text")
    if not value.isprintable():
        raise TopologyError(f"{where} has {key} = {shown(value)}; leave out line breaks and control characters")
    return value


def _number(entry: dict[str, Any], key: str, where: str) -> float | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TopologyError(f"{where} has {key} = {shown(json.dumps(value))}; give a number, or leave it out")
    try:
        return float(value)
    except OverflowError:
        raise TopologyError(f"{where} has {key} = {shown(value)}, which is too large; correct it") from None


def _whole(entry: dict[str, Any], key: str, where: str) -> int | None:
    value = entry.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise TopologyError(f"{where} has {key} = {shown(json.dumps(value))}; give a whole number of at least 0")
    return value


def _node(entry: Any, number: int) -> Node:
    where = f"node {number}"
    known = _object(entry, NODE_KEYS, where)
    name = _string(known, "name", where) or f"s{number}"
    if not NODE_NAME.fullmatch(name) or TAKEN_NAME.fullmatch(name):
        raise TopologyError(
            f"{where} has name {shown(name)}; use a letter and up to 8 letters, digits or underscores, "
            "not h1 or c1, and put longer names into label"
        )
    if SWITCH_NAME.fullmatch(name) and name != f"s{number}":
        raise TopologyError(f"{where} has name {name!r}, which would be node {name[1:]}; call it 's{number}'")
    place = {key: _number(known, key, where) for key in ("latitude", "longitude")}
    for key, limit in (("latitude", 90.0), ("longitude", 360.0)):
        degrees = place[key]
        if degrees is not None:
            degrees_of(degrees, key, limit, where)
    return Node(name, _string(known, "label", where), place["latitude"], place["longitude"])


def _end(entry: dict[str, Any], key: str, names: Iterable[str], where: str) -> str:
    if key not in entry:
        raise TopologyError(f"{where} has no {key!r}; name the node it joins")
    name = _string(entry, key, where)
    if name not in names:
        raise TopologyError(f"{where} has {key} = {shown(name)}, which is no node of the file; add the node")
    return name


def _both_ways(entries: list[Any], names: set[str]) -> list[Link]:
    """Links of the entries, each next to its reverse; an entry makes its reverse too, unless another gives that."""
    found: dict[Direction, tuple[str, dict[str, Any]]] = {}
    for number, entry in enumerate(entries, start=1):
        where = f"link {number}"
        known = _object(entry, LINK_KEYS, where)
        ends = _end(known, "src", names, where), _end(known, "dst", names, where)
        direction = Direction(*ends, _whole(known, "key", where) or 0)
        if direction in found:
            raise TopologyError(f"{where} repeats {direction}; give parallel links different values of key")
        found[direction] = (f"{where} ({direction})", known)
    links: dict[Direction, Link] = {}
    for direction, (where, known) in found.items():
        reverse = Direction(direction.dst, direction.src, direction.key)
        reverse_where, reverse_known = found.get(reverse, (where, known))
        if reverse in found and any(key.startswith(REVERSE) for key in known):
            raise TopologyError(f"{where} gives reverse values, and {reverse_where} gives them too; remove one")
        links.setdefault(direction, _link(direction, known, where, reverse=False))
        links.setdefault(reverse, _link(reverse, reverse_known, reverse_where, reverse=reverse not in found))
    return list(links.values())


def _link(direction: Direction, entry: dict[str, Any], where: str, *, reverse: bool) -> Link:
    """One direction; the reverse of an entry has its values, but the port, unless `reverse_` keys say otherwise."""

    def key(name: str) -> str:
        return REVERSE + name if reverse and (REVERSE + name in entry or name == "port_no") else name

    return Link(
        *direction,
        _number(entry, key("capacity_mbps"), where),
        _number(entry, key("delay_ms"), where),
        _whole(entry, key("port_no"), where),
        _number(entry, key("jitter_ms"), where),
    )


def _node_entry(node: Node) -> dict[str, Any]:
    values = {"name": node.name, "label": node.label, "latitude": node.latitude, "longitude": node.longitude}
    return {key: value for key, value in values.items() if value not in ("", None)}


def _link_entry(topology: Topology, link: Link) -> dict[str, Any]:
    back = topology.link_at[Direction(link.dst, link.src, link.key)]
    entry: dict[str, Any] = {"src": link.src, "dst": link.dst} | ({"key": link.key} if link.key else {})
    for name in QUANTITIES:
        value, reverse = getattr(link, name), getattr(back, name)
        entry |= {} if value is None else {name: value}
        inherited = None if name == "port_no" else value
        entry |= {} if reverse == inherited else {REVERSE + name: reverse}
    return entry


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(entries: list[dict[str, Any]]) -> str:
    if not entries:
        return "[]"
    return "[\n" + ",\n".join(f"  {_dump(entry)}" for entry in entries) + "\n]"
