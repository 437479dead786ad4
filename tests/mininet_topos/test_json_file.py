"""Our own JSON: what is written is read back, and every mistake is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from mininet_topos.catalogue import CATALOGUE, load_topology, load_topology_with_warnings
from mininet_topos.errors import BadInputError
from mininet_topos.importers.json_file import read_json, to_json
from mininet_topos.topology import Link, LinkId, Topology
from mininet_topos.toy import TOYS, square
from tests.mininet_topos.strategies import topologies


@given(topologies())
def test_what_is_written_is_read_back(topology):
    assert read_json(to_json(topology).encode(), "other") == topology


@pytest.mark.parametrize("name", [*CATALOGUE, *TOYS])
def test_bundled_topologies_are_read_back(name):
    topology = load_topology(name)
    assert read_json(to_json(topology).encode(), "other") == topology


def test_links_in_any_order_are_read_back_as_the_same_links():
    plain = square()
    topology = Topology("t", plain.nodes, plain.links[::-1])
    again = read_json(to_json(topology).encode(), "other")
    assert again.link_at == topology.link_at
    assert again.link_ids == topology.link_ids


def document(nodes=2, **link):
    """Return a topology document with one link, changed by keywords."""
    entry = {"src": "s1", "dst": "s2"} | link
    return {"nodes": [{} for _ in range(nodes)], "links": [entry]}


def read(value):
    return read_json(json.dumps(value).encode(), "t")


def test_one_entry_makes_both_directions():
    topology = read(document(capacity_mbps=10, delay_ms=2, port_no=5))
    assert topology.links == (Link("s1", "s2", 0, 10, 2, 5), Link("s2", "s1", 0, 10, 2, None))


def test_reverse_keys_set_the_other_direction():
    topology = read(document(capacity_mbps=10, delay_ms=2, reverse_capacity_mbps=4, reverse_delay_ms=None))
    assert topology.links[1] == Link("s2", "s1", 0, 4, None)
    assert read(document(port_no=5, reverse_port_no=9)).links[1].port_no == 9


def test_both_directions_may_be_given_each_by_its_own_entry():
    value = document(capacity_mbps=10)
    value["links"].append({"src": "s2", "dst": "s1", "capacity_mbps": 20})
    topology = read(value)
    assert topology.link_ids == (LinkId("s1", "s2"),)
    assert [link.capacity_mbps for link in topology.links] == [10, 20]


def test_a_direction_that_a_later_entry_gives_stands_beside_its_reverse():
    """So a file that we write, an entry a link, has the links of each switch in the same order."""
    ends = ["s3 s1", "s1 s2", "s1 s3"]
    links = [dict(zip(("src", "dst"), each.split(), strict=True)) for each in ends]
    topology = read({"nodes": [{}] * 3, "links": links})
    assert [link.direction[:2] for link in topology.links] == [("s3", "s1"), ("s1", "s3"), ("s1", "s2"), ("s2", "s1")]
    assert read_json(to_json(topology).encode(), "t") == topology


def test_file_without_speeds_or_places_warns(tmp_path):
    path = tmp_path / "small.json"
    path.write_text(json.dumps(document()), encoding="utf-8-sig")
    loaded = load_topology_with_warnings(str(path))
    assert loaded.topology.name == "small"
    assert loaded.warnings == (
        "1 of 1 links have no speed; their capacity is unknown",
        "2 of 2 nodes have no place; the map guesses where they are",
    )


def with_node(**node):
    return {"nodes": [node], "links": []}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "holds a list"),
        (3, "holds a number"),
        (None, "holds null"),
        ({"nodes": []}, "no 'links'"),
        ({"links": []}, "no 'nodes'"),
        ({"nodes": [], "links": []}, "has no nodes"),
        ({"nodes": {}, "links": []}, "'nodes' is an object"),
        ({"nodes": ["s1"], "links": []}, "node 1 is text"),
        ({"nodes": [{}], "links": [True]}, "link 1 is true or false"),
        ({"nodes": [{}], "links": [], "link": []}, "unknown key 'link'; did you mean 'links'?"),
        ({"nodes": [{}], "links": [], "colour": 1}, "known keys: name, nodes, links"),
        ({"nodes": [{}], "links": [], "name": 3}, "name = '3'; give text"),
        ({"nodes": [{}], "links": [], "name": "a\nb"}, "line breaks"),
        ({"nodes": [{}], "links": [], "name": "a/b"}, "leave out '/'"),
        (with_node(lable="x"), "node 1 has unknown key 'lable'; did you mean 'label'?"),
        (with_node(name="h1"), "name 'h1'"),
        (with_node(name="much too long"), "'much too long'"),
        (with_node(name="s7"), "call it 's1'"),
        (with_node(latitude="north"), "latitude = '\"north\"'; give a number"),
        (with_node(latitude=95), "latitude = 95"),
        (with_node(longitude=float("inf")), "longitude = inf"),
        (document(capacity_mbps=0), "capacity_mbps = 0"),
        (document(capacity_mbps=-3), "capacity_mbps = -3"),
        (document(capacity_mbps=float("nan")), "capacity_mbps = nan"),
        (document(capacity_mbps=1e300), "capacity_mbps = 1e+300; give a number above 0, from 1e-06 to 1e+09"),
        (document(delay_ms=1e300), "delay_ms = 1e+300"),
        (document(capacity_mbps="10"), "link 1 (s1>s2) has capacity_mbps = '\"10\"'; give a number"),
        (document(capacity_mbps=True), "capacity_mbps = 'true'"),
        (document(capacity_mbps=10**400), "too large"),
        (document(delay_ms=-1), "delay_ms = -1"),
        (document(jitter_ms=-1), "jitter_ms = -1"),
        (document(capacity=10), "did you mean 'capacity_mbps'?"),
        (document(key=-1), "key = '-1'; give a whole number"),
        (document(port_no=2.5), "port_no = '2.5'"),
        (document(src="s9"), "link 1 has src = 's9', which is no node"),
        (document(src="s2"), "joins a node to itself"),
        ({"nodes": [{}, {}], "links": [{"src": "s1"}]}, "link 1 has no 'dst'"),
        ({"nodes": [{}, {}], "links": [{"src": "s1", "dst": "s2"}] * 2}, "link 2 repeats s1>s2"),
        (
            {
                "nodes": [{}, {}],
                "links": [{"src": "s1", "dst": "s2", "reverse_delay_ms": 1}, {"src": "s2", "dst": "s1"}],
            },
            "link 2 (s2>s1) gives them too",
        ),
    ],
)
def test_a_mistake_is_named_in_one_sentence(value, words):
    with pytest.raises(BadInputError) as error:
        read(value)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "broken JSON at line 1, column 2"),
        (b'{"nodes": [], "nodes": []}', "'nodes' stands twice"),
        (b"\xff\xfe\xfd", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"nodes": [], "links": [' + b"9" * 5000 + b"]}", "cannot be read"),
    ],
)
def test_broken_json_is_one_sentence(content, words):
    with pytest.raises(BadInputError) as error:
        read_json(content, "t")
    assert words in str(error.value)
    assert "\n" not in str(error.value)
