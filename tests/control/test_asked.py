"""Lists that a controller has asked a switch for, and those that come without."""

from __future__ import annotations

import struct
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.decide.asked import MOST_ASKED, Asked
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType, with_xid
from tests.pmt.messages import bare

XIDS = st.integers(1, 3)


def multipart(kind: MsgType, xid: int, more: bool = False) -> bytes:
    return with_xid(bare(kind, struct.pack("!HH4x", 13, more)), xid)


def reply(xid: int, more: bool = False) -> bytes:
    return multipart(MsgType.MULTIPART_REPLY, xid, more)


@given(st.lists(st.tuples(st.booleans(), XIDS, st.booleans()), max_size=40))
def test_a_list_is_wanted_until_the_last_part_of_as_many_replies_as_were_asked(steps) -> None:
    asked, n_open = Asked(), Counter()
    for is_request, xid, more in steps:
        if is_request:
            asked.sent(multipart(MsgType.MULTIPART_REQUEST, xid, more))
            n_open[xid] += not more
        else:
            assert asked.admits(reply(xid, more)) == (n_open[xid] > 0)
            n_open[xid] -= not more and n_open[xid] > 0


def test_requests_are_found_among_other_messages_that_are_sent_at_once() -> None:
    asked = Asked()
    asked.sent(encode.hello() + encode.set_config(128) + encode.port_desc_request(xid=7) + encode.barrier_request(8))
    assert asked.admits(reply(7))
    assert not asked.admits(reply(8))


def test_queues_are_asked_for_by_port_whose_number_is_no_flag() -> None:
    asked = Asked()
    asked.sent(bare(MsgType.QUEUE_REQUEST, struct.pack("!I4x", 1)))
    found = bare(MsgType.QUEUE_REPLY, struct.pack("!I4x", 1))
    assert [asked.admits(found), asked.admits(found)] == [True, False]


@pytest.mark.parametrize("kind", set(MsgType) - {MsgType.MULTIPART_REPLY, MsgType.QUEUE_REPLY})
def test_whatever_is_no_list_is_wanted(kind: MsgType) -> None:
    assert Asked().admits(bare(kind))


def test_other_versions_number_their_messages_otherwise() -> None:
    barrier_reply_of_1_0 = struct.pack("!BBHI", 1, 19, 8, 5)
    assert Asked().admits(barrier_reply_of_1_0)


def test_requests_that_are_never_answered_cost_bounded_memory_and_the_latest_are_known() -> None:
    asked = Asked()
    for xid in range(3 * MOST_ASKED):
        asked.sent(encode.port_desc_request(xid=xid))
    assert len(asked._n_of_xid) == MOST_ASKED
    assert not asked.admits(reply(2 * MOST_ASKED - 1))
    assert asked.admits(reply(2 * MOST_ASKED))


@pytest.mark.parametrize("length", [0, 1, 7])
def test_an_impossible_length_in_what_an_app_sends_ends(length: int) -> None:
    Asked().sent(struct.pack("!BBHI", 4, 18, length, 1))
