"""The bytes of a slot, and the walk over a ring of them against the model of the ring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.byte_ring import ByteRing, RingLimits, detect, replay, send
from dataplane.model.slots import SLOT_BYTES, SlotRecord, SlotState, pack_slot, unpack_slot, window
from dataplane.model.values import Packet
from mininet_topos.errors import BadInputError

EMPTY = bytes(SLOT_BYTES)


def written(times, size):
    """Return a ring into which a packet was written at each time; its data is its tag."""
    slots = [EMPTY] * size
    for tag, at in enumerate(times):
        slots[tag % size] = pack_slot(tag, at, bytes([tag]))
    return slots


def test_a_slot_has_golden_bytes():
    slot = pack_slot(tag=0x0102030405, sent_ns=0x1122334455667788, data=b"\xaa\xbb\xcc")
    assert slot[:27].hex(" ", 4) == (
        "060403 02010000 00887766 55443322 11030000 00000000 00aabbcc"  # seq = tag + 1, time, length, padding, data
    )
    assert (len(slot), slot[27:]) == (SLOT_BYTES, bytes(SLOT_BYTES - 27))


@given(st.integers(0, 2**64 - 2), st.integers(0, 2**64 - 1), st.binary(max_size=2024))
def test_a_slot_reads_back(tag, sent_ns, data):
    assert unpack_slot(pack_slot(tag, sent_ns, data), tag) == SlotRecord(SlotState.READY, tag, sent_ns, data)


@given(st.binary(min_size=SLOT_BYTES, max_size=SLOT_BYTES), st.integers(0, 2**64 - 2))
def test_any_bytes_read_as_some_state(slot, tag):
    record = unpack_slot(slot, tag)
    assert (record.state is SlotState.READY) or (record.sent_ns, record.data) == (0, b"")


def test_a_slot_is_that_of_one_tag_alone():
    found = [unpack_slot(pack_slot(tag, 1, b"x"), 6).state for tag in (5, 6, 7, 8)]
    assert found == [SlotState.NOT_YET, SlotState.READY, SlotState.OVERWRITTEN, SlotState.OVERWRITTEN]


def test_a_slot_with_an_impossible_length_is_not_ready():
    assert unpack_slot(pack_slot(6, 1, b"")[:16] + b"\xe9\x07\0\0" + bytes(2028), 6).state is SlotState.NOT_YET


@given(st.lists(st.integers(0, 50), max_size=40).map(sorted), st.sampled_from((1, 4, 16, 64)), st.integers(0, 30))
def test_the_walk_finds_the_window_of_the_model(times, size, delta):
    now = times[-1] if times else 0
    ring = ByteRing(1, 2, RingLimits(size, 10**9), delta)
    for tag, at in enumerate(times):
        ring, _ = send(ring, Packet(tag, 1), at)
    _, sent = replay(detect(ring, now), now)
    found = window(written(times, size), len(times), now - delta)
    assert [record.tag for record in found] == [one.packet.number for one in sent]
    assert [record.data for record in found] == [bytes([record.tag]) for record in found]


def test_the_walk_stops_where_the_writer_has_come_round_and_waits_for_what_is_reserved():
    slots = written(range(10), 8)
    slots[9 % 8] = written(range(2), 8)[1]  # tag 9 is reserved; the slot still shows tag 1
    slots[5] = pack_slot(13, 99, b"")  # the writer is already at tag 13
    states = [(record.tag, record.state) for record in window(slots, 10, 0)]
    assert states == [(6, SlotState.READY), (7, SlotState.READY), (8, SlotState.READY), (9, SlotState.NOT_YET)]


def test_wrong_lengths_are_refused():
    with pytest.raises(BadInputError, match="2025 bytes"):
        pack_slot(0, 0, bytes(2025))
    with pytest.raises(BadInputError, match="not 2047"):
        unpack_slot(bytes(2047), 0)
    with pytest.raises(BadInputError, match="3 slots"):
        window([EMPTY] * 3, 0, 0)
