"""The parts of decomposition: counting, columns, overlaps, what may change places, and rendering."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mininet_topos.errors import PlanLimitError
from ryu_apps.plan.choices import DECOMPOSED, TWO_TABLE
from ryu_apps.plan.decompose.count import count_fields, counted_names, field_count
from ryu_apps.plan.decompose.effects import GoTo, Step, hides, may_change_places
from ryu_apps.plan.decompose.logical import Row, logical_table, match_of
from ryu_apps.plan.decompose.overlap import are_disjoint, cover_everything, overlapping_pairs
from ryu_apps.plan.decompose.pipeline import flow_rows
from ryu_apps.plan.decompose.search import Pull, fits_action_set, keeps_precedence, legal_pull
from ryu_apps.plan.decompose.shapes import decompose, pipeline_of
from ryu_apps.plan.fields import ETH_IPV4, ETH_MPLS
from ryu_apps.plan.ids import SPARE_TABLES, Kind, cookie, split_cookie
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.rows import (
    Bucket,
    FlowRow,
    Group,
    GroupRow,
    Load,
    Output,
    PopMpls,
    PushMpls,
    PushVlan,
    Resubmit,
    SetField,
    SetQueue,
    match,
)
from tests import schemes
from tests.plan.decompose.tables import figure6, meanings, transit

OWNER = cookie(schemes.KUIJIA, Kind.PLANNED)


def test_prerequisites_are_not_counted_and_gotos_are_unless_asked() -> None:
    row = FlowRow(4, 1, match(eth_type=ETH_IPV4, ipv4_dst=5, ip_dscp=3), (Load("reg1", 0, 32, 5),), goto_table=5)
    assert (field_count(row), field_count(row, gotos=False)) == (4, 3)
    assert field_count(FlowRow(0, 1, match(eth_type=ETH_IPV4), goto_table=4)) == 2
    assert counted_names(match(eth_type=ETH_MPLS, in_port=1), (PopMpls(ETH_IPV4),)) == {"in_port"}
    assert counted_names(match(eth_type=ETH_IPV4, in_port=1), (PushMpls(), SetField("mpls_tc", 1))) == {
        "eth_type",
        "in_port",
    }


def test_actions_in_buckets_are_counted() -> None:
    group = GroupRow(1, "select", (Bucket((SetQueue(1), Output(2)), weight=1), Bucket((Output(3),), weight=2)))
    assert count_fields([FlowRow(0, 1, match(in_port=1), (Group(1),))], [group]) == 2 + 3


@pytest.mark.parametrize(
    ("first", "second", "free"),
    [
        (SetQueue(1), SetField("mpls_tc", 1), True),
        (SetQueue(1), PopMpls(ETH_IPV4), True),
        (SetQueue(1), Output(1), False),
        (SetField("mpls_tc", 1), SetField("mpls_label", 1), True),
        (SetField("mpls_tc", 1), SetField("mpls_tc", 2), False),
        (PushMpls(), SetField("mpls_tc", 1), False),
        (PushMpls(), Load("reg1", 0, 3, 1), True),
        (Output(1), Output(2), False),
        (Output(1), GoTo(3), False),
        (SetField("vlan_vid", 0x1001), PushVlan(), False),
        (Load("in_port", 0, 16, 0), Output(2), False),
    ],
)
def test_actions_change_places_only_when_neither_touches_what_the_other_does(
    first: Step, second: Step, free: bool
) -> None:
    assert may_change_places(first, second) is free
    assert may_change_places(second, first) is free


def test_labels_hide_the_ip_header_but_neither_ports_nor_registers() -> None:
    assert hides(PushMpls(), frozenset({"ipv4_dst"}))
    assert hides(PopMpls(ETH_IPV4), frozenset({"mpls_tc"}))
    assert not hides(PushMpls(), frozenset({"in_port", "reg1", "metadata"}))
    assert hides(SetField("mpls_tc", 1), frozenset({"mpls_tc"}))
    assert not hides(SetField("mpls_tc", 1), frozenset({"mpls_label"}))
    assert not hides(SetQueue(1), frozenset({"mpls_tc", "in_port"}))


def test_an_action_set_runs_in_its_own_order_and_holds_one_of_a_kind() -> None:
    steps: list[Step] = [PopMpls(ETH_IPV4), Output(1), Output(2), Group(3)]
    assert fits_action_set(steps, 0, (1,))
    assert not fits_action_set(steps, 1, (2,))
    assert not fits_action_set(steps, 1, (3,))
    assert not fits_action_set([Output(1), PopMpls(ETH_IPV4)], 0, (1,))


def test_a_push_that_only_some_rows_do_stays_where_it_is() -> None:
    """A later table could not tell whether packets have a label."""
    rows = [
        FlowRow(5, 1, match(reg0=slot, reg1=number), (*((PushMpls(),) if number else ()), Output(1 + slot)))
        for slot in (0, 1)
        for number in (0, 1)
    ]
    table = logical_table(rows)
    assert table.actions[0] == ("PushMpls", 0)
    assert legal_pull(table, (0,), (0,), waiting=False) == Pull()
    steady = logical_table([replace(row, apply_actions=(PushMpls(), Output(2))) for row in rows])
    assert legal_pull(steady, (0,), (0,), waiting=False) == Pull((0,))


def test_a_queue_chosen_after_a_copy_left_is_not_chosen_before() -> None:
    rows = [transit(port, 16, tc, Output(5), SetQueue(tc), Output(port)) for port in (1, 2) for tc in (0, 1)]
    assert legal_pull(logical_table(rows), (0,), (1,), waiting=True) == Pull()


def test_the_first_table_asks_for_labels_even_where_its_own_fields_do_not() -> None:
    """All eight classes are planned, so the port waits in the action set; unlabelled packets must not get that far."""
    rows = [
        FlowRow(6, 1, match(in_port=port, eth_type=ETH_MPLS, mpls_tc=tc), (SetQueue(tc), Output(port + 3)))
        for port in (1, 2, 3)
        for tc in range(8)
    ]
    made = decompose(rows, DECOMPOSED, SPARE_TABLES)
    assert made[0].write_actions == (Output(4),)
    start = FlowRow(0, 1, match(), goto_table=6)
    packets = [(1, Packet(ipv4_dst=3)), (2, Packet(mpls=((5, 7),)))]
    sent = meanings([start, *made], packets)
    assert sent[0] == ((), (), ())
    assert sent == meanings([start, *rows], packets)


def test_a_goto_that_would_lead_back_is_a_resubmit_and_finds_the_table() -> None:
    rows = [
        FlowRow(4, 1, match(in_port=port, reg1=number), (Load("reg2", 0, 8, number), Load("reg3", 0, 8, port)), (), 5)
        for port in (1, 2, 3)
        for number in (0, 1, 2)
    ]
    made = decompose(rows, DECOMPOSED, SPARE_TABLES)
    assert any(isinstance(action, Resubmit) for row in made for action in row.apply_actions)
    start = [FlowRow(0, 1, match(in_port=port), (Load("reg1", 0, 8, port - 1),), goto_table=4) for port in (1, 2, 3)]
    after = [FlowRow(5, 1, match(reg2=number, reg3=1 + number), (Output(9),)) for number in (0, 1, 2)]
    packets = [(port, Packet()) for port in (1, 2, 3, 4)]
    assert meanings([*start, *made, *after], packets) == meanings([*start, *rows, *after], packets)
    assert meanings([*start, *made, *after], packets[:1]) == [(((9, Packet(), 0),), (), ())]


def test_loads_of_two_parts_are_split_and_joined_again() -> None:
    rows = [
        FlowRow(
            4, 1, match(in_port=port, ip_dscp=dscp, eth_type=ETH_IPV4), (Load("reg1", 0, 32, port << 3 | dscp),), (), 5
        )
        for port in (1, 2, 3)
        for dscp in (1, 2, 3)
    ]
    table = logical_table(rows, {"reg1": 3})
    assert [row.steps[:2] for row in table.rows[:2]] == [
        (Load("reg1", 0, 3, 1), Load("reg1", 3, 29, 1)),
        (Load("reg1", 0, 3, 2), Load("reg1", 3, 29, 1)),
    ]
    assert flow_rows(pipeline_of(table, "replicated", 1), (4,)) == tuple(rows)
    made = decompose(rows, DECOMPOSED, SPARE_TABLES, parts={"reg1": 3})
    assert count_fields(made) < count_fields(rows)
    assert {action.n_bits for row in made for action in row.apply_actions if isinstance(action, Load)} == {3, 29}


def test_parts_of_a_field_come_together_in_a_match() -> None:
    rows = [FlowRow(5, 1, match(reg0=(8, 12), reg1=21), (Output(1),))]
    table = logical_table(rows, {"reg1": 3})
    assert table.columns == ((("reg0", 0xFFFFFFFF),), (("reg1", 7),), (("reg1", 0xFFFFFFF8),))
    assert match_of(table.columns, table.rows[0].terms) == rows[0].match
    assert match_of(table.columns[1:2], table.rows[0].terms[1:2]) == match(reg1=(5, 7))


def test_fields_that_need_each_other_share_a_column() -> None:
    rows = [
        FlowRow(0, 1, match(eth_type=ETH_IPV4, ipv4_dst=1), (Output(1),)),
        FlowRow(0, 1, match(eth_type=0x806, arp_op=1), (Output(2),)),
    ]
    assert [[name for name, _ in column] for column in logical_table(rows).columns] == [
        ["eth_type", "ipv4_dst", "arp_op"]
    ]


def key(*terms: tuple[int, int]) -> tuple[tuple[tuple[int, int], ...], ...]:
    return tuple((term,) for term in terms)


def test_overlaps_are_found_by_the_bits_that_both_pin() -> None:
    exact, other, wide, far = key((8, 15)), key((9, 15)), key((8, 12)), key((4, 12))
    assert are_disjoint([exact, other, far])
    assert list(overlapping_pairs([exact, wide])) in ([(exact, wide)], [(wide, exact)])
    assert {frozenset(pair) for pair in overlapping_pairs([exact, other, wide, far])} == {
        frozenset({exact, wide}),
        frozenset({other, wide}),
    }
    assert are_disjoint([key((8, 12), (1, 3)), key((8, 15), (2, 3))])


def test_everything_is_covered_by_all_values_or_by_a_row_for_the_rest() -> None:
    values = [key((value, 3)) for value in range(4)]
    assert cover_everything(values)
    assert not cover_everything(values[:3])
    assert cover_everything([values[0], key((0, 0))])
    assert not cover_everything([key((0, 2)), key((0, 1))])


def test_rows_keep_the_cookie_of_what_they_serve_or_its_owner() -> None:
    rows = [
        transit(port, label, tc, SetQueue(tc), Output(3)) for port in (1, 2) for label in (16, 17) for tc in (0, 1, 2)
    ]
    made = decompose(rows, DECOMPOSED, SPARE_TABLES)
    by_label = {value for row in made for name, value, _ in row.match if name == "mpls_label"}
    assert by_label == {16, 17}
    for row in made:
        labels = [value for name, value, _ in row.match if name == "mpls_label"]
        expected = split_cookie(row.cookie).destination
        assert expected == (labels[0] if labels else 0)
        assert row.cookie & OWNER == OWNER


def test_a_pipeline_needs_an_id_for_every_table() -> None:
    stage = pipeline_of(logical_table(figure6()), TWO_TABLE, 10)
    with pytest.raises(PlanLimitError, match="3 tables and 2 ids"):
        flow_rows(stage, (0, 128))


def test_the_search_keeps_to_the_tables_it_is_given() -> None:
    assert len({row.table_id for row in decompose(figure6(), TWO_TABLE, SPARE_TABLES[:1])}) <= 2
    assert len({row.table_id for row in decompose(figure6(), DECOMPOSED, SPARE_TABLES[:1])}) == 2


def test_overlapping_keys_go_first_only_in_one_order_and_with_the_rests_below() -> None:
    """A wide and a narrow key: the narrow one must be higher, and go on wherever the wide one would."""
    wide, narrow = key((8, 12)), key((9, 15))

    def row(priority: int, number: int) -> Row:
        return Row(priority, (((number, 7),),), (Output(1),))

    assert keeps_precedence({wide: [row(1, 5)], narrow: [row(2, 5)]}, (0,))
    assert keeps_precedence({wide: [row(1, 5)], narrow: [row(2, 5), row(2, 6)]}, (0,))
    assert not keeps_precedence({wide: [row(1, 5), row(1, 6)], narrow: [row(2, 5)]}, (0,))
    assert not keeps_precedence({wide: [row(1, 5)], narrow: [row(1, 5)]}, (0,))
    assert not keeps_precedence({wide: [row(1, 5), row(3, 5)], narrow: [row(2, 5)]}, (0,))
    assert keeps_precedence({key((4, 12)): [row(1, 6)], narrow: [row(1, 5)]}, (0,))
