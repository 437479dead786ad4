"""The topology model: what it refuses, and the laws of its views."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos import toy
from mininet_topos.build import from_edges, numbered_nodes, two_way
from mininet_topos.connectivity import bridges, hop_distances, require_connected
from mininet_topos.errors import BadInputError, TopologyError
from mininet_topos.topology import Direction, FailureScenario, Link, LinkId, Node, Topology
from tests.mininet_topos.strategies import topologies

AB = (Node("a"), Node("b"))


@given(topologies())
def test_every_link_has_its_reverse_and_one_physical_name(topology):
    for link in topology.links:
        link_id = topology.link_id(link.direction)
        assert link.direction in topology.directions(link_id)
        assert all(direction in topology.link_at for direction in topology.directions(link_id))
    assert len(topology.links) == 2 * len(topology.link_ids)


@given(topologies(), st.data())
def test_components_agree_with_networkx(topology, data):
    failed = data.draw(st.sets(st.sampled_from(topology.link_ids))) if topology.link_ids else set()
    graph = topology.to_networkx()
    for link_id in failed:
        graph.remove_edges_from(topology.directions(link_id))
    part_of = topology.components(failed)
    parts = {frozenset(name for name in part_of if part_of[name] == part) for part in part_of.values()}
    assert parts == {frozenset(part) for part in nx.weakly_connected_components(graph)}
    assert topology.is_connected(failed) == nx.is_weakly_connected(graph)


@given(topologies())
def test_a_bridge_is_a_link_whose_loss_makes_one_part_more(topology):
    parts = len(set(topology.components().values()))
    cut = {link for link in topology.link_ids if len(set(topology.components([link]).values())) > parts}
    assert set(bridges(topology)) == cut


@given(topologies())
def test_hop_distances_agree_with_a_directed_search(topology):
    graph = topology.to_networkx()
    expected = {
        (src, dst): hops
        for src, row in nx.all_pairs_shortest_path_length(graph)
        for dst, hops in row.items()
        if src != dst
    }
    assert hop_distances(topology) == expected


@given(topologies())
def test_a_link_is_found_by_its_text(topology):
    for link_id in topology.link_ids:
        assert topology.parse_link(str(link_id)) == link_id


def test_parse_link_takes_the_ends_in_any_order_and_names_with_dashes():
    topology = Topology("t", (Node("a-b"), Node("c")), two_way("a-b", "c"))
    assert topology.parse_link("c-a-b") == LinkId("a-b", "c")


@pytest.mark.parametrize("text", ["s1-s9", "s1-s3", "s1", "", "s1-s2#4", "s1>s2", "s1-s2#x", "s1-s2#", "s1-s2#²"])
def test_parse_link_refuses_what_is_no_link(text):
    with pytest.raises(TopologyError, match="figure2"):
        toy.figure2().parse_link(text)


@pytest.mark.parametrize(
    ("nodes", "links", "words"),
    [
        ((), (), "no nodes"),
        ((Node("a"), Node("a")), (), "'a' stands twice"),
        (AB, two_way("a", "c"), "'c', which does not exist"),
        (AB, (Link("a", "a"),), "itself"),
        (AB, two_way("a", "b") * 2, "stands twice"),
        (AB, (Link("a", "b"),), "no reverse"),
        (AB, two_way("a", "b", capacity_mbps=0), "capacity_mbps = 0"),
        (AB, two_way("a", "b", capacity_mbps=-1.5), "capacity_mbps = -1.5"),
        (AB, two_way("a", "b", capacity_mbps=float("nan")), "capacity_mbps = nan"),
        (AB, two_way("a", "b", delay_ms=float("inf")), "delay_ms = inf"),
        (AB, two_way("a", "b", delay_ms=-1), "delay_ms = -1"),
    ],
)
def test_a_broken_topology_is_refused_with_its_value(nodes, links, words):
    with pytest.raises(TopologyError, match=words):
        Topology("t", nodes, links)


def test_delay_of_zero_is_allowed():
    assert Topology("t", AB, two_way("a", "b", delay_ms=0)).links[0].delay_ms == 0


def test_a_topology_in_two_parts_is_refused_by_a_node_on_each_side():
    topology = from_edges("t", numbered_nodes(["Oslo", "Paris", "Rome", "Ulm"]), [(1, 2), (3, 4)])
    with pytest.raises(BadInputError, match=r"in 2 parts: s1 \(Oslo\) does not reach s3 \(Rome\)"):
        require_connected(topology)
    require_connected(toy.dumbbell())


def test_one_node_alone_is_connected():
    require_connected(Topology("t", (Node("a"),), ()))


def test_failure_of_links_directions_and_nodes_adds_up():
    topology = toy.square()
    scenario = FailureScenario(
        links=frozenset({LinkId("s1", "s2")}), directions=frozenset({Direction("s3", "s4")}), nodes=frozenset({"s2"})
    )
    assert scenario.failed_directions(topology) == {
        Direction("s1", "s2"),
        Direction("s2", "s1"),
        Direction("s3", "s4"),
        Direction("s2", "s3"),
        Direction("s3", "s2"),
    }
