"""The paper's Multi-Queue Ring and our byte ring resend the same packets; what is lost is what must be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.byte_ring import Mode, RingLimits
from dataplane.model.values import Arrival, Failure, Packet, delivered, duplicates, first_copies
from mininet_topos.errors import BadInputError
from tests.dataplane.scenarios import BACKUP, Scenario, scenarios
from tests.examples import examples

LAWS = examples(100)

# Port 2 is the least loaded when packet 1 is cached, port 1 when packet 2 is; each queue shows one packet a tick.
STALL = Scenario(
    tuple(
        Arrival(at, Packet(number, port, size_bytes))
        for number, (at, port, size_bytes) in enumerate(
            ((3, 2, 60), (14, 1, 1000), (15, 1, 60), (15, 2, 1000), (16, 1, 1000), (18, 2, 1000))
        )
    ),
    (Failure(1, BACKUP, 24, 24, 24),),
    5,
    0,
)


def by_port(packets, port):
    return [packet for packet in packets if packet.port == port]


def window(scenario, failure):
    """What a port sent within delta before its failure was seen."""
    first = failure.detected_at - scenario.delta
    return [packet for at, packet in scenario.sent(failure.port) if first <= at < failure.detected_at]


def both_models(scenario):
    return scenario.run_paper().transmissions, scenario.run_ring()[1]


@LAWS
@given(scenarios())
def test_both_resend_exactly_the_window_of_delta_in_order(scenario):
    for transmissions in both_models(scenario):
        for failure in scenario.failures:
            assert by_port(duplicates(transmissions), failure.port) == window(scenario, failure)


@LAWS
@given(scenarios())
def test_nothing_is_lost_and_first_copies_keep_their_order_if_delta_bounds_the_detection(scenario):
    for transmissions in both_models(scenario):
        received = first_copies(delivered(transmissions, scenario.failures))
        for port in (1, 2):
            assert by_port(received, port) == [packet for _, packet in scenario.sent(port)]


@LAWS
@given(scenarios())
def test_each_flow_keeps_its_order(scenario):
    for transmissions in both_models(scenario):
        received = first_copies(delivered(transmissions, scenario.failures))
        for key in {(packet.port, packet.flow) for packet in received}:
            numbers = [packet.number for packet in received if (packet.port, packet.flow) == key]
            assert numbers == sorted(numbers)


@LAWS
@given(scenarios())
def test_duplicates_were_sent_within_delta_before_the_failure(scenario):
    sent_at = {arrival.packet: arrival.at for arrival in scenario.arrivals}
    failures = {failure.port: failure for failure in scenario.failures}
    for transmissions in both_models(scenario):
        for packet in duplicates(delivered(transmissions, scenario.failures)):
            failure = failures[packet.port]
            assert failure.detected_at - scenario.delta <= sent_at[packet] < failure.failed_at


@LAWS
@given(scenarios(detected_in_time=False))
def test_a_delta_below_the_detection_loses_exactly_what_is_older(scenario):
    for transmissions in both_models(scenario):
        arrived = delivered(transmissions, scenario.failures)
        received = set(first_copies(arrived))
        assert duplicates(arrived) == ()
        for failure in scenario.failures:
            lost = [packet for at, packet in scenario.sent(failure.port) if packet not in received]
            first = failure.detected_at - scenario.delta
            assert lost == [packet for at, packet in scenario.sent(failure.port) if failure.failed_at <= at < first]


@LAWS
@given(scenarios(), st.integers(1, 6), st.integers(1514, 6000))
def test_a_ring_too_small_loses_exactly_what_does_not_fit(scenario, packets, size_bytes):
    switch, transmissions = scenario.run_ring(RingLimits(packets, size_bytes))
    received = set(first_copies(delivered(transmissions, scenario.failures)))
    for failure, ring in zip(scenario.failures, switch.rings, strict=True):
        # All that must be kept until the way is ready: the window, and what arrives behind it.
        kept = [(at, one) for at, one in scenario.sent(failure.port) if at < failure.usable_at]
        kept = [one for at, one in kept if at >= failure.detected_at - scenario.delta]
        while len(kept) > packets or sum(one.size_bytes for one in kept) > size_bytes:
            del kept[0]
        sent = scenario.sent(failure.port)
        expected = [one for at, one in sent if failure.failed_at <= at < failure.usable_at and one not in kept]
        assert [one for _, one in sent if one not in received] == expected
        assert ring.counters.pending <= len(expected) + len(window(scenario, failure))


@LAWS
@given(scenarios(), st.integers(0, 1 << 7))
def test_a_clock_that_wraps_changes_nothing(scenario, shift):
    shifted = Scenario(
        tuple(replace(arrival, at=arrival.at + shift) for arrival in scenario.arrivals),
        tuple(
            replace(f, failed_at=f.failed_at + shift, detected_at=f.detected_at + shift, usable_at=f.usable_at + shift)
            for f in scenario.failures
        ),
        scenario.delta,
        scenario.reconfiguration,
    )
    # 6 bits: 64 ticks, more than the longest stay of 45, less than the arrivals' 90.
    assert shifted.run_paper(clock_bits=6) == shifted.run_paper()


def test_a_clock_too_narrow_for_delta_is_refused():
    with pytest.raises(BadInputError, match="clock of 4 bits"):
        Scenario((Arrival(0, Packet(0, 1)),), (), 15, 0).run_paper(clock_bits=4)


def test_a_port_without_a_caching_queue_is_refused():
    with pytest.raises(BadInputError, match="port 44"):
        Scenario((Arrival(0, Packet(0, 44)),), (), 5, 0).run_paper()


@examples(40)
@given(scenarios(), st.integers(1, 3))
def test_queues_that_are_looked_at_rarely_resend_more_but_lose_and_reorder_nothing(scenario, examined):
    sent_at = {arrival.packet: arrival.at for arrival in scenario.arrivals}
    run = scenario.run_paper(end=600, examined=examined)
    received = first_copies(delivered(run.transmissions, scenario.failures))
    assert run.stuck == ()
    for port in (1, 2):
        assert by_port(received, port) == [packet for _, packet in scenario.sent(port)]
    for failure in scenario.failures:
        again, resent = by_port(duplicates(run.transmissions), failure.port), window(scenario, failure)
        assert [packet for packet in again if packet in resent] == resent
        assert all(sent_at[packet] < failure.detected_at - scenario.delta for packet in set(again) - set(resent))


@LAWS
@given(scenarios(both=False))
def test_packets_of_other_ports_do_not_notice_a_failure(scenario):
    calm = replace(scenario, failures=())
    for failed, untouched in zip(both_models(scenario), both_models(calm), strict=True):
        assert [one for one in failed if one.packet.port == 2] == [one for one in untouched if one.packet.port == 2]


@LAWS
@given(scenarios(), st.integers(1, 3))
def test_a_slow_replay_keeps_the_order_and_loses_nothing(scenario, budget):
    switch, transmissions = scenario.run_ring(budget=budget)
    received = first_copies(delivered(transmissions, scenario.failures))
    for port in (1, 2):
        assert by_port(received, port) == [packet for _, packet in scenario.sent(port)]
    assert all(ring.mode is Mode.BACKUP and ring.tail == ring.head for ring in switch.rings)


@LAWS
@given(scenarios(both=False), st.integers(1, 30))
def test_a_way_that_is_ready_after_its_bound_loses_what_leaves_before(scenario, late):
    """Both leave at the bound; the ring sends its whole window then, the paper's switch spreads it over delta."""
    (failure,) = scenario.failures
    slower = replace(scenario, failures=(replace(failure, usable_at=failure.usable_at + late),))
    for transmissions in both_models(slower):
        received = set(first_copies(delivered(transmissions, slower.failures)))
        left = {one.packet: one.at for one in transmissions if one.packet.port == 1}
        for at, packet in slower.sent(1):
            hit = at >= failure.failed_at and left[packet] < failure.usable_at + late
            assert (packet in received) is not hit


