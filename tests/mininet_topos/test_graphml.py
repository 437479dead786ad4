"""GraphML as the world writes it: a corpus of odd files, networkx as the oracle, and broken ones refused."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology, load_topology_with_warnings
from mininet_topos.errors import BadInputError
from mininet_topos.importers.graphml import read_graphml
from mininet_topos.importers.raw import RawEdge, RawGraph, RawNode, to_loaded
from mininet_topos.topology import Direction, LinkId
from tests.mininet_topos.strategies import edge_lists

CORPUS = Path(__file__).parent / "graphml"
HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
TAIL = "</graph></graphml>"


def load(name):
    return load_topology_with_warnings(str(CORPUS / f"{name}.graphml"))


def loaded_text(text):
    return to_loaded("t", read_graphml(text.encode()))


def capacities(topology, a, b):
    """Return capacities of the directions a to b, by key."""
    return [link.capacity_mbps for link in topology.links_from[a] if link.dst == b]


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.graphml")), ids=lambda path: path.stem)
def test_every_file_of_the_corpus_loads_under_its_own_name(path):
    topology = load_topology(str(path))
    assert topology.name == path.stem
    assert topology.node_names == tuple(f"s{number}" for number in range(1, len(topology.nodes) + 1))


def test_zoo_file_keeps_labels_places_parallel_links_and_speeds():
    topology, warnings = load("zoo_like").topology, load("zoo_like").warnings
    assert [node.label for node in topology.nodes] == ["Århus", "Köln & Bonn", "Springfield", "Springfield"]
    assert (topology.nodes[2].latitude, topology.nodes[2].longitude) == (44.05, -123.02)
    assert topology.nodes[3].latitude is None
    assert topology.link_ids == (
        LinkId("s1", "s2", 0),
        LinkId("s1", "s2", 1),
        LinkId("s2", "s3"),
        LinkId("s3", "s4"),
        LinkId("s1", "s4"),
    )
    assert capacities(topology, "s1", "s2") == [2500.0, 155.0]
    assert capacities(topology, "s2", "s3") == [None]
    assert warnings == (
        "1 node(s) stand for shared media (hyperedge) and are kept as switches",
        "3 of 5 links have no speed; their capacity is unknown",
        "1 of 4 nodes have no place; the map guesses where they are",
        "1 link speed(s) are no number with a unit, the first is '34-155 M'",
    )


def test_file_without_keys_namespace_or_edgedefault_loads():
    topology = load("bare").topology
    assert [node.label for node in topology.nodes] == ["a b", "Two lines", "7"]
    assert topology.link_ids == (LinkId("s1", "s2"), LinkId("s2", "s3"))
    assert capacities(topology, "s1", "s2") == [1000.0]


def test_yed_labels_are_found_groups_opened_and_arrows_taken_both_ways():
    topology, warnings = load("yed").topology, load("yed").warnings
    assert [node.label for node in topology.nodes] == ["El Paso/ Las Cruces", "Dallas", "n1::n1"]
    assert len(topology.link_ids) == 3
    assert "1 group(s) of nodes are opened up" in warnings
    assert "3 of 3 links are drawn as arrows one way only; they are taken as both ways" in warnings


def test_opposite_arrows_become_one_link_with_two_capacities():
    topology = load("both_ways").topology
    assert topology.link_ids == (LinkId("s1", "s2", 0), LinkId("s2", "s3"), LinkId("s1", "s2", 1), LinkId("s1", "s3"))
    assert capacities(topology, "s1", "s2") == [10.0, 20.0]
    assert capacities(topology, "s2", "s1") == [40.0, 20.0]
    assert topology.link_at[Direction("s1", "s2")].delay_ms == 5
    assert topology.link_at[Direction("s2", "s1")].delay_ms == 7
    assert capacities(topology, "s1", "s3") == [100.0]  # the key's default


def test_self_loops_are_left_out_and_parts_and_lonely_nodes_kept():
    topology, warnings = load("loops_and_parts").topology, load("loops_and_parts").warnings
    assert topology.link_ids == (LinkId("s1", "s2"), LinkId("s3", "s4"))
    assert len(set(topology.components().values())) == 3
    assert "left out 2 self-loop(s), the first is edge 1 ('0' - '0')" in warnings
    assert "the file has 2 graphs; only the first is read" in warnings


def test_hyperedges_of_two_ends_are_links_and_larger_ones_switches():
    topology, warnings = load("hyperedges").topology, load("hyperedges").warnings
    assert topology.nodes[4].label == "hyperedge 1"
    assert topology.link_ids == (
        LinkId("s1", "s2"),
        LinkId("s1", "s5"),
        LinkId("s2", "s5"),
        LinkId("s3", "s5"),
    )
    assert "1 hyperedge(s) of several ends become switches in their middle" in warnings
    assert "1 node(s) have no id, so no edge can reach them" in warnings


def test_one_node_without_links_is_a_topology():
    assert load("one_node").topology.link_ids == ()


@given(edge_lists(), st.booleans(), st.sampled_from(["{}", "n{}", "Zürich <{}>", "{} & co"]), st.booleans())
def test_graph_written_by_networkx_keeps_its_nodes_and_edges(shape, directed, pattern, pretty):
    count, edges = shape
    graph = nx.MultiDiGraph() if directed else nx.MultiGraph()
    graph.add_nodes_from(pattern.format(number) for number in range(count))
    graph.add_edges_from((pattern.format(a), pattern.format(b)) for a, b in edges)
    stream = io.BytesIO()
    nx.write_graphml(graph, stream, prettyprint=pretty)
    topology = to_loaded("t", read_graphml(stream.getvalue())).topology
    assert [node.label for node in topology.nodes] == list(graph)
    found = Counter(frozenset((int(link.a[1:]) - 1, int(link.b[1:]) - 1)) for link in topology.link_ids)
    arrows = Counter(edges)
    expected: Counter[frozenset[int]] = Counter()
    for a, b in {(min(edge), max(edge)) for edge in edges}:
        there, back = arrows[a, b], arrows[b, a]
        expected[frozenset((a, b))] = max(there, back) if directed else there + back
    assert found == expected


@given(edge_lists(), st.data())
def test_capacities_and_places_written_by_networkx_are_read(shape, data):
    count, edges = shape
    graph = nx.MultiGraph()
    for number in range(count):
        graph.add_node(number, Latitude=data.draw(st.floats(-90, 90)), Longitude=data.draw(st.floats(-180, 180)))
    for a, b in edges:
        graph.add_edge(a, b, LinkSpeedRaw=data.draw(st.floats(1, 1e12)))
    stream = io.BytesIO()
    nx.write_graphml(graph, stream)
    topology = to_loaded("t", read_graphml(stream.getvalue())).topology
    for node, (_, places) in zip(topology.nodes, graph.nodes(data=True), strict=True):
        assert (node.latitude, node.longitude) == (places["Latitude"], places["Longitude"])
    speeds = Counter(link.capacity_mbps for link in topology.links[::2])
    assert speeds == Counter(speed * 1e-6 for _, _, speed in graph.edges(data="LinkSpeedRaw"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_declared_encodings_are_read(encoding):
    declared = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?>{HEAD}<node id="Genève"/>{TAIL}'
    topology = to_loaded("t", read_graphml(text.encode(encoding))).topology
    assert topology.nodes[0].label == "Genève"


@pytest.mark.parametrize(
    ("speed", "unit", "mbps"),
    [
        ("10", "G", 10_000),
        ("2.5", "Gbps", 2500),
        ("100", "m", 100),
        ("512", "Kbit/s", 0.512),
        ("1", "T", 1e6),
        ("9600", "bps", 0.0096),
        ("155", "", None),
        ("<10", "G", None),
        ("1", "furlongs", None),
    ],
)
def test_link_speed_needs_a_number_and_a_unit(speed, unit, mbps):
    edge = RawEdge("a", "b", attributes={"linkspeed": speed, "linkspeedunits": unit})
    loaded = to_loaded("t", RawGraph((RawNode("a"), RawNode("b")), (edge,)))
    assert loaded.topology.links[0].capacity_mbps == (None if mbps is None else pytest.approx(mbps))
    assert any("no number with a unit" in warning for warning in loaded.warnings) == (mbps is None)


def test_speed_without_a_unit_is_reported_and_not_read():
    edge = RawEdge("a", "b", attributes={"bandwidth": "10"})
    loaded = to_loaded("t", RawGraph((RawNode("a"), RawNode("b")), (edge,)))
    assert loaded.topology.links[0].capacity_mbps is None
    assert "'bandwidth' of the edges has no known unit and is not read; name it capacity_mbps" in loaded.warnings


@pytest.mark.parametrize(("latitude", "longitude"), [("Latitude", "Longitude"), ("lat", "lon"), ("lat", "lng")])
def test_places_are_found_by_their_usual_names(latitude, longitude):
    node = RawNode("a", {latitude.lower(): "50.9", longitude.lower(): "7.0"})
    place = to_loaded("t", RawGraph((node,), ())).topology.nodes[0]
    assert (place.latitude, place.longitude) == (50.9, 7.0)


NODES = '<node id="0"/><node id="1"/>'


def edge_with(name, value):
    return f'{HEAD}{NODES}<edge source="0" target="1"><data key="{name}">{value}</data></edge>{TAIL}'


def node_with(name, value):
    return f'{HEAD}<node id="0"><data key="{name}">{value}</data></node>{TAIL}'


BOMB = '<!DOCTYPE b [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>' + HEAD + '<node id="&b;"/>' + TAIL


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no xml at all", "broken XML at line 1, column 1"),
        (HEAD, "no element found"),
        (HEAD + "<node id='0'></edge>", "mismatched tag"),
        (HEAD + "\x00" + TAIL, "broken XML"),
        ("<svg/>", "root element is 'svg'"),
        ("<graphml/>", "no <graph> element"),
        (HEAD + TAIL, "no nodes"),
        (BOMB, "declares the XML entity 'a'"),
        ('<?xml version="1.0" encoding="klingon"?>' + HEAD + TAIL, "encoding"),
        (HEAD + NODES + '<node id="1"/>' + TAIL, "node id '1' stands twice"),
        (HEAD + NODES + '<edge source="0" target="9"/>' + TAIL, "edge 1 ('0' - '9') joins '9'"),
        (HEAD + NODES + '<edge source="0"/>' + TAIL, "edge 1 has no target"),
        (HEAD + NODES + '<edge target="0"/>' + TAIL, "edge 1 has no source"),
        (HEAD + NODES + '<hyperedge><endpoint node="0"/></hyperedge>' + TAIL, "1 endpoint"),
        (edge_with("LinkSpeedRaw", "0"), "edge 1 ('0' - '1') has LinkSpeedRaw = '0'; give a number above 0"),
        (edge_with("LinkSpeedRaw", "-5"), "LinkSpeedRaw = '-5'"),
        (edge_with("LinkSpeedRaw", "NaN"), "LinkSpeedRaw = 'NaN'"),
        (edge_with("LinkSpeedRaw", "fast"), "LinkSpeedRaw = 'fast', which is no number"),
        (edge_with("LinkSpeed", "0"), "LinkSpeed = '0'"),
        (edge_with("LinkSpeed", "nan"), "LinkSpeed = 'nan'"),
        (edge_with("capacity_mbps", "0"), "capacity_mbps = '0'"),
        (edge_with("delay_ms", "-1"), "delay_ms = -1"),
        (edge_with("delay_ms", "nan"), "delay_ms = nan"),
        (node_with("Latitude", "91"), "node '0' has latitude = 91"),
        (node_with("Latitude", "nan"), "latitude = nan"),
        (node_with("Longitude", "-400"), "longitude = -400"),
        (node_with("Longitude", "west"), "longitude = 'west', which is no number"),
    ],
)
def test_broken_file_is_one_sentence(tmp_path, text, words):
    path = tmp_path / "broken.graphml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError) as error:
        load_topology(str(path))
    message = str(error.value)
    assert words in message
    assert message.startswith(str(path))
    assert "\n" not in message


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_read_or_refused_by_our_own_error(content, framed):
    with contextlib.suppress(BadInputError):
        raw = read_graphml(HEAD.encode() + content + TAIL.encode() if framed else content)
        assert isinstance(raw, RawGraph)


def test_long_values_are_shortened_in_messages():
    with pytest.raises(BadInputError) as error:
        loaded_text(edge_with("LinkSpeedRaw", "x" * 5000))
    assert len(str(error.value)) < 200
