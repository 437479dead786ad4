"""Generators: connected, of the size asked for, and the same everywhere."""

from __future__ import annotations

import hashlib
import math

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.connectivity import bridges, simple_graph
from mininet_topos.errors import BadInputError
from mininet_topos.generators import WAXMAN_SQUARE_KM, generate, waxman_places
from mininet_topos.topology import Direction

seeds = st.integers(0, 2**63 - 1)


def digest(topology):
    # Generators make no jitter, which links got later than these digests were taken.
    text = repr((topology.nodes, topology.links)).replace(", jitter_ms=None", "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@given(st.integers(3, 30))
def test_a_ring_is_a_cycle(count):
    assert nx.is_isomorphic(simple_graph(generate(f"ring:{count}")), nx.cycle_graph(count))


@given(st.integers(1, 6), st.integers(2, 6))
def test_a_grid_is_a_grid(rows, columns):
    topology = generate(f"grid:{rows}x{columns}")
    assert nx.is_isomorphic(simple_graph(topology), nx.grid_2d_graph(rows, columns))


@pytest.mark.parametrize("arity", [2, 4, 6, 8])
def test_a_fat_tree_has_the_published_counts_and_short_paths(arity):
    topology = generate(f"fattree:{arity}")
    half = arity // 2
    assert len(topology.nodes) == 5 * half * half
    assert len(topology.link_ids) == 2 * half**2 * arity
    degrees = dict(simple_graph(topology).degree)
    for node in topology.nodes:
        assert degrees[node.name] == (half if "edge" in node.label else arity)
    assert topology.is_connected()
    assert nx.diameter(simple_graph(topology)) == 4
    assert len({node.label for node in topology.nodes}) == len(topology.nodes)
    assert (bridges(topology) == ()) == (arity > 2)


@given(st.integers(2, 12), st.data(), seeds)
def test_a_random_graph_is_connected_simple_and_of_the_size_asked_for(count, data, seed):
    links = data.draw(st.integers(count - 1, count * (count - 1) // 2))
    topology = generate(f"random:{count}:{links}:{seed}")
    assert topology.is_connected()
    assert (len(topology.nodes), len(topology.link_ids)) == (count, links)
    assert simple_graph(topology).number_of_edges() == links


@given(st.integers(2, 25), seeds)
def test_a_waxman_graph_is_connected_and_its_delays_are_its_distances(count, seed):
    name = f"waxman:{count}:{seed}"
    topology = generate(name)
    assert topology.is_connected()
    places = dict(zip(topology.node_names, waxman_places(name, count, seed), strict=True))
    for link in topology.links:
        assert link.delay_ms == pytest.approx(0.005 * math.dist(places[link.src], places[link.dst]), abs=0.001)


def test_waxman_prefers_near_neighbours_and_stays_sparse():
    topology = generate("waxman:200:3")
    mean_delay_ms = sum(link.delay_ms for link in topology.links) / len(topology.links)
    # Two random points of a square are 0.52 sides apart on average.
    assert mean_delay_ms < 0.6 * 0.52 * WAXMAN_SQUARE_KM * 0.005
    assert 2 <= 2 * len(topology.link_ids) / 200 <= 6


def test_seeds_matter():
    assert generate("random:20:30:1") != generate("random:20:30:2")
    assert generate("random:20:30") == generate("random:20:30") == generate("random:20:30")
    assert generate("random:20:30").links == generate("random:20:30:0").links


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("ring:8", "8b82421f17ade3a6"),
        ("grid:4x5", "e5975022d4300488"),
        ("fattree:4", "5b614cb34a746804"),
        ("random:30:45:7", "1797a3b569b3c13d"),
        ("waxman:40:7", "57600c67198f7673"),
    ],
)
def test_a_specification_gives_the_same_topology_on_every_machine(spec, expected):
    assert digest(generate(spec)) == expected


def test_grid_nodes_are_numbered_row_by_row():
    topology = generate("grid:4x5")
    assert Direction("s5", "s10") in topology.link_at
    assert Direction("s5", "s6") not in topology.link_at


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("ring:2", "'ring:2' has 2 nodes; give 3"),
        ("ring:", "write it as ring:NODES"),
        ("ring:-4", "write it as ring:NODES"),
        ("grid:4", "write it as grid:ROWSxCOLUMNS"),
        ("grid:0x5", "0 nodes"),
        ("grid:1x1", "1 nodes"),
        ("grid:999x999", "998001 nodes"),
        ("fattree:3", "even number"),
        ("fattree:0", "0 nodes"),
        ("random:4:2:1", "4 nodes take 3 to 6 links"),
        ("random:4:7:1", "asks for 7 links"),
        ("random:4:5:1:9", "write it as random:NODES:LINKS:SEED"),
        ("random:4:5:" + "9" * 19, "seed 9999999999999999999"),
        ("waxman:1:3", "1 nodes"),
        ("torus:4", "names no generator; known: ring:NODES"),
    ],
)
def test_a_bad_specification_is_one_sentence_with_the_repair(spec, words):
    with pytest.raises(BadInputError) as error:
        generate(spec)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
