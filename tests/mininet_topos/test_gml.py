"""GML as the Topology Zoo writes it, with networkx as the oracle."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given

from mininet_topos.catalogue import load_topology, load_topology_with_warnings
from mininet_topos.errors import BadInputError
from mininet_topos.importers.gml import read_gml
from mininet_topos.importers.raw import to_loaded
from tests.mininet_topos.strategies import edge_lists

ZOO = """
# a comment [
Creator "Topology Zoo ] Toolset"
graph [
  directed 0
  Network "Invented"
  node [
    id 0
    label "K&#246;ln"
    Latitude 50.9
    Longitude 7.0
    graphics [ x 1 y 2 ]
  ]
  node [ id 1 label "Bonn" ]
  edge [ source 0 target 1 LinkSpeed "10" LinkSpeedUnits "G" id "e0" ]
  edge [ source 1 target 0 ]
  edge [ source 1 target 1 ]
]
"""


def test_zoo_file_keeps_labels_places_and_parallel_links(tmp_path):
    path = tmp_path / "Invented.gml"
    path.write_text(ZOO, encoding="utf-8")
    loaded = load_topology_with_warnings(str(path))
    topology = loaded.topology
    assert [node.label for node in topology.nodes] == ["Köln", "Bonn"]
    assert (topology.nodes[0].latitude, topology.nodes[0].longitude) == (50.9, 7.0)
    assert [link.capacity_mbps for link in topology.links] == [10_000, 10_000, None, None]
    assert any("self-loop" in warning for warning in loaded.warnings)


@given(edge_lists())
def test_graph_written_by_networkx_keeps_its_edges(shape):
    count, edges = shape
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges)
    topology = to_loaded("t", read_gml("\n".join(nx.generate_gml(graph)).encode())).topology
    found = sorted((int(link.a[1:]) - 1, int(link.b[1:]) - 1) for link in topology.link_ids)
    assert found == sorted((min(edge), max(edge)) for edge in edges)
    assert len(topology.nodes) == count


def test_latin_1_is_read():
    assert read_gml('graph [ node [ id 0 label "Genève" ] ]'.encode("latin-1")).nodes[0].attributes["label"] == "Genève"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("just words", "no 'graph"),
        ("graph 1", "no 'graph"),
        ("graph [ ]", "no nodes"),
        ("graph [ node [ id 0 ]", "never closed"),
        ("graph [ node ]", "near 'node'"),
        ("]", "near ']'"),
        ('graph [ "a" 1 ]', "near '\"a\"'"),
        ("graph [ node [ id 0 ] edge [ source 0 ] ]", "edge 1 has no target"),
        ("graph [ node [ id 0 ] node [ id 0 ] ]", "'0' stands twice"),
        ("g [ " * 60, "nested more than 50 deep"),
    ],
)
def test_broken_file_is_one_sentence(tmp_path, text, words):
    path = tmp_path / "broken.gml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError) as error:
        load_topology(str(path))
    assert words in str(error.value)
    assert "\n" not in str(error.value)
