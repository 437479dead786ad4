"""Small builders of topologies: both directions of a link at once, and nodes named s1..sN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mininet_topos.topology import Link, Node, Topology


def two_way(
    src: str, dst: str, key: int = 0, *, capacity_mbps: float | None = None, delay_ms: float | None = None
) -> tuple[Link, Link]:
    """Both directions of one physical link, equal in capacity (Mbit/s) and delay (ms)."""
    return (
        Link(src, dst, key, capacity_mbps, delay_ms),
        Link(dst, src, key, capacity_mbps, delay_ms),
    )


def numbered_nodes(labels: Sequence[str]) -> tuple[Node, ...]:
    """Nodes s1..sN, one a label."""
    return tuple(Node(f"s{number}", label) for number, label in enumerate(labels, start=1))


def from_edges(
    name: str,
    nodes: tuple[Node, ...],
    edges: Iterable[tuple[int, int]],
    *,
    capacity_mbps: float | None = None,
    delay_ms: float | None = None,
) -> Topology:
    """Topology of undirected edges between node numbers; an edge given again is a parallel link.

    Parameters
    ----------
    name
        Name of the topology.
    nodes
        Node k, counted from 1, is the k-th.
    edges : iterable of (int, int)
        Ends as node numbers, from 1.
    capacity_mbps, delay_ms
        The same for every link.
    """
    links: list[Link] = []
    seen: Counter[tuple[int, int]] = Counter()
    for a, b in edges:
        ends = (min(a, b), max(a, b))
        links += two_way(
            nodes[a - 1].name, nodes[b - 1].name, seen[ends], capacity_mbps=capacity_mbps, delay_ms=delay_ms
        )
        seen[ends] += 1
    return Topology(name, nodes, tuple(links))
