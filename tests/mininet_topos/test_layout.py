"""Positions and the geometry of pictures keep their laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mininet_topos.build import from_edges
from mininet_topos.catalogue import CATALOGUE, load_topology
from mininet_topos.drawing_geometry import Canvas, clear_bend, curve, place_labels, spread, trimmed
from mininet_topos.layout import positions
from mininet_topos.topology import Node, Topology
from mininet_topos.toy import POSITIONS, TOYS
from tests.examples import examples
from tests.mininet_topos.strategies import topologies

coordinates = st.floats(-500, 500)
points_lists = st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=12)


def distances(points):
    return [math.dist(a, b) for a, b in itertools.combinations(points, 2)]


@examples(30)
@given(topologies())
def test_every_node_has_a_finite_position_and_the_same_each_time(topology):
    points = positions(topology)
    assert points.shape == (len(topology.nodes), 2)
    assert np.isfinite(points).all()
    assert (points == positions(topology)).all()


@pytest.mark.parametrize(
    "name", [*CATALOGUE, *TOYS, "ring:9", "grid:3x4", "fattree:4", "waxman:20:1", "random:20:30:1"]
)
def test_no_two_nodes_share_a_position(name):
    assert min(distances(positions(load_topology(name)))) > 1e-3


def test_drawings_are_used_only_for_the_topology_that_was_drawn():
    square = load_topology("square")
    assert positions(square).tolist() == [list(place) for place in POSITIONS["square"]]
    other = from_edges("square", square.nodes, [(1, 2), (1, 3), (1, 4)])
    assert positions(other).tolist() != positions(square).tolist()
    assert positions(Topology("ring:2", square.nodes, square.links)).shape == (4, 2)


def test_map_keeps_east_right_and_north_up_across_the_date_line():
    places = {"Auckland": (-36.8, 174.8), "Suva": (-18.1, 178.4), "Apia": (-13.8, -171.8), "Hilo": (19.7, -155.1)}
    nodes = tuple(Node(f"s{number}", label, *place) for number, (label, place) in enumerate(places.items(), 1))
    points = positions(from_edges("pacific", nodes, [(1, 2), (2, 3), (3, 4)]))
    assert (np.diff(points[:, 0]) > 0).all()
    assert (np.diff(points[:, 1]) > 0).all()


def test_large_maps_give_crowded_regions_room_and_keep_the_order():
    rng = np.random.default_rng(3)
    places = np.concatenate([rng.normal([50, 8], 1, (80, 2)), rng.normal([40, -90], 8, (40, 2))])
    nodes = tuple(Node(f"s{n}", "", *place) for n, place in enumerate(places.tolist(), 1))
    points = positions(from_edges("big", nodes, [(1, 2)]))
    assert (np.argsort(points[:, 0]) == np.argsort(places[:, 1])).all()
    assert (np.argsort(points[:, 1]) == np.argsort(places[:, 0])).all()
    share = np.ptp(points[:80, 0]) / np.ptp(points[:, 0])
    assert share > 2 * np.ptp(places[:80, 1]) / np.ptp(places[:, 1])


def test_nodes_without_a_place_stand_between_their_neighbours():
    nodes = (Node("s1", "", 50, 10), Node("s2"), Node("s3", "", 50, 12), Node("s4", "", 52, 11), Node("s5"), Node("s6"))
    points = positions(from_edges("gap", nodes, [(1, 2), (2, 3), (3, 4), (2, 5)]))
    west, between, east = points[0, 0], points[1, 0], points[2, 0]
    assert west < between < east
    assert math.dist(points[4], points[1]) < math.dist(points[0], points[2])
    assert np.isfinite(points[5]).all()


def test_hops_decide_when_there_is_no_map():
    path = from_edges("path", tuple(Node(f"s{n}") for n in range(1, 7)), [(n, n + 1) for n in range(1, 6)])
    points = positions(path)
    assert np.allclose([math.dist(points[n], points[n + 1]) for n in range(5)], 1.0, atol=0.05)
    assert math.dist(points[0], points[5]) == pytest.approx(5.0, abs=0.1)


def test_parts_of_a_network_stand_side_by_side():
    topology = from_edges("parts", tuple(Node(f"s{n}") for n in range(1, 6)), [(1, 2), (2, 3), (4, 5)])
    points = positions(topology)
    assert points[:3, 0].max() < points[3:, 0].min()


@given(points_lists, st.floats(1, 30))
def test_spread_parts_what_is_too_near(points, distance):
    apart = spread(np.array(points), distance, rounds=2000)
    assert min(distances(apart), default=np.inf) >= 0.98 * distance


@given(points_lists)
def test_spread_leaves_alone_what_is_far_enough(points):
    given_points = np.array(points)
    nearest = min(distances(points), default=1.0)
    assume(nearest > 1e-3)
    assert (spread(given_points, 0.99 * nearest) == given_points).all()


@given(st.tuples(coordinates, coordinates), st.floats(10, 400), st.floats(0, 6.28), st.floats(-60, 60))
def test_curve_joins_its_ends_and_bends_to_the_left(start, length, turn, bend):
    first = np.array(start)
    along = np.array([math.cos(turn), math.sin(turn)])
    line = curve(first, first + length * along, bend)
    assert np.allclose(line[0], first)
    assert np.allclose(line[-1], first + length * along)
    off = line[len(line) // 2] - (first + length / 2 * along)
    assert np.dot(off, [-along[1], along[0]]) == pytest.approx(bend, abs=1e-6)


@given(st.floats(30, 400), st.floats(-50, 50))
def test_opposite_tracks_lie_on_opposite_sides(length, bend):
    a, b = np.zeros(2), np.array([length, 0.0])
    there, back, middle = curve(a, b, bend, 3.0), curve(b, a, -bend, 3.0), curve(a, b, bend)
    half = len(middle) // 2
    assert np.allclose((there[half] + back[half]) / 2, middle[half], atol=0.2)
    assert there[half][1] < middle[half][1] < back[half][1]


@given(st.floats(0, 20), st.floats(0, 20))
def test_trimming_takes_the_asked_length_off_each_end(start_trim, end_trim):
    line = curve(np.zeros(2), np.array([100.0, 0.0]), 0.0)
    cut = trimmed(line, start_trim, end_trim)
    assert cut[0][0] == pytest.approx(start_trim)
    assert cut[-1][0] == pytest.approx(100 - end_trim)


def test_a_line_shorter_than_its_trims_shrinks_to_a_point():
    assert len(trimmed(curve(np.zeros(2), np.array([5.0, 0.0]), 0.0), 4, 4)) == 1


def test_a_link_goes_around_a_node_in_its_way():
    points = np.array([[0.0, 0.0], [200.0, 0.0], [100.0, 0.0]])
    bend = clear_bend(points, 0, 1, radius=8.0)
    line = curve(points[0], points[1], bend)
    assert np.linalg.norm(line - points[2], axis=1).min() > 8.0
    assert clear_bend(points[[0, 1]], 0, 1, radius=8.0) == 0.0


@given(points_lists)
def test_labels_that_give_way_cover_nothing(points):
    canvas = Canvas(1100, 1100, 8, 7, 8)
    nodes = spread(np.array(points) + 550, 22)
    count = len(nodes)
    boxes = place_labels(canvas, nodes, np.zeros((1, 2)), [(40.0, 9.0)] * count, [False] * count)
    shown = [(number, box) for number, box in enumerate(boxes) if box is not None]
    for (_, one), (_, two) in itertools.combinations(shown, 2):
        assert (
            abs(one.x - two.x) >= one.half_width + two.half_width
            or abs(one.y - two.y) >= one.half_height + two.half_height
        )
    for number, box in shown:
        for other, (x, y) in enumerate(nodes):
            assert other == number or abs(x - box.x) >= box.half_width or abs(y - box.y) >= box.half_height


def test_labels_that_must_stay_stay():
    canvas = Canvas(100, 100, 8, 7, 8)
    nodes = np.array([[50.0, 50.0], [52.0, 50.0], [50.0, 52.0]])
    boxes = place_labels(canvas, nodes, nodes, [(60.0, 9.0), (60.0, 9.0), (0.0, 0.0)], [True, True, True])
    assert [box is not None for box in boxes] == [True, True, False]
