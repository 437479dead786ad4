"""Packet counts of probe packets: the sums must close, whatever the network did to the packets."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.frames import Frame
from experiments.analysis.packet_counts import Clock, Counts, Flight, Sighting, Way, count, fly, sightings_of, unwrap
from experiments.analysis.probes import ProbeId
from mininet_topos.topology import Direction

AB, BC, AX = Direction("a", "b"), Direction("b", "c"), Direction("a", "x")
BACK_BA = Direction("b", "a")
OUT = Way("out", 1, 2, "probe", is_reply=False)
PING = Way("out", 1, 2, "ping", is_reply=False)


def sighting(t_s: float, direction: Direction, sequence: int, status: int = 0, way: Way = OUT) -> Sighting:
    return Sighting(t_s, direction, ProbeId(way.source, way.destination, way.kind, way.is_reply, sequence), status)


fates = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 200)), max_size=60)


@given(fates)
def test_the_accounts_add_up_and_agree_with_what_the_network_did(fates: list[tuple[int, int]]) -> None:
    departures = [(0.002 * number, number) for number in range(len(fates))]
    arrivals = [
        (sent_s + delay_ms / 1000 + copy * 1e-5, sequence)
        for (sent_s, sequence), (copies, delay_ms) in zip(departures, fates, strict=True)
        for copy in range(copies)
    ]
    flights, unexplained = fly(OUT, departures, arrivals)
    counts = count(flights)
    assert unexplained == 0
    assert counts.sent == counts.received + counts.lost == len(fates)
    assert counts.lost == sum(copies == 0 for copies, _ in fates)
    assert counts.duplicated == sum(max(copies - 1, 0) for copies, _ in fates)
    assert counts.received + counts.duplicated == len(arrivals)


@given(st.permutations(range(8)))
def test_reordered_counts_the_packets_that_a_later_one_overtook(order: list[int]) -> None:
    departures = [(number * 0.001, number) for number in range(8)]
    arrivals = [(1.0 + place, number) for place, number in enumerate(order)]
    flights, _ = fly(OUT, departures, arrivals)
    reordered = sum(any(later > number for later in order[:place]) for place, number in enumerate(order))
    assert count(flights).reordered == reordered


def test_an_arrival_without_departure_is_reported_not_counted() -> None:
    flights, unexplained = fly(OUT, [(1.0, 0)], [(1.1, 0), (1.2, 5), (0.5, 0)])
    assert unexplained == 2
    assert count(flights) == Counts(sent=1, received=1)


def test_ping_numbers_count_on_across_the_wrap() -> None:
    departures = [(number * 0.002, number % 65536) for number in range(65530, 65545)]
    arrivals = [(t_s + 0.001, sequence) for t_s, sequence in departures if sequence != 3]
    flights, unexplained = fly(PING, departures, arrivals)
    assert [flight.sequence for flight in flights] == list(range(65530, 65545))
    assert [flight.sequence for flight in flights if flight.is_lost] == [65539]
    assert unexplained == 0


@given(st.integers(0, 10**6), st.lists(st.integers(-300, 300), max_size=30))
def test_unwrapping_undoes_the_wrap(start: int, steps: list[int]) -> None:
    numbers = [start]
    for step in steps:
        numbers.append(numbers[-1] + step)
    unwrapped = unwrap((number % 1024 for number in numbers), 1024)
    assert [number - unwrapped[0] for number in unwrapped] == [number - start for number in numbers]


def test_a_packet_that_backtracked_is_counted_once() -> None:
    seen = [
        sighting(0.003, BACK_BA, 0, status=1),
        sighting(0.001, AB, 0),
        sighting(0.004, AX, 0, status=2),
        sighting(0.011, AX, 1, status=2),
    ]
    flights, _ = fly(OUT, [(0.0, 0), (0.010, 1)], [(0.005, 0), (0.015, 1)], seen)
    assert [[hop.t_s for hop in flight.back_hops] for flight in flights] == [[0.003], []]
    assert [hop.direction for hop in flights[0].hops] == [AB, BACK_BA, AX]
    assert count(flights).backtracked == 1


def test_a_packet_that_crosses_a_link_twice_the_same_way_did_not_backtrack() -> None:
    flights, _ = fly(OUT, [(0.0, 0)], [(0.005, 0)], [sighting(0.001, AB, 0), sighting(0.002, AB, 0)])
    assert count(flights).backtracked == 0


def test_frames_of_other_streams_are_not_taken_for_this_one() -> None:
    other = Way("out", 3, 2, "probe", is_reply=False)
    flights, _ = fly(OUT, [(0.0, 0)], [(0.001, 0)], [sighting(0.0005, AB, 0, way=other)])
    assert flights[0].hops == ()


def test_parallel_links_are_different_links() -> None:
    twin = Direction("b", "a", 1)
    flights, _ = fly(OUT, [(0.0, 0)], [(0.005, 0)], [sighting(0.001, AB, 0), sighting(0.002, twin, 0)])
    assert count(flights).backtracked == 0


def test_packet_counts_add_up() -> None:
    generator = random.Random(5)
    parts = [Counts(*(generator.randrange(9) for _ in range(6))) for _ in range(3)]
    total = sum(parts, Counts())
    assert total.sent == sum(part.sent for part in parts)
    assert total.backtracked == sum(part.backtracked for part in parts)


def test_capture_stamps_become_monotonic_seconds() -> None:
    frame = Frame(5_000_000_000, 0x3001, 1, 2, 1, b"\x08\x00\x00\x00\x00\x01\x00\x09")
    (seen,) = sightings_of([frame], AB, Clock(offset_ns=3_000_000_000))
    assert (seen.t_s, seen.status, seen.probe.sequence) == (2.0, 1, 9)


def test_delay_is_that_of_the_first_copy() -> None:
    flight = Flight(0, 1.0, (1.25, 1.5))
    assert flight.delay_ms == 250.0
    assert Flight(0, 1.0).delay_ms is None


def test_answers_to_a_duplicated_request_are_two_flights_and_none_is_lost_or_reordered() -> None:
    way = Way("back", 2, 1, "probe", is_reply=True)
    # Numbers 1 and 2 are answered twice; the second answers leave before any answer arrives, and all arrive in order.
    departures = [(1.00, 1), (1.01, 2), (1.02, 1), (1.03, 2), (1.04, 3)]
    arrivals = [(1.10, 1), (1.11, 2), (1.12, 1), (1.13, 2), (1.14, 3)]
    flights, unexplained = fly(way, departures, arrivals)
    counts = count(flights)
    assert unexplained == 0
    assert (counts.sent, counts.received, counts.lost, counts.duplicated, counts.reordered) == (5, 5, 0, 0, 0)
    once = count(fly(way, departures, arrivals[:2] + arrivals[3:])[0])
    assert (once.lost, once.duplicated) == (1, 0)
    thrice = count(fly(way, departures, [*arrivals, (1.2, 1)])[0])
    assert (thrice.lost, thrice.duplicated) == (0, 1)
