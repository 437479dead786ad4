"""Disjoint tunnels against igraph and networkx: python -m benchmarks.te_tunnels

igraph has no disjoint paths of least length; it gets the greedy search (shortest path, make its links expensive,
repeat), which is less work and not exact. networkx computes link-disjoint paths by maximum flow.
"""

from __future__ import annotations

import contextlib

import networkx as nx
import numpy as np

from benchmarks.te_timing import begin, cpu_s
from mininet_topos.catalogue import load_topology
from te_solver.network import Network, to_network
from te_solver.tunnels import find_tunnels

# Name, pairs for ours and igraph, pairs for networkx.
CASES = (
    ("gscale", 132, 132),
    ("random:100:200:1", 3000, 200),
    ("random:197:243:1", 3000, 100),
    ("random:754:895:1", 1000, 20),
)
PATHS = 3
EXPENSIVE = 1000.0


def greedy_igraph(network: Network, pairs: np.ndarray) -> None:
    """Shortest paths, each made expensive for the next."""
    import igraph

    ends = [
        (network.topology.index_of[link.a], network.topology.index_of[link.b]) for link in network.topology.link_ids
    ]
    graph = igraph.Graph(n=len(network.node_names), edges=ends)
    for source, target in pairs.tolist():
        weights = [1.0] * len(ends)
        for _ in range(PATHS):
            for edge in graph.get_shortest_paths(source, target, weights=weights, output="epath")[0]:
                weights[edge] += EXPENSIVE


def flow_networkx(network: Network, pairs: np.ndarray) -> list[int]:
    """Number of link-disjoint paths of every pair."""
    graph = nx.Graph(
        (network.topology.index_of[link.a], network.topology.index_of[link.b]) for link in network.topology.link_ids
    )
    return [len(list(nx.edge_disjoint_paths(graph, a, b, cutoff=PATHS))) for a, b in pairs.tolist()]


def main() -> None:
    """Print the table: microseconds of one core a pair."""
    begin(__doc__)
    for name, many, few in CASES:
        network = to_network(load_topology(name), 1.0)
        nodes = len(network.node_names)
        pairs = np.array([(a, b) for a in range(nodes) for b in range(nodes) if a != b], dtype=np.int64)
        pairs = pairs[np.random.default_rng(0).choice(len(pairs), many, replace=False)]
        find_tunnels(network, pairs[:2], PATHS)
        with contextlib.suppress(ImportError):
            greedy_igraph(network, pairs[:2])
        ours_s, tunnels = cpu_s(lambda network=network, pairs=pairs: find_tunnels(network, pairs, PATHS), 3)
        ours_us = 1e6 * ours_s / many
        line = f"{name}: ours {ours_us:.1f} us a pair"
        try:
            igraph_us = 1e6 * cpu_s(lambda network=network, pairs=pairs: greedy_igraph(network, pairs))[0] / many
            line += f", igraph greedy {igraph_us:.0f} ({igraph_us / ours_us:.1f} times)"
        except ImportError:
            line += ", igraph not installed"
        flow_s, counts = cpu_s(lambda network=network, pairs=pairs, few=few: flow_networkx(network, pairs[:few]))
        flow_us = 1e6 * flow_s / few
        same = counts == tunnels.disjoint[:few].tolist()
        print(f"{line}, networkx flow {flow_us:.0f} ({flow_us / ours_us:.0f} times, counts equal: {same})", flush=True)


if __name__ == "__main__":
    main()
