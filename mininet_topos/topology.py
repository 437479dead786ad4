"""The network as a value: nodes, directed links, failures.

A physical link is named by a `LinkId` (undirected) and stands in a `Topology` as two directed
`Link` values, one a direction, so that the two directions may differ in capacity or fail alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from mininet_topos.errors import TopologyError

if TYPE_CHECKING:
    import networkx as nx  # imported where it is used: agents, of which a machine starts many, need none of it

# Beyond these no network is meant, and sums of floats lose what they add.
MIN_CAPACITY_MBPS, MAX_MBPS = 1e-6, 1e9
MAX_DELAY_MS = 1e9
_NO_KEY = -1  # of no link


class LinkId(NamedTuple):
    """Name of a physical link: its ends in node order, and a key that tells parallel links apart."""

    a: str
    b: str
    key: int = 0

    def __str__(self) -> str:
        return f"{self.a}-{self.b}" + (f"#{self.key}" if self.key else "")


class Direction(NamedTuple):
    """Name of one direction of a physical link."""

    src: str
    dst: str
    key: int = 0

    def __str__(self) -> str:
        return f"{self.src}>{self.dst}" + (f"#{self.key}" if self.key else "")


@dataclass(frozen=True, slots=True)
class Node:
    """A switch site: its name (s1..sN), a label for people, and a place on the map when known."""

    name: str
    label: str = ""
    latitude: float | None = None
    longitude: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of a physical link. `None` means unknown, never "unlimited" or "zero".

    `port_no` is the OpenFlow port on `src`, when the user fixes it; else ports.py assigns one. Each packet is under
    way for `delay_ms` and a time drawn uniformly from 0..`jitter_ms`, and overtakes none (`None`: no jitter).
    """

    src: str
    dst: str
    key: int = 0
    capacity_mbps: float | None = None
    delay_ms: float | None = None
    port_no: int | None = None
    jitter_ms: float | None = None

    @property
    def direction(self) -> Direction:
        """Name of this direction."""
        return Direction(self.src, self.dst, self.key)


@dataclass(frozen=True)
class Topology:
    """Nodes in a fixed order and directed links, each with its reverse.

    Parameters
    ----------
    name
        Name that results carry.
    nodes
        Order matters: node k (counted from 1) has host k and datapath id k.
    links
        Both directions of every physical link; parallel links differ in `key`.

    Raises
    ------
    TopologyError
        Duplicate or unknown node, self-loop, duplicate link, missing reverse direction, or a
        capacity, delay or jitter that is not a positive (delay, jitter: non-negative) finite number.
    """

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        names = [node.name for node in self.nodes]
        if not names:
            raise TopologyError(f"topology {self.name!r} has no nodes; give it at least one")
        repeated = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
        if repeated:
            raise TopologyError(f"node {min(repeated)!r} stands twice in {self.name!r}; rename one")
        _check_links(self.links, set(names))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        return {"name": self.name, "nodes": self.nodes, "links": self.links}  # hashes hold in one process only

    @cached_property
    def _hash(self) -> int:
        """What is cached by topology is looked up a hundred thousand times."""
        return hash((self.name, self.nodes, self.links))

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(node.name for node in self.nodes)

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Position (from 0) of every node name."""
        return {name: index for index, name in enumerate(self.node_names)}

    @cached_property
    def link_at(self) -> dict[Direction, Link]:
        """Every directed link by its direction."""
        return {link.direction: link for link in self.links}

    @cached_property
    def link_ids(self) -> tuple[LinkId, ...]:
        """Physical links, in the order in which they first stand in `links`."""
        return tuple(dict.fromkeys(self.link_id(link.direction) for link in self.links))

    @cached_property
    def links_from(self) -> dict[str, tuple[Link, ...]]:
        """Links leaving each node, ordered by (neighbour's position, key)."""
        leaving: dict[str, list[Link]] = {name: [] for name in self.node_names}
        for link in self.links:
            leaving[link.src].append(link)
        order = self.index_of
        return {
            name: tuple(sorted(links, key=lambda link: (order[link.dst], link.key))) for name, links in leaving.items()
        }

    @cached_property
    def is_delayed(self) -> bool:
        """Whether a link has a delay or jitter."""
        return any(link.delay_ms or link.jitter_ms for link in self.links)

    def link_id(self, direction: Direction) -> LinkId:
        """Physical link of a direction (`KeyError` for an unknown node)."""
        src, dst, key = direction
        if self.index_of[src] <= self.index_of[dst]:
            return LinkId(src, dst, key)
        return LinkId(dst, src, key)

    def directions(self, link_id: LinkId) -> tuple[Direction, Direction]:
        """Both directions of a physical link."""
        return Direction(*link_id), Direction(link_id.b, link_id.a, link_id.key)

    def parse_link(self, text: str) -> LinkId:
        """`LinkId` of "s2-s4" or "s2-s4#1", ends in any order.

        Raises
        ------
        TopologyError
            No such link; the message lists what the first node is joined to.
        """
        ends, mark, key = text.partition("#")
        for cut in range(len(ends)):
            if ends[cut] == "-" and ends[:cut] in self.index_of and ends[cut + 1 :] in self.index_of:
                number = int(key) if re.fullmatch(r"[0-9]{1,9}", key) else _NO_KEY if mark else 0
                direction = Direction(ends[:cut], ends[cut + 1 :], number)
                if direction in self.link_at:
                    return self.link_id(direction)
                joined = ", ".join(str(link.dst) for link in self.links_from[direction.src]) or "nothing"
                raise TopologyError(
                    f"topology {self.name!r} has no link {text!r}; {direction.src} is joined to {joined}"
                )
        raise TopologyError(
            f"{text!r} names no link of {self.name!r}; write it as NODE-NODE, for example {self.link_ids[0]}"
            if self.link_ids
            else f"topology {self.name!r} has no links, so {text!r} cannot be one"
        )

    def to_networkx(self) -> nx.MultiDiGraph[str]:
        """The topology as a networkx multigraph; node and link attributes are carried over."""
        import networkx as nx

        graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=self.name)
        for node in self.nodes:
            graph.add_node(node.name, label=node.label, latitude=node.latitude, longitude=node.longitude)
        for link in self.links:
            graph.add_edge(
                link.src,
                link.dst,
                key=link.key,
                capacity_mbps=link.capacity_mbps,
                delay_ms=link.delay_ms,
                port_no=link.port_no,
                jitter_ms=link.jitter_ms,
            )
        return graph

    def components(self, failed: Iterable[LinkId] = ()) -> dict[str, int]:
        """Component number of every node once the `failed` links are gone (0 is the first node's)."""
        import networkx as nx

        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.node_names)
        gone = set(failed)
        graph.add_edges_from((link.a, link.b) for link in self.link_ids if link not in gone)
        return {name: number for number, part in enumerate(nx.connected_components(graph)) for name in part}

    def is_connected(self, failed: Iterable[LinkId] = ()) -> bool:
        """Whether every node reaches every other without the `failed` links."""
        return len(set(self.components(failed).values())) == 1


