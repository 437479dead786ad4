"""The byte ring alone: its limits, its counters, the backstop, return to the primary, and its size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.byte_ring import (
    ByteRing,
    Mode,
    RingLimits,
    detect,
    detect_in_send,
    needed_bytes,
    replay,
    restore,
    send,
)
from dataplane.model.sizing import buffer_size
from dataplane.model.switch import Backstop, SqrSwitch, forward, is_paused, used_bytes
from dataplane.model.values import Arrival, Failure, Packet, delivered, first_copies
from mininet_topos.errors import BadInputError
from tests.dataplane.scenarios import AMPLE, BACKUP, Scenario

BACKSTOP = Backstop(pause_above_bytes=1000, resume_below_bytes=400)


def filled(count, limits=AMPLE, size_bytes=100, gap_ns=1, delta_ns=1000):
    ring = ByteRing(1, BACKUP, limits, delta_ns)
    for number in range(count):
        ring, _ = send(ring, Packet(number, 1, size_bytes), number * gap_ns)
    return ring


def numbers(transmissions):
    return [one.packet.number for one in transmissions]


@given(st.lists(st.integers(60, 1514), max_size=30), st.integers(1, 10), st.integers(1514, 8000))
def test_a_ring_keeps_the_longest_end_of_the_stream_that_fits(sizes, packets, size_bytes):
    ring = ByteRing(1, BACKUP, RingLimits(packets, size_bytes), 10**9)
    for number, size in enumerate(sizes):
        ring, _ = send(ring, Packet(number, 1, size), number)
    fits = [k for k in range(len(sizes) + 1) if len(sizes) - k <= packets and sum(sizes[k:]) <= size_bytes]
    assert [slot.packet.number for slot in ring.slots] == list(range(fits[0], len(sizes)))
    assert ring.counters.young == fits[0]


def test_slots_older_than_delta_are_overwritten_without_being_counted_as_young():
    assert filled(100, RingLimits(20, 10**6), gap_ns=10, delta_ns=150).counters.young == 0
    assert filled(100, RingLimits(15, 10**6), gap_ns=10, delta_ns=150).counters.young == 85


def test_pending_packets_that_are_overwritten_are_counted_as_lost():
    ring = detect(filled(5, RingLimits(5, 10**6)), 5)
    for number in (5, 6):
        ring, sent = send(ring, Packet(number, 1), number)
        assert sent == ()
    assert (ring.counters.pending, ring.tail) == (2, 2)
    assert numbers(replay(ring, 7)[1]) == [2, 3, 4, 5, 6]


def test_a_frame_longer_than_a_slot_is_sent_and_counted_but_not_cached():
    for ring, port in ((filled(0), 1), (detect(filled(3), 3), BACKUP)):
        after, (one,) = send(ring, Packet(99, 1, 2025), 9)
        assert (one.port, after.counters.too_big, after.slots) == (port, 1, ring.slots)


@given(st.integers(1, 40), st.integers(0, 50))
def test_a_send_that_fails_resends_itself_and_the_margin_before_it(count, margin):
    _, sent = replay(detect_in_send(filled(count), count, margin), count)
    assert numbers(sent) == list(range(max(0, count - 1 - margin), count))


def test_a_negative_margin_is_refused():
    with pytest.raises(BadInputError, match="margin of -1"):
        detect_in_send(filled(3), 3, -1)


def test_a_failure_seen_twice_replays_once():
    ring, sent = replay(detect(detect(filled(4), 4), 5), 5)
    assert numbers(sent) == [0, 1, 2, 3]
    assert detect(ring, 6) == ring


def test_a_failure_without_a_window_diverts_at_once():
    ring, sent = send(detect(filled(3), 5000), Packet(3, 1), 5000)
    assert [(one.port, one.packet.number) for one in sent] == [(BACKUP, 3)]
    assert replay(ring, 5001)[0].mode is Mode.BACKUP


def test_a_ring_that_returned_does_not_resend_what_the_backup_carried():
    ring, _ = replay(detect(filled(4), 4), 4)
    ring, _ = send(ring, Packet(4, 1), 5)
    ring, sent = send(restore(ring), Packet(5, 1), 6)
    assert sent[0].port == 1
    assert numbers(replay(detect(ring, 7), 7)[1]) == [5]


def test_a_ring_that_still_holds_packets_does_not_return():
    with pytest.raises(BadInputError, match="port 1 holds 4 packets"):
        restore(detect(filled(4), 4))


@pytest.mark.parametrize("limits", [(0, 100), (1, 0), (1, 100, 0)])
def test_a_ring_that_holds_nothing_is_refused(limits):
    with pytest.raises(BadInputError, match="holds nothing"):
        RingLimits(*limits)


@given(st.lists(st.sampled_from((0, 399, 400, 401, 1000, 1001, 2000)), max_size=40))
def test_the_backstop_changes_only_where_a_mark_is_crossed(used):
    paused = False
    for value in used:
        before, paused = paused, is_paused(paused, value, BACKSTOP)
        assert paused is (value > 1000 if not before else value >= 400)


@pytest.mark.parametrize("marks", [(400, 401), (400, 0), (0, 0)])
def test_a_backstop_that_would_flutter_is_refused(marks):
    with pytest.raises(BadInputError, match="caching pauses above"):
        Backstop(*marks)


@given(st.lists(st.tuples(st.sampled_from((1, 2)), st.integers(0, 3)), max_size=60))
def test_ports_share_the_backstop_which_never_stops_a_packet(steps):
    rings = tuple(ByteRing(port, BACKUP, AMPLE, 12) for port in (1, 2))
    switch, now = SqrSwitch(rings, BACKSTOP), 0
    for number, (port, wait) in enumerate(steps):
        now += wait
        paused = is_paused(switch.paused, used_bytes(switch, now), BACKSTOP)
        cached = sum(ring.counters.cached for ring in switch.rings)
        switch, sent = forward(switch, Packet(number, port, 100), now)
        assert numbers(sent) == [number]
        assert sum(ring.counters.cached for ring in switch.rings) == cached + (not paused)
        assert used_bytes(switch, now) <= 1100


def test_packets_sent_while_caching_is_paused_are_the_ones_that_a_failure_loses():
    """12 packets of 100 bytes within delta: the eleventh lifts the use above 1,000 bytes, the twelfth is not copied."""
    scenario = Scenario(
        tuple(Arrival(at, Packet(at, 1, 100)) for at in range(12)), (Failure(1, BACKUP, 8, 12, 12),), 50, 0
    )
    switch, transmissions = scenario.run_ring(backstop=BACKSTOP)
    assert [packet.number for packet in first_copies(delivered(transmissions, scenario.failures))] == list(range(11))
    assert switch.rings[0].counters.unprotected == 1


def test_caching_goes_on_when_old_copies_have_aged():
    switch = SqrSwitch((ByteRing(1, BACKUP, AMPLE, 10),), BACKSTOP)
    for number in range(12):
        switch, _ = forward(switch, Packet(number, 1, 100), 0)
    assert switch.paused
    switch, _ = forward(switch, Packet(12, 1, 100), 11)
    assert not switch.paused
    assert needed_bytes(switch.rings[0], 11) == 100


def test_a_held_port_queues_behind_its_replay_though_caching_is_paused():
    ring = detect(filled(3), 3)
    ring, sent = send(ring, Packet(3, 1), 4, caching=False)
    assert (sent, numbers(replay(ring, 5)[1])) == ((), [0, 1, 2, 3])


@pytest.mark.parametrize(("delay_ns", "window_bytes"), [(30_000, 37_500), (760_000, 950_000)])
def test_the_window_of_10_gbps_is_the_papers(delay_ns, window_bytes):
    assert buffer_size(10_000, delay_ns, 1514).window_bytes == window_bytes


def test_packets_of_the_papers_window_count_the_overhead_of_the_wire():
    """The paper's 656 segments are 950,000 / 1,448: no overhead at all. With it, 617 fit, its "some 600"."""
    size = buffer_size(10_000, 760_000, 1514, spare_packets=64)
    assert (950_000 // 1448, size.packets) == (656, 618)
    assert (size.frame_bytes, size.slots, size.reserved_bytes) == (618 * 1514, 1024, 1 << 21)

    assert buffer_size(10_000, 760_000, 1514, spare_packets=1024 - 618).slots == 1024


def test_short_packets_need_more_slots_for_the_same_window():
    short, long = buffer_size(1000, 10**7, 60), buffer_size(1000, 10**7, 1514)
    assert short.window_bytes == long.window_bytes
    assert short.packets == 1_250_000 // 84 + 1
    assert short.slots == 16 * long.slots


@given(st.integers(1, 10**5), st.integers(1, 10**6), st.integers(60, 1514))
def test_a_ring_of_that_size_holds_all_that_the_link_can_send_within_the_delay(rate_mbps, delay_ns, packet_bytes):
    """Back to back from time 0: the packets that begin within the delay, both ends included."""
    size = buffer_size(rate_mbps, delay_ns, packet_bytes)
    wire_bits = (packet_bytes + 24) * 8
    last = size.packets - 1
    assert last * wire_bits * 1000 <= delay_ns * rate_mbps < size.packets * wire_bits * 1000
    assert size.slots >= size.packets + 64 > size.slots // 2


@given(st.integers(2, 30), st.integers(1, 5), st.booleans())
def test_a_stream_is_lossless_exactly_if_the_ring_holds_rate_times_delta(delta, gap, short):
    """A packet every `gap`: within delta at most delta // gap + 1 begin; one slot less loses one when all are hit."""
    failed_at = 40 * gap
    scenario = Scenario(
        tuple(Arrival(at, Packet(at, 1, 100)) for at in range(0, 80 * gap, gap)),
        (Failure(1, BACKUP, failed_at, failed_at + delta, failed_at + delta),),
        delta,
        0,
    )
    window = len([one for one in scenario.arrivals if failed_at <= one.at < failed_at + delta])
    _, transmissions = scenario.run_ring(RingLimits(window - 1 if short and window > 1 else window, 10**6))
    received = first_copies(delivered(transmissions, scenario.failures))
    assert 80 - len(received) == (1 if short and window > 1 else 0)


@pytest.mark.parametrize("wrong", [{"rate_mbps": 0}, {"delay_ns": 0}, {"packet_bytes": 0}, {"packet_bytes": 2025}])
def test_a_size_of_nothing_or_of_a_frame_longer_than_a_slot_is_refused(wrong):
    with pytest.raises(BadInputError, match=r"no buffer|does not fit a slot"):
        buffer_size(**{"rate_mbps": 10, "delay_ns": 1000, "packet_bytes": 100, **wrong})


def test_counters_of_other_ports_stay():
    switch = SqrSwitch(tuple(ByteRing(port, BACKUP, AMPLE, 10) for port in (1, 2)))
    after, _ = forward(switch, Packet(0, 1), 0)
    assert after.rings[1] == switch.rings[1]


def test_a_port_without_a_ring_forwards_as_it_is():
    switch = SqrSwitch((ByteRing(1, BACKUP, AMPLE, 10),))
    after, sent = forward(switch, Packet(0, 7), 3)
    assert (after, [(one.at, one.port) for one in sent]) == (switch, [(3, 7)])
