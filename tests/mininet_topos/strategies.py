"""Random small topologies for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from mininet_topos.topology import Link, Node, Topology

quantities_mbps = st.none() | st.floats(1e-3, 1e6)
delays_ms = st.none() | st.floats(0, 1e3)
labels = st.text(st.characters(exclude_categories=("C", "Z")), max_size=8)


@st.composite
def edge_lists(draw, max_nodes=7, max_edges=14):
    """Draw (number of nodes, list of edges between different nodes, repeats allowed), nodes counted from 0."""
    count = draw(st.integers(1, max_nodes))
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda edge: edge[0] != edge[1])
    return count, draw(st.lists(ends, max_size=max_edges)) if count > 1 else []


@st.composite
def topologies(draw):
    """Draw topologies with parallel links, differing directions, labels and places, all optional."""
    count, edges = draw(edge_lists())
    nodes = tuple(
        Node(f"s{number}", draw(labels), draw(st.none() | st.floats(-90, 90)), draw(st.none() | st.floats(-180, 180)))
        for number in range(1, count + 1)
    )
    links: list[Link] = []
    keys: dict[frozenset[int], int] = {}
    for port_no, (a, b) in enumerate(edges, start=2):
        key = keys[frozenset((a, b))] = keys.get(frozenset((a, b)), -1) + 1
        for src, dst in ((a, b), (b, a)):
            fixed = draw(st.none() | st.just(port_no))
            times = draw(delays_ms), draw(delays_ms)
            links.append(
                Link(f"s{src + 1}", f"s{dst + 1}", key, draw(quantities_mbps), times[0], fixed, jitter_ms=times[1])
            )
    return Topology(draw(labels.filter(lambda text: text and "/" not in text)), nodes, tuple(links))
