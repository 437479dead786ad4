"""Demand files and generators: what is read back is what was written, and complaints name the place."""

from __future__ import annotations

import json

import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from te_solver.demand_files import parse_demands
from te_solver.demands import BIMODAL_RATIO, generate_demands, with_classes
from te_solver.values import Demand, victim_priority

GSCALE = load_topology("gscale")
HEADER = "src,dst,demand_mbps\n"


def test_csv_and_json_say_the_same():
    wanted = (Demand("s1", "s2", 5.5), Demand("s3", "s1", 0.0, 6))
    csv_text = "src, dst, demand_mbps, priority\ns1,s2,5.5,\n\ns3,s1,0,6\n"
    json_text = json.dumps(
        [{"src": "s1", "dst": "s2", "demand_mbps": 5.5}, {"src": "s3", "dst": "s1", "demand_mbps": 0, "priority": 6}]
    )
    assert parse_demands(csv_text, "d.csv", GSCALE) == wanted
    assert parse_demands(json_text, "d.json", GSCALE) == wanted


def test_an_empty_matrix_is_a_matrix():
    assert parse_demands(HEADER, "d.csv", GSCALE) == ()
    assert parse_demands("[]", "d.json", GSCALE) == ()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("d.csv", HEADER + "s1,s2,-3\n", ("d.csv, line 2", "-3", "at least 0")),
        ("d.csv", HEADER + "s1,s2,nan\n", ("d.csv, line 2", "nan")),
        ("d.csv", HEADER + "s1,s2,inf\n", ("d.csv, line 2", "inf")),
        ("d.csv", HEADER + "s1,s2,5\ns1,s99,5\n", ("d.csv, line 3", "'s99'", "no node of 'gscale'")),
        ("d.csv", HEADER + "s1,s1,5\n", ("d.csv, line 2", "itself")),
        ("d.csv", "s1,s2,5\n", ("d.csv, line 1", "header", "'src'")),
        ("d.csv", "", ("d.csv, line 1", "header")),
        ("d.csv", HEADER + "s1,s2\n", ("d.csv, line 2", "2 values under 3")),
        ("d.csv", HEADER + "s1,s2,lots\n", ("d.csv, line 2", "'lots'")),
        ("d.csv", HEADER + "s1,s2,5\ns1,s2,6\n", ("d.csv, line 3", "line 2")),
        ("d.csv", "src,dst,demand_mbps,colour\ns1,s2,5,red\n", ("d.csv, line 1", "'colour'")),
        ("d.csv", "src,dst,demand_mbps,priority\ns1,s2,5,5\n", ("d.csv, line 2", "priority is 5")),
        ("d.csv", "src,dst,demand_mbps,priority\ns1,s2,5,1.5\n", ("d.csv, line 2", "whole number")),
        ("d.json", "[{", ("d.json: broken JSON at line 1",)),
        ("d.json", "[" * 100_000, ("d.json", "nested too deeply")),
        ("d.json", "[" + "9" * 5000 + "]", ("d.json", "cannot be read")),
        ("d.json", '[{"src": "s1", "src": "s2"}]', ("d.json", "'src' stands twice")),
        ("d.json", "{}", ("d.json", "no list")),
        ("d.json", "[3]", ("d.json, entry 1", "no object")),
        ("d.json", '[{"src": "s1", "dst": "s2"}]', ("d.json, entry 1", "'demand_mbps'")),
        ("d.json", '[{"src": 1, "dst": "s2", "demand_mbps": 1}]', ("d.json, entry 1", "src is 1")),
        ("d.json", '[{"src": "s1", "dst": "s2", "demand_mbps": true}]', ("d.json, entry 1", "True")),
    ],
)
def test_unusable_files_are_answered_with_file_and_place(name, text, words):
    with pytest.raises(BadInputError) as caught:
        parse_demands(text, name, GSCALE)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["random:5:1200", "gravity:8000", "uniform:20", "bimodal:60"])
def test_generators_repeat_by_seed(spec):
    assert generate_demands(spec, GSCALE, 7) == generate_demands(spec, GSCALE, 7)
    if not spec.startswith("uniform"):
        assert generate_demands(spec, GSCALE, 7) != generate_demands(spec, GSCALE, 8)


def test_random_pairs_are_different_pairs_of_the_given_volume():
    demands = generate_demands("random:132:1200", GSCALE, 1)
    assert len({(demand.src, demand.dst) for demand in demands}) == 132
    assert all(demand.src != demand.dst and demand.demand_mbps == 1200 for demand in demands)


def test_gravity_adds_up_and_is_a_product_of_masses():
    volume = {(d.src, d.dst): d.demand_mbps for d in generate_demands("gravity:8000", GSCALE, 3)}
    assert sum(volume.values()) == pytest.approx(8000)
    assert volume["s1", "s2"] * volume["s3", "s4"] == pytest.approx(volume["s1", "s4"] * volume["s3", "s2"])


def test_bimodal_has_two_modes_and_the_mean_asked_for():
    topology = load_topology("random:60:80:1")
    volumes = sorted(d.demand_mbps for d in generate_demands("bimodal:60", topology, 3))
    assert sum(volumes) / len(volumes) == pytest.approx(60, rel=0.05)
    assert volumes[len(volumes) * 9 // 10] / volumes[len(volumes) // 4] > BIMODAL_RATIO * 0.7


def test_classes_split_every_demand():
    low, high = 10.0, 1.0
    parts = with_classes([Demand("s1", "s2", 11.0)], low / high)
    assert parts == (Demand("s1", "s2", pytest.approx(1.0), 1), Demand("s1", "s2", pytest.approx(10.0), 6))
    assert [victim_priority(part.priority) for part in parts] == [5, 7]


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("random:5", "'random:5'"),
        ("random:x:3", "'x'"),
        ("random:0:3", "1 to 132"),
        ("random:133:3", "132"),
        ("gravity:nan", "'nan'"),
        ("uniform:-1", "'-1'"),
        ("poisson:3", "describes no demands"),
    ],
)
def test_unusable_specifications_are_named(spec, word):
    with pytest.raises(BadInputError, match=word):
        generate_demands(spec, GSCALE, 1)
