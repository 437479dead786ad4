"""What of a topology hangs together: the demand of the commands, and the numbers that recovery depends on."""

from __future__ import annotations

from collections import Counter

import networkx as nx

from mininet_topos.errors import TopologyError
from mininet_topos.topology import LinkId, Node, Topology


def require_connected(topology: Topology) -> None:
    """Refuse a topology in several parts.

    Raises
    ------
    TopologyError
        Some node does not reach the first; the message names one node on each side.
    """
    part_of = topology.components()
    parts = len(set(part_of.values()))
    if parts == 1:
        return
    near = topology.nodes[0]
    far = next(node for node in topology.nodes if part_of[node.name] != part_of[near.name])
    raise TopologyError(
        f"topology {topology.name!r} is in {parts} parts: {_called(near)} does not reach {_called(far)}; "
        "join them by a link, or leave one part out"
    )


def simple_graph(topology: Topology) -> nx.Graph[str]:
    """Undirected networkx graph without parallel links; `links` of an edge counts them."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(topology.node_names)
    for (a, b), count in Counter((link.a, link.b) for link in topology.link_ids).items():
        graph.add_edge(a, b, links=count)
    return graph


def bridges(topology: Topology) -> tuple[LinkId, ...]:
    """Links whose failure alone disconnects some pair of nodes (a parallel link is never one), in link order."""
    graph = simple_graph(topology)
    cut = {frozenset(edge) for edge in nx.bridges(graph)}
    return tuple(
        link for link in topology.link_ids if frozenset((link.a, link.b)) in cut and graph[link.a][link.b]["links"] == 1
    )


def hop_distances(topology: Topology) -> dict[tuple[str, str], int]:
    """Hops of a shortest path for every ordered pair of different nodes that reach one another."""
    return {
        (src, dst): hops
        for src, row in nx.all_pairs_shortest_path_length(simple_graph(topology))
        for dst, hops in row.items()
        if src != dst
    }


def _called(node: Node) -> str:
    return f"{node.name} ({node.label})" if node.label and node.label != node.name else node.name
