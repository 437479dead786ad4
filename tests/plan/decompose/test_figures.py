"""Golden tables of Kuijia's Figures 6 and 7, as we read them, and the claims of Figure 8.

The drawings are lost in the text; our reading is in docs/decisions/decomposition.md.
"""

from __future__ import annotations

import pytest

from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import DECOMPOSED, REPLICATED, TWO_TABLE
from ryu_apps.plan.decompose.count import count_fields, memory_bits
from ryu_apps.plan.decompose.shapes import decompose
from ryu_apps.plan.fields import ETH_IPV4, ETH_MPLS
from ryu_apps.plan.ids import SPARE_TABLES, Kind, Table, cookie
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.figure8 import Point, example_tables, figure8, slope
from ryu_apps.plan.row_text import flow_text
from ryu_apps.plan.rows import FlowRow, Output, PopMpls, SetQueue, match
from tests import schemes
from tests.plan.decompose.tables import figure6, labelled, meanings, taken

FIRST, *_ = SPARE_TABLES


def shown(flows: tuple[FlowRow, ...]) -> list[str]:
    """Rows as ovs-ofctl writes them, without cookie and priority."""
    texts = [flow_text(row).split(",", 1)[1] for row in flows]
    return [text.replace("priority=100,", "").replace("mpls,mpls_", "mpls_") for text in texts]


def test_figure_6a_replicates_what_all_rows_share() -> None:
    rows = decompose(figure6(), REPLICATED, SPARE_TABLES)
    assert shown(rows) == [
        "table=0,in_port=1,mpls_label=1,mpls_tc=0 actions=set_queue:0,output:2",
        "table=0,in_port=1,mpls_label=1,mpls_tc=1 actions=set_queue:1,output:2",
        "table=0,in_port=1,mpls_label=1,mpls_tc=2 actions=set_queue:2,output:2",
        "table=0,in_port=2,mpls_label=1,mpls_tc=0 actions=set_queue:0,output:1",
        "table=0,in_port=2,mpls_label=1,mpls_tc=1 actions=set_queue:1,output:1",
        "table=0,in_port=2,mpls_label=1,mpls_tc=2 actions=set_queue:2,output:1",
    ]
    assert count_fields(rows) == 6 * 5
    assert memory_bits(count_fields(rows)) == 960


def test_figure_6b_has_two_tables_that_differ_only_in_the_port() -> None:
    rows = decompose(figure6(), TWO_TABLE, SPARE_TABLES)
    assert shown(rows) == [
        f"table=0,in_port=1,mpls_label=1 actions=goto_table:{FIRST}",
        f"table=0,in_port=2,mpls_label=1 actions=goto_table:{FIRST + 1}",
        f"table={FIRST},mpls_tc=0 actions=set_queue:0,output:2",
        f"table={FIRST},mpls_tc=1 actions=set_queue:1,output:2",
        f"table={FIRST},mpls_tc=2 actions=set_queue:2,output:2",
        f"table={FIRST + 1},mpls_tc=0 actions=set_queue:0,output:1",
        f"table={FIRST + 1},mpls_tc=1 actions=set_queue:1,output:1",
        f"table={FIRST + 1},mpls_tc=2 actions=set_queue:2,output:1",
    ]
    assert count_fields(rows) == 24


def test_figure_6c_has_one_table_fewer_because_the_port_goes_with_the_in_port() -> None:
    rows = decompose(figure6(), DECOMPOSED, SPARE_TABLES, strict=False)
    assert shown(rows) == [
        f"table=0,in_port=1,mpls_label=1 actions=write_actions(output:2),goto_table:{FIRST}",
        f"table=0,in_port=2,mpls_label=1 actions=write_actions(output:1),goto_table:{FIRST}",
        f"table={FIRST},mpls_tc=0 actions=set_queue:0",
        f"table={FIRST},mpls_tc=1 actions=set_queue:1",
        f"table={FIRST},mpls_tc=2 actions=set_queue:2",
    ]
    assert count_fields(rows) == 14


def test_figure_6c_the_other_way_round_drops_what_no_row_takes() -> None:
    rows = decompose(figure6(), DECOMPOSED, SPARE_TABLES)
    assert shown(rows) == [
        f"table=0,mpls_tc=0 actions=set_queue:0,goto_table:{FIRST}",
        f"table=0,mpls_tc=1 actions=set_queue:1,goto_table:{FIRST}",
        f"table=0,mpls_tc=2 actions=set_queue:2,goto_table:{FIRST}",
        f"table={FIRST},in_port=1,mpls_label=1 actions=output:2",
        f"table={FIRST},in_port=2,mpls_label=1 actions=output:1",
    ]
    assert count_fields(rows) == 15


