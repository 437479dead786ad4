"""Catalogue topologies: the facts published about them, computed again from our data."""

from __future__ import annotations

import itertools
from pathlib import Path

import networkx as nx
import pytest

from mininet_topos import catalogue_data as data
from mininet_topos.catalogue import CATALOGUE, list_topologies, load_topology, load_topology_with_warnings
from mininet_topos.connectivity import bridges, hop_distances, simple_graph
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction

FIGURE_15 = Path(__file__).resolve().parents[2] / "examples" / "gscale_figure15.json"
# nodes, links, nodes of degree 2, diameter in hops, links that may fail at most with the rest connected, (ordered pair,
# link on its shortest path) cases, unordered pairs with exactly two edge-disjoint paths
FACTS = {
    "darkstrand": (28, 31, 22, 11, 4, 3676, 375),
    "usnet": (24, 43, 3, 6, 20, 1652, 66),
    "gscale": (12, 19, 4, 5, 8, 306, 50),
}


def facts_of(name):
    topology = load_topology(name)
    graph = simple_graph(topology)
    hops = hop_distances(topology)
    disjoint = [nx.edge_connectivity(graph, a, b) for a, b in itertools.combinations(graph, 2)]
    return (
        len(topology.nodes),
        len(topology.link_ids),
        sum(degree == 2 for _, degree in graph.degree),
        max(hops.values()),
        len(topology.link_ids) - len(topology.nodes) + 1,
        sum(hops.values()),
        disjoint.count(2),
    )


@pytest.mark.parametrize("name", FACTS)
def test_published_facts_follow_from_our_data(name):
    assert facts_of(name) == FACTS[name]


@pytest.mark.parametrize("name", CATALOGUE)
def test_catalogue_topology_is_connected_without_any_one_link(name):
    topology = load_topology(name)
    assert topology.is_connected()
    assert bridges(topology) == ()


@pytest.mark.parametrize("name", CATALOGUE)
def test_nodes_are_numbered_in_order_and_directions_are_equal(name):
    topology = load_topology(name)
    assert topology.node_names == tuple(f"s{number}" for number in range(1, len(topology.nodes) + 1))
    for link in topology.links:
        back = topology.link_at[Direction(link.dst, link.src, link.key)]
        assert (back.capacity_mbps, back.delay_ms) == (link.capacity_mbps, link.delay_ms)


def test_usnet_delay_is_five_microseconds_a_kilometre_and_seven_lengths_are_disputed():
    topology = load_topology("usnet")
    assert topology.link_at[Direction("s11", "s19")].delay_ms == 14.0  # 2,800 km
    lengths = {(a, b): km for a, b, km in data.USNET_LINKS_KM}
    assert len(data.USNET_DISPUTED_KM) == 7
    assert all(lengths[ends] != km for ends, km in data.USNET_DISPUTED_KM.items())


def test_darkstrand_delay_is_that_of_the_published_fibre_lengths():
    # TopologyBench: Tulsa - Kansas City 525 km, New York - Philadelphia 194 km, Portland - Sunny Vale 1,362 km.
    topology = load_topology("darkstrand")
    for src, dst, fibre_km in (("s1", "s2", 525), ("s11", "s18", 194), ("s22", "s23", 1362)):
        assert topology.link_at[Direction(src, dst)].delay_ms == pytest.approx(fibre_km * 0.005, abs=0.006)
    assert all(node.latitude is not None for node in topology.nodes)
    assert topology.nodes[10].label == "New York"


def test_gscale_has_a_gigabit_everywhere_and_claims_no_delay():
    topology = load_topology("gscale")
    assert {link.capacity_mbps for link in topology.links} == {1000.0}
    assert {link.delay_ms for link in topology.links} == {None}


@pytest.mark.parametrize("alias", ["B4", "b4", "GScale", " gscale "])
def test_names_are_found_in_any_case_and_by_alias(alias):
    assert load_topology(alias) == load_topology("gscale")


def test_list_names_every_topology_with_its_counts():
    rows = {row.name: row for row in list_topologies()}
    assert (rows["usnet"].nodes, rows["usnet"].links, rows["usnet"].kind) == (24, 43, "catalogue")
    assert rows["figure2"].kind == "toy"
    assert rows["ring:NODES"].kind == "generator"
    assert all(row.about for row in rows.values())


@pytest.mark.parametrize("name", [*CATALOGUE, "figure2", "ring:5"])
def test_what_we_bundle_warns_of_nothing(name):
    assert load_topology_with_warnings(name).warnings == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("darkstand", ["'darkstand'", "did you mean darkstrand?"]),
        ("figure", ["did you mean figure2?"]),
        ("rings", ["did you mean ring?"]),
        ("quite unknown", ["'quite unknown'", "usnet, darkstrand, gscale"]),
        ("", ["''"]),
    ],
)
def test_unknown_name_is_one_sentence_with_close_names(name, words):
    with pytest.raises(BadInputError) as error:
        load_topology(name)
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_gscale_of_figure_15_is_gscale_in_other_numbers_and_has_its_link():
    example = load_topology(str(FIGURE_15))
    graphs = []
    for topology in (load_topology("gscale"), example):
        graphs.append(nx.Graph((link.a, link.b) for link in topology.link_ids))
        assert {link.capacity_mbps for link in topology.links} == {1000.0}
    assert nx.is_isomorphic(*graphs)
    assert ("s2", "s3") in graphs[1].edges
    assert ("s2", "s3") not in graphs[0].edges
