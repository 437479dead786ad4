"""From what a file says to a topology: names, merged directions, kept parallel links, checked quantities.

The readers of graph files return a `RawGraph`; everything that means something is decided here, once.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from mininet_topos.errors import TopologyError
from mininet_topos.topology import Link, Node, Topology
from mininet_topos.wording import one_line, shown

# Unit prefixes of `LinkSpeedUnits` (the Topology Zoo writes K, M, G, T), in Mbit/s.
MBPS_OF_UNIT = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}
UNIT_ENDINGS = ("BITS/S", "BIT/S", "B/S", "BPS", "B")
LABEL_ATTRIBUTES = ("label", "name")
# (what we call it, what files call it, limit in degrees)
PLACE_ATTRIBUTES = (
    ("latitude", ("latitude", "lat"), 90.0),
    ("longitude", ("longitude", "lon", "long", "lng"), 360.0),
)
# Speeds without a unit: not read, but not passed over in silence either.
UNITLESS_SPEEDS = ("capacity", "bandwidth", "bw", "speed")


@dataclass(frozen=True)
class RawNode:
    """A node of the file: its id there, and its attributes, names in lower case and values as text."""

    id: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RawEdge:
    """An edge of the file; `directed` when the file draws it as an arrow."""

    source: str
    target: str
    directed: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    number: int = 0

    def __str__(self) -> str:
        return f"edge {self.number} ({shown(self.source)} - {shown(self.target)})"


@dataclass(frozen=True)
class RawGraph:
    """Nodes and edges in file order, and what the reader had to leave out or guess."""

    nodes: tuple[RawNode, ...]
    edges: tuple[RawEdge, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loaded:
    """A topology, and what its file left unknown or had to be read liberally; to be reported once."""

    topology: Topology
    warnings: tuple[str, ...] = ()


def to_loaded(name: str, raw: RawGraph) -> Loaded:
    """Topology of a raw graph, nodes renamed s1..sN in file order.

    Directed edges are paired with their opposites into one physical link each; an arrow without an opposite stands
    for both directions. Self-loops are left out. A missing speed or place stays None. Each of these is a warning.

    Raises
    ------
    TopologyError
        No nodes, an id that stands twice, an edge to an unknown node, or a value that is no usable quantity.
    """
    names = _names(raw.nodes)
    for edge in raw.edges:
        for end in (edge.source, edge.target):
            if end not in names:
                raise TopologyError(f"{edge} joins {shown(end)}, which is no node of the file; add the node")
    pairs = _pair_up([edge for edge in raw.edges if edge.source != edge.target])
    nodes = tuple(_node(names[raw_node.id], raw_node) for raw_node in raw.nodes)
    odd_speeds: list[str] = []
    links: list[Link] = []
    keys: Counter[frozenset[str]] = Counter()
    for forward, backward in pairs:
        ends = frozenset((forward.source, forward.target))
        links.append(_link(names, forward, keys[ends], odd_speeds))
        links.append(_link(names, backward or _turned(forward), keys[ends], odd_speeds if backward else []))
        keys[ends] += 1
    topology = Topology(name, nodes, tuple(links))
    return Loaded(topology, (*raw.warnings, *_graph_warnings(raw, pairs), *gaps(topology), *_odd(odd_speeds)))


def number_of(text: str, name: str, where: str) -> float:
    """Number that a text is.

    Raises
    ------
    TopologyError
        It is none; the message names the attribute and where it stands.
    """
    try:
        return float(text)
    except ValueError:
        raise TopologyError(
            f"{where} has {name} = {shown(text)}, which is no number; correct it or leave it out"
        ) from None


def degrees_of(value: float, name: str, limit: float, where: str) -> float:
    """Check that a latitude or longitude in degrees is one.

    Raises
    ------
    TopologyError
        Not finite, or beyond `limit`.
    """
    if not math.isfinite(value) or abs(value) > limit:
        raise TopologyError(
            f"{where} has {name} = {value:g}; give degrees from -{limit:g} to {limit:g}, or leave it out"
        )
    return value


def gaps(topology: Topology) -> list[str]:
    """Warnings about what a file leaves unknown."""
    warnings = []
    unknown = {topology.link_id(link.direction) for link in topology.links if link.capacity_mbps is None}
    if unknown:
        warnings.append(f"{len(unknown)} of {len(topology.link_ids)} links have no speed; their capacity is unknown")
    lost = sum(node.latitude is None for node in topology.nodes)
    if lost:
        warnings.append(f"{lost} of {len(topology.nodes)} nodes have no place; the map guesses where they are")
    return warnings


def _names(nodes: tuple[RawNode, ...]) -> dict[str, str]:
    """Our name for every id of the file."""
    if not nodes:
        raise TopologyError("the file has no nodes; give it at least one")
    names: dict[str, str] = {}
    for number, node in enumerate(nodes, start=1):
        if node.id in names:
            raise TopologyError(f"node id {shown(node.id)} stands twice; give each node its own id")
        names[node.id] = f"s{number}"
    return names


def _node(name: str, raw: RawNode) -> Node:
    where = f"node {shown(raw.id)}"
    label = next((one_line(raw.attributes[key]) for key in LABEL_ATTRIBUTES if raw.attributes.get(key)), "")
    place: list[float | None] = []
    for key, spellings, limit in PLACE_ATTRIBUTES:
        text = next((raw.attributes[spelling] for spelling in spellings if raw.attributes.get(spelling)), "")
        place.append(degrees_of(number_of(text, key, where), key, limit, where) if text else None)
    known = None not in place
    return Node(name, label or one_line(raw.id), place[0] if known else None, place[1] if known else None)


def _turned(edge: RawEdge) -> RawEdge:
    return RawEdge(edge.target, edge.source, edge.directed, edge.attributes, edge.number)


def _pair_up(edges: list[RawEdge]) -> list[tuple[RawEdge, RawEdge | None]]:
    """Physical links in file order: an undirected edge, or an arrow with the first opposite arrow still single."""
    pairs: list[tuple[RawEdge, RawEdge | None]] = []
    single: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)
    for edge in edges:
        waiting = single[edge.target, edge.source]
        if edge.directed and waiting:
            place = waiting.popleft()
            pairs[place] = (pairs[place][0], edge)
            continue
        if edge.directed:
            single[edge.source, edge.target].append(len(pairs))
        pairs.append((edge, None))
    return pairs


def _link(names: dict[str, str], edge: RawEdge, key: int, odd_speeds: list[str]) -> Link:
    delay_ms, jitter_ms = _time_ms(edge, "delay_ms"), _time_ms(edge, "jitter_ms")
    capacity_mbps = _capacity_mbps(edge, odd_speeds)
    return Link(names[edge.source], names[edge.target], key, capacity_mbps, delay_ms, jitter_ms=jitter_ms)


def _time_ms(edge: RawEdge, name: str) -> float | None:
    """Delay or jitter, milliseconds; None when the edge says nothing of it."""
    text = edge.attributes.get(name, "")
    value = number_of(text, name, str(edge)) if text else None
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise TopologyError(f"{edge} has {name} = {text}; give a number of at least 0, or leave it out")
    return value


def _capacity_mbps(edge: RawEdge, odd_speeds: list[str]) -> float | None:
    """Capacity by the first attribute that is given; a speed that is no single number with a unit is unknown."""
    for name, mbps in (("capacity_mbps", 1.0), ("LinkSpeedRaw", 1e-6)):
        text = edge.attributes.get(name.lower(), "")
        if text:
            return _positive(number_of(text, name, str(edge)) * mbps, name, text, edge)
    speed = edge.attributes.get("linkspeed", "")
    if not speed:
        return None
    unit = edge.attributes.get("linkspeedunits", "").upper()
    prefix = next((unit.removesuffix(ending) for ending in UNIT_ENDINGS if unit.endswith(ending)), unit)
    try:
        value = float(speed)
    except ValueError:
        value = None
    if value is not None and (value <= 0 or not math.isfinite(value)):
        return _positive(value, "LinkSpeed", speed, edge)
    if value is None or prefix not in MBPS_OF_UNIT or not unit:
        odd_speeds.append(f"{speed} {unit}".strip())
        return None
    return value * MBPS_OF_UNIT[prefix]


def _positive(value: float, name: str, text: str, edge: RawEdge) -> float:
    if not math.isfinite(value) or value <= 0:
        raise TopologyError(f"{edge} has {name} = {shown(text)}; give a number above 0, or leave it out")
    return value


def _graph_warnings(raw: RawGraph, pairs: list[tuple[RawEdge, RawEdge | None]]) -> list[str]:
    warnings = []
    loops = [edge for edge in raw.edges if edge.source == edge.target]
    if loops:
        warnings.append(f"left out {len(loops)} self-loop(s), the first is {loops[0]}")
    lone = sum(forward.directed and backward is None for forward, backward in pairs)
    if lone:
        warnings.append(f"{lone} of {len(pairs)} links are drawn as arrows one way only; they are taken as both ways")
    unitless = [name for name in UNITLESS_SPEEDS if any(edge.attributes.get(name) for edge in raw.edges)]
    if unitless:
        warnings.append(f"{unitless[0]!r} of the edges has no known unit and is not read; name it capacity_mbps")
    shared = [node for node in raw.nodes if node.attributes.get("hyperedge", "").lower() in ("1", "true")]
    if shared:
        warnings.append(f"{len(shared)} node(s) stand for shared media (hyperedge) and are kept as switches")
    return warnings


def _odd(odd_speeds: list[str]) -> list[str]:
    if not odd_speeds:
        return []
    return [f"{len(odd_speeds)} link speed(s) are no number with a unit, the first is {shown(odd_speeds[0])}"]
