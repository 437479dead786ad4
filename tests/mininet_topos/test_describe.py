"""Words and JSON about a topology agree with the topology."""

from __future__ import annotations

import json

import networkx as nx
import pytest
from hypothesis import given

from mininet_topos.catalogue import list_topologies, load_topology
from mininet_topos.describe import describe, describe_text, list_text
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction
from mininet_topos.wording import counted
from tests.mininet_topos.strategies import topologies


@given(topologies())
def test_counts_agree_with_networkx(topology):
    facts = describe(topology)
    graph = nx.Graph(topology.to_networkx().to_undirected())
    assert facts["parts"] == nx.number_connected_components(graph)
    assert facts["nodes"] == len(facts["node_list"]) == len(graph)
    assert facts["links"] == len(facts["link_list"]) == graph.number_of_edges() + facts["parallel_links"]
    hops = [dist for _, row in nx.all_pairs_shortest_path_length(graph) for dist in row.values() if dist]
    assert facts["failure_cases"] == sum(hops)
    assert facts["diameter_hops"] == max(hops, default=None)
    # What can be removed is what a spanning forest leaves over.
    assert facts["removable_links"] == facts["links"] - nx.minimum_spanning_tree(graph).number_of_edges()
    assert json.loads(json.dumps(facts)) == facts


@given(topologies())
def test_ports_shown_are_the_ports_assigned(topology):
    ports = assign_ports(topology)
    facts = describe(topology)
    for link in facts["link_list"]:
        assert link["src_port"] == ports.port_of[Direction(link["src"], link["dst"], link["key"])]
        assert link["dst_port"] == ports.port_of[Direction(link["dst"], link["src"], link["key"])]
    for number, node in enumerate(facts["node_list"], start=1):
        assert node["ports"]["1"] == f"h{number}"
        assert len(node["ports"]) == node["degree"] + 1


@given(topologies())
def test_text_names_every_node_and_link(topology):
    text = describe_text(topology)
    first_words = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert set(topology.node_names) <= set(first_words)
    assert {str(link) for link in topology.link_ids} <= set(first_words)


def test_darkstrand_in_words():
    lines = describe_text(load_topology("darkstrand")).splitlines()
    assert lines[:3] == [
        "darkstrand: 28 nodes, 31 links, connected",
        "  shortest paths: mean 4.86, longest 11 hops; 3,676 failure cases (ordered pair, link on its path)",
        "  no single link disconnects anybody; at most 4 links can fail with all still connected; 22 nodes of degree 2",
    ]
    assert "s11   New York            40.71N 74.01W   2>s12  3>s18" in lines
    assert "s1-s2    unknown   2.628 ms  2 - 2" in lines


def test_bridges_and_differing_directions_are_shown():
    assert "1 bridge, whose loss disconnects somebody: s3-s4" in describe_text(load_topology("dumbbell"))
    assert "100 / 10 Mbit/s" in describe_text(load_topology("one-way"))
    assert "9 bridges, whose loss disconnects somebody: s1-s2, " in describe_text(load_topology("random:10:9:1"))


def test_list_has_one_line_a_topology():
    rows = list_topologies()
    lines = list_text(rows).splitlines()
    assert len(lines) == len(rows) + 1
    assert lines[2].split()[:4] == ["darkstrand", "catalogue", "28", "31"]


@pytest.mark.parametrize(("count", "text"), [(0, "0 links"), (1, "1 link"), (2, "2 links")])
def test_one_is_singular(count, text):
    assert counted(count, "link") == text
