"""Punts that go through PSO's tables, and the way back: an app must not see a trace of them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ryu_apps.control.priority.decide.channels import class_order, controller_ids
from ryu_apps.control.priority.decide.divert import (
    MISS_TABLE,
    NAMED_TABLE,
    PUNT_TABLE,
    Diverted,
    divert,
    restore,
    sorting_messages,
    sorting_rows,
    wipes_sorting_rows,
)
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import Multipart
from ryu_apps.plan.ids import OFPP_CONTROLLER, PSO_TABLES, Kind, Owner, cookie
from ryu_apps.plan.rows import Controller, FlowRow, Output, Resubmit, SetField, match
from tests import schemes
from tests.control.priority.test_channels import OUT_OF_BAND
from tests.openflow.decode_sent import decode_flow_mod
from tests.pmt.frames import Ip, ethernet, ipv4, packet_in
from tests.pmt.messages import valid_messages

APP_COOKIE = cookie(Owner.EDGE, Kind.PLANNED)
MISS = FlowRow(2, 0, (), (Output(OFPP_CONTROLLER),), cookie=7)
PUNT = FlowRow(0, 9, match(eth_type=0x0806), (Output(3), Output(OFPP_CONTROLLER)), cookie=APP_COOKIE)
NAMED = FlowRow(0, 0, (), (Controller(0),), goto_table=1, cookie=APP_COOKIE)


def stats_reply(*rows: FlowRow) -> bytes:
    """A flow statistics reply as a switch that holds these rows sends it."""
    body = b""
    for row in rows:
        flow = encode.flow_add(row)
        rest = flow[48:]
        head = struct.pack(
            "!HBxIIHHHH4xQQQ", 48 + len(rest), row.table_id, 0, 0, row.priority, 0, 0, 0, row.cookie, 0, 0
        )
        body += head + rest
    return struct.pack("!BBHIHH4x", 4, 19, 16 + len(body), 5, Multipart.FLOW, 0) + body


@pytest.mark.parametrize(("row", "by_table"), [(MISS, MISS_TABLE), (PUNT, PUNT_TABLE), (NAMED, NAMED_TABLE)])
def test_each_way_to_ask_for_packets_goes_by_its_own_table_and_is_restored_exactly(row: FlowRow, by_table: int) -> None:
    message = encode.flow_add(row)
    sent, diverted = divert(message)
    assert diverted == Diverted(by_table, row.table_id, row.cookie)
    assert len(sent) == len(message)
    held = decode_flow_mod(sent).row
    assert held.apply_actions[-1] == Resubmit(by_table)
    assert (held.match, held.priority, held.goto_table) == (row.match, row.priority, row.goto_table)
    seen, _ = decode.decode_flow_stats(restore(stats_reply(held), {}))
    assert [stat.row for stat in seen] == [row]


def test_a_flow_in_a_bundle_is_diverted_where_it_stands() -> None:
    inner = encode.flow_add(NAMED)
    sent, diverted = divert(encode.bundle_add(3, inner))
    assert diverted == Diverted(NAMED_TABLE, 0, APP_COOKIE)
    assert sent == encode.bundle_add(3, divert(inner)[0])


@pytest.mark.parametrize(
    "message",
    [
        encode.flow_add(FlowRow(0, 5, (), (Controller(7),))),
        encode.flow_add(FlowRow(0, 5, (), (Output(2), SetField("ip_dscp", 3)))),
        encode.flow_delete(MISS),
        encode.packet_out(b"x" * 60, (Output(OFPP_CONTROLLER),)),
    ],
)
def test_what_asks_for_no_packets_or_has_chosen_a_connection_is_left_alone(message: bytes) -> None:
    assert divert(message) == (message, None)


@given(data=st.sampled_from(valid_messages()), cut=st.integers(0, 400), noise=st.binary(max_size=8))
@example(data=encode.flow_add(NAMED), cut=70, noise=b"")
def test_any_bytes_pass_both_ways_without_an_error(data: bytes, cut: int, noise: bytes) -> None:
    message = data[: max(8, cut)] + noise
    assert len(divert(message)[0]) == len(message)
    restored = restore(message, {})
    assert len(restored) <= len(message)


@given(data=st.sampled_from(valid_messages()))
def test_messages_that_say_nothing_of_packets_for_the_controller_do_not_change(data: bytes) -> None:
    assert restore(data, {}) == data


def test_a_packet_in_names_the_apps_table_and_cookie() -> None:
    frame = ethernet(0x0800, ipv4(Ip()))
    plain = packet_in(frame)
    row = sorting_rows(OUT_OF_BAND, controller_ids(OUT_OF_BAND, ()))[0]
    came = plain[:15] + bytes([MISS_TABLE]) + row.cookie.to_bytes(8, "big") + plain[24:]
    restored = restore(came, {MISS_TABLE: Diverted(MISS_TABLE, 2, 7)})
    assert restored == plain[:15] + bytes([2]) + (7).to_bytes(8, "big") + plain[24:]
    assert decode.decode_packet_in(restored).data == frame


def test_sorting_rows_do_not_show_in_flow_statistics() -> None:
    rows = sorting_rows(OUT_OF_BAND, controller_ids(OUT_OF_BAND, (2, 3)))
    held = decode_flow_mod(divert(encode.flow_add(MISS))[0]).row
    seen, _ = decode.decode_flow_stats(restore(stats_reply(*rows, held, *rows), {}))
    assert [stat.row for stat in seen] == [MISS]


def test_a_class_without_a_connection_is_sorted_to_the_main_connection() -> None:
    rows = sorting_rows(OUT_OF_BAND, controller_ids(OUT_OF_BAND, (2,)))
    to = {(row.table_id, row.priority): row.apply_actions for row in rows}
    for table_id in PSO_TABLES:
        assert [to[table_id, priority] for priority in (2, 1, 0)] == [
            (Controller(2),),
            (Controller(0),),
            (Controller(0),),
        ]


def test_only_the_table_of_misses_says_no_match() -> None:
    rows = sorting_rows(OUT_OF_BAND, controller_ids(OUT_OF_BAND, ()))
    reasons = {row.table_id: message[-2] for row, message in zip(rows, sorting_messages(rows), strict=True)}
    assert reasons == {MISS_TABLE: 0, PUNT_TABLE: 1, NAMED_TABLE: 1}


def test_new_rows_are_added_before_stale_ones_go_and_others_are_left_alone() -> None:
    old, new = (
        sorting_rows(OUT_OF_BAND, controller_ids(OUT_OF_BAND, ready)) for ready in ((), class_order(OUT_OF_BAND)[:2])
    )
    stale, new = new[-1], new[:-1]
    added = [row for row in new if row not in old]
    assert 0 < len(added) < len(new)
    mods = [decode_flow_mod(message) for message in sorting_messages(new, old)]
    assert [(mod.command.name, mod.row.table_id, mod.row.priority, mod.row.match) for mod in mods] == [
        *(("ADD", row.table_id, row.priority, row.match) for row in added),
        ("DELETE_STRICT", stale.table_id, stale.priority, stale.match),
    ]


@pytest.mark.parametrize(
    ("message", "wipes"),
    [
        (encode.flows_delete_by_cookie(0, 0), True),
        (encode.flows_delete_by_cookie(Owner.PSO << 56, 0xFF << 56), True),
        (encode.flows_delete_by_cookie(schemes.SDFAST << 56, 0xFF << 56), False),
        (encode.flow_delete(MISS), False),
        (encode.flow_add(MISS), False),
    ],
)
def test_a_deletion_that_takes_sorting_rows_along_is_noticed(message: bytes, wipes: bool) -> None:
    assert wipes_sorting_rows(message) is wipes