def with_capacity(topology: Topology, capacity_mbps: float | None) -> Topology:
    """The same topology with every link at this capacity (Mbit/s); as it is when None."""
    if capacity_mbps is None:
        return topology
    return replace(topology, links=tuple(replace(link, capacity_mbps=capacity_mbps) for link in topology.links))


def with_link_delays(topology: Topology, delay_ms: float | None, jitter_ms: float | None) -> Topology:
    """The same topology with one delay, one jitter, or both, on all links; None leaves them as they are."""
    given = {"delay_ms": delay_ms, "jitter_ms": jitter_ms}
    changed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(topology, links=tuple(replace(link, **changed) for link in topology.links)) if changed else topology


@dataclass(frozen=True)
class FailureScenario:
    """What is broken: physical links (both directions), single directions, and whole nodes."""

    links: frozenset[LinkId] = frozenset()
    directions: frozenset[Direction] = frozenset()
    nodes: frozenset[str] = field(default_factory=frozenset)

    def failed_directions(self, topology: Topology) -> frozenset[Direction]:
        """Every direction that carries nothing."""
        gone = set(self.directions)
        for link_id in self.links:
            gone.update(topology.directions(link_id))
        gone.update(link.direction for link in topology.links if link.src in self.nodes or link.dst in self.nodes)
        return frozenset(gone)


def _check_links(links: tuple[Link, ...], names: set[str]) -> None:
    seen: set[Direction] = set()
    for link in links:
        for end in (link.src, link.dst):
            if end not in names:
                raise TopologyError(f"link {link.direction} names node {end!r}, which does not exist; add the node")
        if link.src == link.dst:
            raise TopologyError(f"link {link.direction} joins a node to itself; remove it")
        if link.direction in seen:
            raise TopologyError(f"link {link.direction} stands twice; give parallel links different keys")
        seen.add(link.direction)
        _check_quantity(link, "capacity_mbps", link.capacity_mbps, (MIN_CAPACITY_MBPS, MAX_MBPS))
        _check_quantity(link, "delay_ms", link.delay_ms, (0.0, MAX_DELAY_MS))
        _check_quantity(link, "jitter_ms", link.jitter_ms, (0.0, MAX_DELAY_MS))
    for src, dst, key in seen:
        if (dst, src, key) not in seen:
            raise TopologyError(f"link {Direction(src, dst, key)} has no reverse direction; give both")


def _check_quantity(link: Link, name: str, value: float | None, bounds: tuple[float, float]) -> None:
    lowest, highest = bounds
    if value is not None and not lowest <= value <= highest:
        wanted = "a number above 0" if lowest else "a number of at least 0"
        if math.isfinite(value) and value > 0:
            wanted += f", from {lowest:g} to {highest:g}"
        raise TopologyError(f"link {link.direction} has {name} = {value}; give {wanted}, or leave it out")
