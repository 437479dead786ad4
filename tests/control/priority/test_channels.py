"""Which connections a switch has, and what is treated how."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.priority.decide.channels import (
    class_order,
    connections,
    controller_ids,
    main_id,
    receive_treatment,
    send_treatment,
    switch_of,
)
from ryu_apps.control.priority.decide.queue import Kind
from ryu_apps.openflow.wire import MsgType, WireError
from ryu_apps.pmt.channels import main_class
from ryu_apps.pmt.parse import parse_pmt
from ryu_apps.pmt.rules import PolicyMapTable
from tests.control.priority.running import features_reply

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "pmt"


def example(name: str) -> PolicyMapTable:
    return parse_pmt((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"), name)


OUT_OF_BAND = example("out_of_band")


def test_the_papers_example_1_makes_five_connections_and_type_1_has_the_main_connection() -> None:
    rows = [(row.class_id, row.port, row.dscp, row.is_main) for row in connections(OUT_OF_BAND, 6653)]
    assert rows == [
        (1, 6653, 56, True),
        (0, 6654, 0, False),
        (2, 6656, 48, False),
        (3, 6657, 40, False),
        (4, 6658, 32, False),
    ]


@pytest.mark.parametrize("name", ["out_of_band", "in_band", "in_band_service"])
def test_connections_have_ports_and_marks_of_their_own_and_more_urgent_classes_higher_marks(name: str) -> None:
    table = example(name)
    rows = {row.class_id: row for row in connections(table, 6653)}
    assert set(rows) == set(class_order(table))
    assert len({row.port for row in rows.values()}) == len(rows)
    marks = [rows[each].dscp for each in class_order(table)]
    assert marks == sorted(set(marks), reverse=True)


def test_without_a_rule_for_type_1_the_most_urgent_class_is_home() -> None:
    table = parse_pmt("rules: [{traffic_type: 2, action: 'queue_id:4'}, {traffic_type: 3, action: 'queue_id:2'}]")
    assert main_class(table) == 1
    assert table.class_names == {1: "queue_id:2", 2: "queue_id:4", 0: "unmatched"}


@given(ready=st.sets(st.sampled_from((0, 2, 3, 4))))
def test_every_class_has_a_connection_that_stands_and_plain_packet_ins_too(ready: set[int]) -> None:
    own = main_id(OUT_OF_BAND, ready)
    standing = {own, *ready}
    assert set(controller_ids(OUT_OF_BAND, ready).values()) <= standing
    assert 0 in standing  # where a plain output:CONTROLLER goes
    assert own not in ready


def test_a_connection_is_that_of_one_switch() -> None:
    assert switch_of(None, features_reply(5)) == 5
    assert switch_of(5, features_reply(5)) == 5
    with pytest.raises(WireError, match="it claims datapath id 0x6, and has claimed 0x5 before"):
        switch_of(5, features_reply(6))


def test_only_packet_ins_and_packet_outs_may_be_dropped() -> None:
    kinds = range(30)
    assert [kind for kind in kinds if receive_treatment(kind).may_be_dropped] == [MsgType.PACKET_IN]
    assert [kind for kind in kinds if send_treatment(kind).may_be_dropped] == [MsgType.PACKET_OUT]


def test_what_answers_a_request_heeds_barriers_and_packet_ins_and_echoes_do_not() -> None:
    assert receive_treatment(MsgType.BARRIER_REPLY).kind is Kind.BARRIER
    assert receive_treatment(MsgType.ERROR).kind is Kind.ORDERED
    assert receive_treatment(MsgType.PACKET_IN).kind is Kind.FREE
    assert send_treatment(MsgType.BARRIER_REQUEST).kind is Kind.BARRIER
    assert {send_treatment(kind).kind for kind in (MsgType.FLOW_MOD, MsgType.PACKET_OUT)} == {Kind.ORDERED}
    assert send_treatment(MsgType.ECHO_REPLY).kind is Kind.FREE
