"""Trees towards every destination: laws, and networkx as the oracle."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from mininet_topos.toy import TOYS
from te_solver.routes import NO_LINK, ResidualRoutes
from tests.examples import examples
from tests.verify.networks import connected

METRICS = st.sampled_from(["hops", "delay"])


@st.composite
def failures(draw):
    """(topology with delays, metric, failed links)."""
    topology = draw(connected(max_nodes=7))
    delays = {link: draw(st.sampled_from([0.0, 0.5, 1.0, 1.001, 7.25])) for link in topology.link_ids}
    links = tuple(replace(link, delay_ms=delays[topology.link_id(link.direction)]) for link in topology.links)
    topology = Topology(topology.name, topology.nodes, links)
    return topology, draw(METRICS), frozenset(draw(st.sets(st.sampled_from(topology.link_ids), max_size=3)))


def graph_of(topology, metric, failed):
    """The residual graph, with the cheapest of parallel links (hops break ties of delay)."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(topology.nodes)))
    for link in topology.links:
        if topology.link_id(link.direction) not in failed:
            a, b = topology.index_of[link.src], topology.index_of[link.dst]
            cost = cost_of(link, metric)
            if not graph.has_edge(a, b) or cost < graph[a][b]["weight"]:
                graph.add_edge(a, b, weight=cost)
    return graph


def cost_of(link, metric):
    """Microseconds times 1024 and one hop, or one hop."""
    return 1 if metric == "hops" else round(link.delay_ms * 1000) * 1024 + 1


@examples(80)
@given(failures())
def test_shortest_path_distances_are_those_of_networkx(case):
    topology, metric, failed = case
    expected = dict(nx.all_pairs_dijkstra_path_length(graph_of(topology, metric, failed)))
    distances = ResidualRoutes(topology, "spt", metric).distances(failed)
    for (a, b), distance in np.ndenumerate(distances):
        assert distance == expected[a].get(b, np.inf)


@examples(80)
@given(failures(), st.sampled_from(["spt", "mst"]))
def test_every_step_leads_closer_over_a_link_that_lives(case, routes):
    topology, metric, failed = case
    residual = ResidualRoutes(topology, routes, metric)
    table, distance = residual.next_links(failed), residual.distances(failed)
    for (node, target), number in np.ndenumerate(table):
        if node == target or np.isinf(distance[node, target]):
            assert number == NO_LINK
            continue
        link = residual.links[number]
        far = topology.index_of[link.dst]
        assert topology.index_of[link.src] == node
        assert topology.link_id(link.direction) not in failed
        assert distance[node, target] == residual.cost(number) + distance[far, target]


@examples(80)
@given(failures())
def test_ties_go_to_the_first_neighbour_and_then_to_the_first_of_parallel_links(case):
    topology, metric, failed = case
    residual = ResidualRoutes(topology, "spt", metric)
    table, distance = residual.next_links(failed), residual.distances(failed)
    for (node, target), number in np.ndenumerate(table):
        if number != NO_LINK:
            equals = [
                link.direction
                for link in topology.links_from[topology.node_names[node]]
                if topology.link_id(link.direction) not in failed
                and cost_of(link, metric) + distance[topology.index_of[link.dst], target] == distance[node, target]
            ]
            assert residual.links[number].direction == equals[0]


@examples(80)
@given(failures())
def test_spanning_tree_routes_use_a_forest_of_the_weight_that_networkx_finds(case):
    topology, metric, failed = case
    residual = ResidualRoutes(topology, "mst", metric)
    used = {
        topology.link_id(residual.links[number].direction)
        for number in np.unique(residual.next_links(failed))
        if number != NO_LINK
    }
    forest = nx.Graph([(link.a, link.b) for link in used])
    assert nx.number_of_edges(forest) == len(used)
    assert not used or nx.is_forest(forest)
    weight = sum(cost_of(topology.link_at[topology.directions(link)[0]], metric) for link in used)
    assert weight == nx.minimum_spanning_tree(graph_of(topology, metric, failed)).size(weight="weight")


@examples(40)
@given(failures())
def test_spanning_tree_routes_reach_whatever_is_still_joined(case):
    topology, metric, failed = case
    parts = topology.components(failed)
    component = [parts[name] for name in topology.node_names]
    table = ResidualRoutes(topology, "mst", metric).next_links(failed)
    for (node, target), number in np.ndenumerate(table):
        assert (number != NO_LINK) == (node != target and component[node] == component[target])


def test_a_network_without_links_has_no_routes():
    topology = replace(TOYS["pair"](), links=())
    assert (ResidualRoutes(topology).next_links() == NO_LINK).all()


def test_unknown_words_and_unknown_delays_are_refused():
    square = TOYS["square"]()
    with pytest.raises(BadInputError, match="unknown routes 'bgp'"):
        ResidualRoutes(square, "bgp")
    with pytest.raises(BadInputError, match="unknown metric 'cost'"):
        ResidualRoutes(square, "spt", "cost")
    links = tuple(replace(link, delay_ms=None) for link in square.links)
    with pytest.raises(BadInputError, match="s1>s2 has no delay_ms"):
        ResidualRoutes(replace(square, links=links), "spt", "delay")