def test_with_all_classes_planned_the_action_set_is_safe_without_a_promise() -> None:
    rows = decompose(figure6(8), DECOMPOSED, SPARE_TABLES)
    assert rows == decompose(figure6(8), DECOMPOSED, SPARE_TABLES, strict=False)
    assert rows[0].write_actions == (Output(2),)
    everything = [*labelled(labels=(1, 2), classes=range(8)), (1, Packet(ipv4_dst=7))]
    assert meanings(rows, everything) == meanings(figure6(8), everything)


def figure7(n_priorities: int) -> list[FlowRow]:
    """The egress part of s1 in Figure 7: packets of three tunnels, popped and sent to port 4, queue by class."""
    return [
        FlowRow(
            Table.TE_TRANSIT,
            100,
            match(in_port=in_port, eth_type=ETH_MPLS, mpls_label=label, mpls_tc=tc),
            (PopMpls(ETH_IPV4), SetQueue(tc), Output(4)),
            cookie=cookie(schemes.KUIJIA, Kind.PLANNED),
        )
        for in_port, label in ((1, 16), (2, 17), (3, 18))
        for tc in range(n_priorities)
    ]


def test_figure_7_pops_after_the_class_has_chosen_the_queue() -> None:
    """The pop waits in the action set while the class, which it takes away, is looked up: Figure 7 'goes back'."""
    rows = decompose(figure7(8), DECOMPOSED, SPARE_TABLES)
    assert shown(rows) == [
        *(
            f"table=6,in_port={port},mpls_label={label} "
            f"actions=write_actions(pop_mpls:0x0800,output:4),goto_table:{FIRST}"
            for port, label in ((1, 16), (2, 17), (3, 18))
        ),
        *(f"table={FIRST},mpls_tc={tc} actions=set_queue:{tc}" for tc in range(8)),
    ]
    packets = [(port, packet) for port, packet in labelled((1, 2, 3), (16, 17, 18), range(8))]
    start = FlowRow(0, 1, match(), goto_table=Table.TE_TRANSIT)
    assert meanings([start, *rows], [packets[3]]) == [(((4, Packet(), 3),), (), ())]
    assert meanings([start, *rows], packets) == meanings([start, *figure7(8)], packets)


@pytest.mark.slow
@pytest.mark.parametrize(("tables", "strict"), [(tuple(Table), True), ((Table.TE_TRANSIT,), False)])
def test_figure_8_grows_slower_than_the_papers_and_saves_over_half_at_eight(
    tables: tuple[int, ...], strict: bool
) -> None:
    points = figure8(tables, strict=strict)
    replicated, greedy, decomposed = (slope([point[shape] for point in points]) for shape in (1, 2, 3))
    assert decomposed / replicated <= 0.36
    assert decomposed < greedy < replicated
    assert points[-1].decomposed < points[-1].replicated / 2
    assert [point.n_priorities for point in points] == list(range(1, 9))


@pytest.mark.slow
def test_figure_8_counts_the_rows_of_every_tunnel_in_both_directions() -> None:
    """Label tables at one priority: 2 transit switches x 2 ways x 5 fields, 6 tunnel ends x (3 + 3) fields."""
    assert figure8((Table.TE_TRANSIT,))[0][:2] == (1, 2 * 2 * 5 + 6 * 6)
    assert [point.replicated for point in figure8((Table.TE_TRANSIT,))] == [56 * number for number in range(1, 9)]


def test_the_examples_priorities_are_those_that_fit_a_label() -> None:
    for number in (0, 9):
        with pytest.raises(BadInputError, match=f"{number} priorities"):
            example_tables(number)


def test_a_slope_is_the_slope_of_a_line() -> None:
    assert slope([5, 8, 11, 14]) == pytest.approx(3)
    assert slope([Point(1, 4, 0, 0).replicated, 4]) == 0


def test_taken_packets_are_those_that_a_row_takes() -> None:
    assert len(taken(figure6(), labelled((1, 2, 3), (1, 2), (0, 1, 7)))) == 4