@LAWS
@given(scenarios())
def test_a_copy_stays_for_delta_and_the_reconfiguration(scenario):
    delay = scenario.delta + scenario.reconfiguration
    sent_at = {arrival.packet: arrival.at for arrival in scenario.arrivals}
    transmissions = scenario.run_paper().transmissions
    left_at = {one.packet: one.at for one in transmissions}
    assert all(left_at[packet] >= sent_at[packet] + delay for packet in duplicates(transmissions))


@LAWS
@given(scenarios())
def test_the_ring_is_never_later_than_the_queues(scenario):
    paper, ring = both_models(scenario)
    last_of_paper = {one.packet: one.at for one in paper}
    assert all(one.at <= last_of_paper[one.packet] for one in ring)


def test_a_port_that_comes_up_before_the_copies_have_left_loses_the_window():
    """SB': the status register must stay down until the ring has drained, though the link is back."""
    sent = tuple(Arrival(at, Packet(at, 1)) for at in range(60))
    scenario = Scenario(sent, (Failure(1, 1, 30, 35, 50),), 10, 15)
    received = first_copies(delivered(scenario.run_paper(restore_early=True).transmissions, scenario.failures))
    assert {one.at for one in sent if one.packet not in received} >= set(range(30, 35))
    assert len(first_copies(delivered(scenario.run_paper().transmissions, scenario.failures))) == 60


def test_a_packet_that_comes_while_the_way_is_not_ready_is_lost_if_it_is_sent_at_once():
    """Line 17 of Algorithm 2 alone: nothing is cached, so the tag of the new packet is next, and its port is down."""
    scenario = Scenario((Arrival(20, Packet(0, 1)),), (Failure(1, 1, 10, 15, 30),), 5, 15)
    at_once, held = scenario.run_paper(hold_originals=False), scenario.run_paper()
    assert delivered(at_once.transmissions, scenario.failures) == ()
    assert [one.packet.number for one in delivered(held.transmissions, scenario.failures)] == [0]


def test_line_4_as_written_can_wait_for_ever_for_a_packet_that_is_gone():
    """Copies of a ring of several queues leave out of order; NextPktTag falls back to one that was dropped."""
    run, repaired = STALL.run_paper(500, examined=1, monotone=False), STALL.run_paper(500, examined=1)
    assert run.stuck != ()
    assert repaired.stuck == ()
    received = first_copies(delivered(repaired.transmissions, STALL.failures))
    assert by_port(received, 1) == [packet for _, packet in STALL.sent(1)]


@LAWS
@given(scenarios())
def test_line_4_as_written_does_no_harm_while_copies_leave_in_order(scenario):
    alone = replace(scenario, arrivals=tuple(one for one in scenario.arrivals if one.packet.port == 1))
    assert alone.run_paper(monotone=False) == alone.run_paper()
