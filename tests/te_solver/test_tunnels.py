"""Tunnels: as many disjoint ones as the maximum flow allows, of least length; then the least overlap."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from te_solver.network import to_network
from te_solver.search import push, sift
from te_solver.tunnels import find_tunnels
from tests.te_solver.strategies import chain, networks, two_diamonds


def all_pairs(network):
    count = len(network.node_names)
    return np.array([(a, b) for a in range(count) for b in range(count) if a != b], dtype=np.int64)


def undirected(network):
    """Each physical link as a path over a node of its own, so that networkx tells parallel links apart."""
    graph = nx.Graph()
    graph.add_nodes_from(network.node_names)
    for link in network.topology.link_ids:
        graph.add_edge(link.a, link)
        graph.add_edge(link, link.b)
    return graph


def tunnels_of(tunnels, pair):
    return [tunnels[t] for t in range(tunnels.pair_starts[pair], tunnels.pair_starts[pair + 1])]


def links_used(network, tunnel):
    return [network.topology.link_id(link) for link in tunnel.links]


def simple_paths(network, a, b):
    """Every simple path as a tuple of link ids."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(network.node_names)
    for link in network.topology.link_ids:
        graph.add_edge(link.a, link.b, key=link)
    return [tuple(key for _, _, key in path) for path in nx.all_simple_edge_paths(graph, a, b)]


@given(networks())
def test_tunnels_are_simple_paths_between_the_ends_of_their_pair(network):
    pairs = all_pairs(network)
    tunnels = find_tunnels(network, pairs)
    for pair, (a, b) in enumerate(pairs):
        found = tunnels_of(tunnels, pair)
        assert len({tunnel.links for tunnel in found}) == len(found)
        for tunnel in found:
            assert tunnel.nodes[0] == network.node_names[a]
            assert tunnel.nodes[-1] == network.node_names[b]
            assert len(set(tunnel.nodes)) == len(tunnel.nodes)
            assert all(x.dst == y.src for x, y in itertools.pairwise(tunnel.links))


@given(networks(), st.integers(1, 4))
def test_disjoint_tunnels_are_as_many_as_the_maximum_flow_and_of_least_length(network, count):
    graph = undirected(network)
    directed = graph.to_directed()
    nx.set_edge_attributes(directed, 1, "capacity")
    nx.set_edge_attributes(directed, 1, "weight")
    pairs = all_pairs(network)
    tunnels = find_tunnels(network, pairs, count)
    for pair, (a, b) in enumerate(pairs):
        ends = network.node_names[a], network.node_names[b]
        wanted = min(count, nx.maximum_flow_value(directed, *ends))
        assert tunnels.disjoint[pair] == wanted
        found = tunnels_of(tunnels, pair)[:wanted]
        links = [link for tunnel in found for link in links_used(network, tunnel)]
        assert len(set(links)) == len(links)
        demand = {ends[0]: -wanted, ends[1]: wanted}
        nx.set_node_attributes(directed, {node: demand.get(node, 0) for node in directed}, "demand")
        # A link is two halves in the oracle, so its cost counts twice.
        assert 2 * len(links) == (nx.min_cost_flow_cost(directed) if wanted else 0)


@given(networks(max_nodes=6, max_links=9))
def test_further_tunnels_overlap_the_chosen_ones_least(network):
    pairs = all_pairs(network)
    tunnels = find_tunnels(network, pairs)
    for pair, (a, b) in enumerate(pairs):
        found = [tuple(links_used(network, tunnel)) for tunnel in tunnels_of(tunnels, pair)]
        every = simple_paths(network, network.node_names[a], network.node_names[b])
        assert len(found) == min(3, len(every)) or tunnels.disjoint[pair] == len(found) == 3
        for number in range(int(tunnels.disjoint[pair]), len(found)):
            chosen = found[:number]

            def rank(path, chosen=chosen):
                return sum(link in other for link in path for other in chosen), len(path)

            assert rank(found[number]) == min(rank(path) for path in every if path not in chosen)


@pytest.mark.slow
@given(networks(max_nodes=6, max_links=9), st.integers(1, 5))
def test_k_shortest_tunnels_are_the_shortest_simple_paths(network, count):
    pairs = all_pairs(network)
    tunnels = find_tunnels(network, pairs, count, "k-shortest")
    for pair, (a, b) in enumerate(pairs):
        lengths = [len(tunnel.links) for tunnel in tunnels_of(tunnels, pair)]
        every = sorted(len(path) for path in simple_paths(network, network.node_names[a], network.node_names[b]))
        assert lengths == every[:count]


