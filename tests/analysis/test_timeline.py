"""Stages of a recovery: each is checked on a stream whose stages are known, and laws hold for any stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.packet_counts import Flight, Sighting
from experiments.analysis.probes import ProbeId
from experiments.analysis.timeline import STAGES, Stages, Window, stages, way_outcome
from mininet_topos.topology import Direction

WINDOW = Window(10.0, 12.0)


USUAL, BACK, BYPASS = Direction("a", "b"), Direction("b", "a"), Direction("a", "c")
PROBE = ProbeId(1, 2, "probe", False, 0)


def stream(lost: set[int], turned: set[int] = frozenset(), bypassed: set[int] = frozenset()) -> list[Flight]:
    """A packet every 10 ms from 9.5 s on; number 50 leaves at the failure. Delay 1 ms, 3 ms if it backtracked."""
    return [
        Flight(
            sequence=number,
            sent_s=(sent_s := 9.5 + number / 100),
            arrivals_s=() if number in lost else (sent_s + (0.003 if number in turned else 0.001),),
            hops=tuple(
                Sighting(sent_s + delay_s, direction, PROBE, 0)
                for delay_s, direction, is_taken in (
                    (0.0002, USUAL, number not in bypassed),
                    (0.002, BACK, number in turned),
                    (0.0005, BYPASS, number in bypassed),
                )
                if is_taken
            ),
        )
        for number in range(300)
    ]


def test_the_stages_of_a_recovery_are_found() -> None:
    outcome = way_outcome(stream({50, 51, 52}, {53, 54}, set(range(55, 250))), WINDOW)
    found = stages(WINDOW, [outcome], detections_s=[9.9, 10.031, 10.033], installs_s=[])
    rounded = {name: round(value, 6) for name, value in found.to_dict().items()}
    assert rounded == {
        "detect": 31.0,
        "switch_over": 32.0,
        "first_good": 33.0,
        "last_lost": 20.0,
        "last_crankback": 42.0,
        "steady": 51.0,
    }
    assert outcome.has_recovered
    assert round(outcome.outage_ms, 6) == 30.0
    assert (outcome.counts.lost, outcome.counts.backtracked) == (3, 2)


def test_a_packet_on_its_way_at_the_failure_is_a_victim_of_it() -> None:
    flights = stream({20, 49, 50}, {51})
    outcome = way_outcome(flights, Window(WINDOW.start_s, WINDOW.end_s, lead_s=0.1))
    assert outcome.counts.lost == 2
    assert round(outcome.outage_ms, 6) == 20.0
    assert way_outcome(flights, WINDOW).counts.lost == 1


def test_when_only_a_packet_on_its_way_is_lost_the_last_lost_left_before_the_failure() -> None:
    window = Window(WINDOW.start_s, WINDOW.end_s, lead_s=0.1)
    outcome = way_outcome(stream({49}), window)
    found = stages(window, [outcome], detections_s=[], installs_s=[])
    assert outcome.is_affected
    assert outcome.has_recovered
    assert found.last_lost == pytest.approx(-10)


def test_an_agent_that_installs_rows_is_the_switch_over() -> None:
    outcome = way_outcome(stream({50}, {51}), WINDOW)
    found = stages(WINDOW, [outcome], [10.001], [9.0, 10.002, 10.02])
    assert found.to_dict()["switch_over"] == 2.0


def test_a_network_that_never_recovers_has_no_first_good_and_no_steady_stage() -> None:
    outcome = way_outcome(stream(set(range(50, 300))), WINDOW)
    found = stages(WINDOW, [outcome], [10.03], [])
    assert (found.first_good, found.steady) == (None, None)
    assert found.last_lost is not None
    assert round(found.last_lost) == 1990
    assert not outcome.has_recovered
    assert round(outcome.outage_ms) == 2000


@pytest.mark.parametrize(("arriving_of_ten", "recovered"), [(1, False), (4, False), (6, True)])
def test_who_goes_on_losing_most_packets_has_not_recovered(arriving_of_ten: int, recovered: bool) -> None:
    lost = {50} | {number for number in range(50, 300) if number % 10 >= arriving_of_ten}
    outcome = way_outcome(stream(lost), WINDOW)
    assert outcome.has_recovered == recovered
    assert recovered or (outcome.steady_s, round(outcome.outage_ms)) == (None, 2000)


def test_a_packet_that_the_next_failure_catches_on_its_way_is_no_sign_of_this_one() -> None:
    outcome = way_outcome(stream({50, 51, 249}), WINDOW)
    assert outcome.has_recovered
    assert outcome.counts.lost == 3
    assert round(outcome.outage_ms, 6) == 20.0
    assert stages(WINDOW, [outcome], [], []).to_dict()["steady"] == 21.0


def test_packets_that_come_back_to_the_end_are_delivered_but_never_steady() -> None:
    outcome = way_outcome(stream({50, 51}, set(range(52, 300))), WINDOW)
    found = stages(WINDOW, [outcome], [], [])
    assert outcome.has_recovered
    assert found.steady is None
    assert round(outcome.outage_ms, 6) == 20.0
    assert (found.first_good, found.last_crankback) == (pytest.approx(23.0), pytest.approx(1992.0))


def test_a_way_that_was_not_hit_does_not_count() -> None:
    quiet, hit = way_outcome(stream(set()), WINDOW), way_outcome(stream({50, 51}), WINDOW)
    assert not quiet.is_affected
    assert stages(WINDOW, [quiet, hit], [], []) == stages(WINDOW, [hit], [], [])


def test_one_way_without_recovery_leaves_the_failure_without_it() -> None:
    down, hit = way_outcome(stream(set(range(50, 300))), WINDOW), way_outcome(stream({50, 51}), WINDOW)
    assert stages(WINDOW, [down, hit], [], []).steady is None


def test_a_failure_that_hit_nobody_has_only_its_detection() -> None:
    quiet = way_outcome(stream(set()), WINDOW)
    found = stages(WINDOW, [quiet], [10.015], [])
    assert [name for name in STAGES if getattr(found, name) is not None] == ["detect"]


def test_losses_of_another_failure_are_not_counted() -> None:
    outcome = way_outcome(stream({10, 270}), WINDOW)
    assert outcome.counts.lost == 0
    assert stages(WINDOW, [outcome], [9.0, 12.5], []) == Stages()


numbers = st.sets(st.integers(40, 260), max_size=40)


@given(numbers, numbers)
def test_stages_never_contradict_each_other(lost: set[int], turned: set[int]) -> None:
    outcome = way_outcome(stream(lost, turned - lost), WINDOW)
    found = stages(WINDOW, [outcome], [], [])
    assert outcome.counts.sent == 200
    assert outcome.counts.lost == len([number for number in lost if 50 <= number < 250])
    judged = [number for number in lost if 50 <= number < 240]
    if found.steady is not None and judged:
        assert (max(judged) - 50) * 10 < found.steady
    assert (found.last_lost is not None) == (outcome.outage_ms > 0)
    assert found.last_lost is not None or not judged
    assert outcome.has_recovered or outcome.steady_s is None
    if not turned:
        assert (outcome.steady_s is not None) == outcome.has_recovered
    assert all(value is None or value >= 0 for value in found.to_dict().values())


def test_a_route_that_was_already_a_bypass_is_no_new_switch_over() -> None:
    everything = set(range(300))
    quiet = way_outcome(stream(set(), bypassed=everything), WINDOW)
    assert not quiet.is_affected
    assert quiet.first_switchover_s is None


def test_a_new_route_without_loss_is_a_switch_over() -> None:
    outcome = way_outcome(stream(set(), bypassed=set(range(60, 300))), WINDOW)
    assert outcome.is_affected
    found = stages(WINDOW, [outcome], [], [])
    assert found.to_dict()["switch_over"] == 100.5
