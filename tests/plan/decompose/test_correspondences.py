"""Correspondences between match fields and actions are found where they were planted, and nowhere else."""

from __future__ import annotations

from hypothesis import given

from ryu_apps.plan.decompose.correspondences import find_correspondences
from ryu_apps.plan.fields import ETH_IPV4
from ryu_apps.plan.ids import Table
from ryu_apps.plan.kuijia.figure8 import CLASS_PARTS, example_tables
from ryu_apps.plan.rows import Output, PopMpls, SetQueue
from tests.plan.decompose.tables import CLASSES, LABELS, PORTS, Planted, figure6, label_tables, transit


def test_figure_6_sends_by_in_port_and_queues_by_class() -> None:
    found = find_correspondences(figure6())
    assert [(each.action, each.fields) for each in found] == [("SetQueue", ("mpls_tc",)), ("Output", ("in_port",))]


def test_planted_dependencies_are_found_and_are_smallest() -> None:
    rows = [
        transit(port, label, tc, PopMpls(ETH_IPV4), SetQueue(tc % 2), Output(1 + (port + label) % 5))
        for port in PORTS
        for label in LABELS
        for tc in CLASSES
    ]
    assert [(each.action, each.fields) for each in find_correspondences(rows)] == [
        ("PopMpls", ()),
        ("SetQueue", ("mpls_tc",)),
        ("Output", ("in_port", "mpls_label")),
    ]


def test_without_a_dependency_nothing_is_found() -> None:
    rows = [
        transit(port, label, tc, Output(1 + (port + label + tc) % 3))
        for port in PORTS
        for label in LABELS
        for tc in CLASSES
    ]
    assert find_correspondences(rows) == ()


def test_the_example_tags_by_class_and_sends_by_slot_and_destination() -> None:
    found = {
        (each.action, each.fields)
        for each in find_correspondences(example_tables(4)["s1", Table.TE_HASH], parts=CLASS_PARTS)
    }
    assert ("SetField mpls_tc", ("reg1/0x7",)) in found
    assert ("SetField mpls_label", ("reg0",)) in found
    assert ("PushMpls", ()) in found


@given(label_tables())
def test_what_is_found_decides_the_action_in_every_row(table: Planted) -> None:
    for action, fields in find_correspondences(table.flows):
        seen: dict[tuple[object, ...], object] = {}
        for row in table.flows:
            key = tuple(value for name, value, _ in row.match if name in fields)
            step = next((each for each in row.apply_actions if type(each).__name__ == action), None)
            assert seen.setdefault(key, step) == step
