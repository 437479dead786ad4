"""Each toy gadget stresses what its drawing says."""

from __future__ import annotations

import networkx as nx
import pytest

from mininet_topos import toy
from mininet_topos.connectivity import bridges, hop_distances, simple_graph
from mininet_topos.topology import LinkId


@pytest.mark.parametrize("name", toy.TOYS)
def test_toy_is_connected_named_and_has_a_position_for_every_node(name):
    topology = toy.TOYS[name]()
    assert topology.name == name
    assert topology.is_connected()
    assert len(toy.POSITIONS[name]) == len(topology.nodes) == len(set(toy.POSITIONS[name]))
    assert all(link.capacity_mbps and link.delay_ms for link in topology.links)


def test_every_toy_names_all_its_nodes_in_its_drawing():
    for name, make in toy.TOYS.items():
        drawing = make.__doc__
        assert all(node in drawing for node in make().node_names), name


def test_figure2_backtracks_from_d_to_b_when_d_e_fails():
    topology = toy.figure2()
    graph = simple_graph(topology)
    assert list(nx.all_shortest_paths(graph, "s1", "s5")) == [["s1", "s2", "s3", "s4", "s5"]]
    graph.remove_edge("s4", "s5")
    assert nx.shortest_path(graph, "s4", "s5") == ["s4", "s3", "s2", "s6", "s7", "s8", "s5"]
    assert [node.label for node in topology.nodes] == list("ABCDEFGH")


def test_tail_backtracks_five_hops_when_the_last_link_fails():
    graph = simple_graph(toy.tail())
    assert len(list(nx.all_shortest_paths(graph, "s1", "s7"))) == 1
    graph.remove_edge("s6", "s7")
    bypass = nx.shortest_path(graph, "s6", "s7")
    assert bypass[:6] == ["s6", "s5", "s4", "s3", "s2", "s1"]
    assert bypass[6] == "s13"


def test_dumbbell_has_one_bridge_and_star_only_bridges():
    assert bridges(toy.dumbbell()) == (LinkId("s3", "s4"),)
    assert bridges(toy.star()) == toy.star().link_ids


def test_parallel_links_survive_their_twin():
    topology = toy.parallel()
    assert LinkId("s2", "s3", 2) in topology.link_ids
    assert bridges(topology) == ()
    assert topology.is_connected([LinkId("s1", "s2", 0), LinkId("s1", "s3", 0)])


def test_theta_survives_any_two_failures_between_its_ends():
    assert nx.edge_connectivity(simple_graph(toy.theta()), "s1", "s2") == 3


def test_square_and_ladder_have_ties():
    assert len(list(nx.all_shortest_paths(simple_graph(toy.square()), "s1", "s3"))) == 2
    assert len(list(nx.all_shortest_paths(simple_graph(toy.ladder()), "s1", "s8"))) == 4


def test_one_way_leads_round_the_same_way_in_both_directions_by_delay():
    graph = toy.one_way().to_networkx()
    assert nx.shortest_path(graph, "s1", "s3", weight="delay_ms") == ["s1", "s2", "s3"]
    assert nx.shortest_path(graph, "s3", "s1", weight="delay_ms") == ["s3", "s4", "s1"]
    assert hop_distances(toy.one_way())["s1", "s3"] == 2
