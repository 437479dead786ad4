"""Pictures: written, the same each time, showing what was asked, and clear errors."""

from __future__ import annotations

import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.draw import (
    BACK_STYLE,
    FAILED,
    NEW_STYLE,
    PRIMARY_STYLE,
    DrawSpec,
    directions_of,
    draw_topology,
    split_walk,
    topology_svg,
)
from mininet_topos.errors import BadInputError, MissingRequirementError
from mininet_topos.topology import Direction, LinkId, Node, Topology
from mininet_topos.toy import figure2, parallel
from tests.examples import examples
from tests.mininet_topos.strategies import topologies

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: draw)")

WALK = ("s1", "s2", "s3", "s4", "s3", "s2", "s6", "s7", "s8", "s5")


def figure2_spec():
    topology = figure2()
    onward, back = split_walk(directions_of(topology, WALK))
    assert onward[:3] == directions_of(topology, ("s1", "s2", "s3", "s4"))
    return DrawSpec(
        title="Figure 2",
        failed=(LinkId("s4", "s5"),),
        primary=directions_of(topology, ("s1", "s2", "s3", "s4", "s5")),
        crankback=back,
        new_path=directions_of(topology, ("s1", "s2", "s6", "s7", "s8", "s5")),
        ends=("s1", "s5"),
    )


def svg_of(topology, tmp_path, spec=None):
    path = tmp_path / "picture.svg"
    draw_topology(topology, path, spec)
    return path.read_text(encoding="utf-8")


def test_walk_is_split_where_it_backtracks():
    onward, back = split_walk(directions_of(figure2(), WALK))
    assert back == (Direction("s4", "s3"), Direction("s3", "s2"))
    assert onward[-4:] == directions_of(figure2(), ("s2", "s6", "s7", "s8", "s5"))


def test_directions_take_the_lowest_key_and_refuse_a_walk_that_is_not_joined():
    assert directions_of(parallel(), ("s3", "s2", "s1")) == (Direction("s3", "s2", 0), Direction("s2", "s1", 0))
    with pytest.raises(KeyError):
        directions_of(figure2(), ("s1", "s3"))


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_same_picture_twice_is_the_same_file(tmp_path, ending, start):
    contents = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.{ending}"
        draw_topology(figure2(), path, figure2_spec())
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith(start)


@pytest.mark.slow
def test_picture_of_200_nodes_is_large_enough_to_read(tmp_path):
    path = tmp_path / "big.png"
    draw_topology(load_topology("random:200:300:1"), str(path))
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    assert min(width, height) > 1200


def test_every_name_label_path_and_failure_is_drawn(tmp_path):
    text = svg_of(figure2(), tmp_path, figure2_spec())
    for word in [f">s{number}<" for number in range(1, 9)] + [f">{letter}<" for letter in "ABCDEFGH"]:
        assert word in text
    for color in (PRIMARY_STYLE[0], NEW_STYLE[0], BACK_STYLE[0], FAILED):
        assert color in text
    for word in ("primary path", "crankback", "new path", "failed", "source and destination", "Figure 2"):
        assert f">{word}<" in text


def test_plain_picture_has_no_legend_and_no_colours(tmp_path):
    text = svg_of(figure2(), tmp_path)
    assert "primary path" not in text
    assert FAILED not in text
    assert "8 nodes, 8 links" in text


def test_failed_direction_and_node_are_drawn(tmp_path):
    one = svg_of(figure2(), tmp_path, DrawSpec(failed=(Direction("s4", "s5"),)))
    other = svg_of(figure2(), tmp_path, DrawSpec(failed=(Direction("s5", "s4"),)))
    assert FAILED in one
    assert one != other
    assert FAILED in svg_of(figure2(), tmp_path, DrawSpec(failed_nodes=("s3",)))


def test_labels_are_never_read_as_formulas_or_markup(tmp_path):
    topology = Topology("odd", (Node("s1", "$x^{"), Node("s2", "<b>&")), ())
    text = svg_of(topology, tmp_path)
    assert "$x^{" in text
    assert "&lt;b&gt;&amp;" in text


@given(topologies(), st.data())
@examples(15)
def test_any_topology_can_be_drawn(tmp_path_factory, topology, data):
    failed = data.draw(st.sets(st.sampled_from(topology.link_ids))) if topology.link_ids else set()
    path = tmp_path_factory.mktemp("draw") / "any.svg"
    draw_topology(topology, path, DrawSpec(failed=tuple(failed), ends=(topology.nodes[0].name,)))
    text = path.read_text(encoding="utf-8")
    assert all(f">{name}<" in text for name in topology.node_names)


@pytest.mark.parametrize("name", ["picture", "picture.jpg", "picture.png.txt"])
def test_unknown_ending_is_one_sentence(tmp_path, name):
    with pytest.raises(BadInputError, match=r"must end in \.png, \.svg, \.pdf"):
        draw_topology(figure2(), tmp_path / name)


def test_folder_that_does_not_exist_is_one_sentence(tmp_path):
    with pytest.raises(BadInputError, match=r"cannot write .*No such file"):
        draw_topology(figure2(), tmp_path / "nowhere" / "picture.png")


def test_missing_matplotlib_is_one_sentence_with_the_repair(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingRequirementError, match="pip install"):
        draw_topology(figure2(), tmp_path / "picture.png")


def test_the_bytes_of_a_picture_are_those_of_its_file(tmp_path):
    square = load_topology("square")
    draw_topology(square, tmp_path / "square.svg")
    assert topology_svg(square) == (tmp_path / "square.svg").read_bytes()