def test_paths_beyond_the_disjoint_ones_are_found_where_the_best_is_chosen_already():
    tunnels = find_tunnels(two_diamonds(), np.array([[0, 6]]), 5)
    assert len(tunnels) == 4
    assert tunnels.disjoint[0] == 2


def test_parallel_links_carry_disjoint_tunnels():
    network = to_network(load_topology("parallel"))
    tunnels = find_tunnels(network, np.array([[1, 2]]))
    assert [str(link) for tunnel in tunnels for link in tunnel.links] == ["s2>s3", "s2>s3#1", "s2>s3#2"]
    assert tunnels.disjoint[0] == 3


def test_greedy_search_would_be_trapped_and_the_exact_one_is_not():
    # The shortest path s1-s2-s5-s6 uses the middle of both disjoint paths.
    from mininet_topos.build import from_edges, numbered_nodes

    edges = ((1, 2), (2, 5), (5, 6), (1, 3), (3, 4), (4, 5), (2, 7), (7, 8), (8, 6))
    network = to_network(from_edges("trap", numbered_nodes([""] * 8), edges), 1.0)
    tunnels = find_tunnels(network, np.array([[0, 5]]), 2)
    assert tunnels.disjoint[0] == 2
    assert sorted(tunnel.nodes for tunnel in tunnels) == [
        ("s1", "s2", "s7", "s8", "s6"),
        ("s1", "s3", "s4", "s5", "s6"),
    ]


def test_delay_metric_prefers_the_short_way_round():
    network = to_network(load_topology("one-way"))
    tunnels = find_tunnels(network, np.array([[0, 2], [2, 0]]), 1, metric="delay")
    assert [tunnel.nodes for tunnel in tunnels] == [("s1", "s2", "s3"), ("s3", "s4", "s1")]


@pytest.mark.parametrize("kind", ["spt", "mst"])
def test_tree_tunnels_are_one_path_a_pair(kind):
    network = to_network(load_topology("ladder"))
    tunnels = find_tunnels(network, all_pairs(network), kind=kind)
    assert len(tunnels) == 8 * 7
    assert all(tunnel.nodes[0] == tunnel.src and tunnel.nodes[-1] == tunnel.dst for tunnel in tunnels)
    if kind == "mst":
        assert len({network.topology.link_id(link) for tunnel in tunnels for link in tunnel.links}) == 7


def test_a_pair_without_a_path_has_no_tunnel():
    from mininet_topos.build import from_edges, numbered_nodes

    network = to_network(from_edges("parts", numbered_nodes([""] * 4), ((1, 2), (3, 4))), 1.0)
    for kind in ("disjoint", "k-shortest", "spt", "mst"):
        tunnels = find_tunnels(network, np.array([[0, 3], [0, 1]]), kind=kind)
        assert tunnels.pair_starts.tolist() == [0, 0, 1]


@pytest.mark.slow
def test_kernels_give_the_same_tunnels_compiled_or_not():
    pytest.importorskip("numba", reason="numba is not installed: kernels run as they are anyway")
    heap = np.empty(8, np.int64)
    for run in (lambda f: f, lambda f: f.py_func):
        size = 0
        for key in (5, 2, 9, 1, 7):
            size = run(push)(heap, size, key)
        taken = []
        while size:
            taken.append(int(heap[0]))
            size -= 1
            run(sift)(heap, size)
        assert taken == [1, 2, 5, 7, 9]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"kind": "best"}, "'best'"),
        ({"count": 0}, "at least 1"),
        ({"metric": "colour"}, "'colour'"),
        ({"metric": "delay"}, "has no delay_ms"),
    ],
)
def test_unusable_arguments_are_named(arguments, word):
    with pytest.raises(BadInputError, match=word):
        find_tunnels(chain(1.0, 1.0), np.array([[0, 1]]), **arguments)


def test_a_topology_without_links_or_capacities_is_refused():
    from mininet_topos.topology import Node, Topology

    with pytest.raises(BadInputError, match="no links"):
        to_network(Topology("lone", (Node("s1"),), ()))
    with pytest.raises(BadInputError, match="default-capacity-mbps"):
        to_network(load_topology("usnet"))
    with pytest.raises(BadInputError, match="nan"):
        to_network(load_topology("usnet"), float("nan"))
