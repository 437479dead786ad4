"""Kuijia's promise about slots: a failure moves what its tunnel held, and nothing else."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.plan.hash_ranges import N_SLOTS, HashRange
from ryu_apps.plan.slot_layers import (
    Layer,
    Piece,
    base_layer,
    holding,
    kuijia_layers,
    no_layers,
    rebased_layer,
    rescaling_layers,
    untagged_layers,
)
from tests.plan.kuijia.strategies import WEIGHTS, histories

Weights = list[float]
History = tuple[Weights, list[frozenset[int]]]


def kuijia(weights: Weights, events: list[frozenset[int]]) -> Layer:
    """Who holds what after the events."""
    return holding(base_layer(weights), kuijia_layers(base_layer(weights), weights, events))


def rescaled(weights: Weights, events: list[frozenset[int]]) -> Layer:
    return holding(base_layer(weights), rescaling_layers(base_layer(weights), weights, events))


def by_slot(pieces: Layer) -> list[tuple[int | None, bool]]:
    """(tunnel, victim) of every slot; the pieces must tile."""
    assert [piece.slots.first for piece in pieces] == [0, *(piece.slots.stop for piece in pieces[:-1])]
    assert pieces[-1].slots.stop == N_SLOTS
    return [(piece.tunnel, piece.victim) for piece in pieces for _ in range(piece.slots.size)]


def states(weights: list[float], events: list[frozenset[int]]) -> list[list[tuple[int | None, bool]]]:
    """Holder of every slot before the events and after each."""
    return [by_slot(kuijia(weights, events[:done])) for done in range(len(events) + 1)]


@given(histories())
def test_slots_of_living_tunnels_do_not_move(history: History) -> None:
    weights, events = history
    seen = states(weights, events)
    for event, before, after in zip(events, seen, seen[1:], strict=False):
        for was, now in zip(before, after, strict=True):
            assert was[0] in event or now == was


@given(histories())
def test_after_any_failures_failed_tunnels_hold_nothing_and_what_moved_is_a_victim(history: History) -> None:
    weights, events = history
    down = frozenset().union(*events)
    base, *_, last = [*states(weights, []), *states(weights, events)]
    for (owner, _), (holder, victim) in zip(base, last, strict=True):
        assert holder not in down
        assert victim == (owner in down)
        assert (holder is None) == (victim and len(down) == len(weights))


@given(histories())
def test_victims_are_split_by_the_original_weights_of_the_survivors(history: History) -> None:
    """Each failed tunnel's slots fail once for each failure, each time to less than one slot."""
    weights, events = history
    down = frozenset().union(*events)
    live = [number for number in range(len(weights)) if number not in down]
    total = math.fsum(weights[number] for number in live)
    if not live:
        return
    last = states(weights, events)[-1]
    victims = sum(victim for _, victim in last)
    for number in live:
        ideal = victims * (weights[number] / total if total else 1 / len(live))
        taken = sum(held == (number, True) for held in last)
        assert abs(taken - ideal) <= sum(len(event) for event in events) + 1e-6


@given(histories())
def test_a_repair_leaves_what_the_other_failures_alone_would_have_made(history: History) -> None:
    weights, events = history
    assert kuijia(weights, []) == base_layer(weights)
    own = by_slot(base_layer(weights))
    for repaired in range(len(events)):
        left = [*events[:repaired], *events[repaired + 1 :]]
        down = frozenset().union(*left)
        for owner, now in zip(own, states(weights, left)[-1], strict=True):
            assert now == owner or owner[0] in down


@given(histories())
def test_layers_only_grow_so_one_more_failure_only_adds_rows(history: History) -> None:
    weights, events = history
    layers = kuijia_layers(base_layer(weights), weights, events)
    for done in range(len(events)):
        shorter = kuijia_layers(base_layer(weights), weights, events[:done])
        assert layers[: len(shorter)] == shorter
    for layer in layers:
        assert all(piece.victim for piece in layer)
        assert all(first.slots.stop <= second.slots.first for first, second in pairwise(layer))


@given(histories(), st.integers(0, 5))
def test_a_tunnel_that_is_down_already_changes_nothing(history: History, position: int) -> None:
    weights, events = history
    again = [*events, frozenset().union(*events[:position])]
    assert kuijia_layers(base_layer(weights), weights, again) == kuijia_layers(base_layer(weights), weights, events)


@given(histories())
def test_rescaling_leaves_the_survivors_with_their_weights_and_nobody_tagged(history: History) -> None:
    weights, events = history
    down = frozenset().union(*events)
    last = by_slot(rescaled(weights, events))
    live = [number for number in range(len(weights)) if number not in down]
    total = math.fsum(weights[number] for number in live)
    for number in live:
        share = sum(held == (number, False) for held in last)
        ideal = weights[number] / total if total else 1 / len(live)
        assert abs(share - N_SLOTS * ideal) <= 1 + 1e-9
    assert not any(victim for _, victim in last)
    if not live:
        assert {holder for holder, _ in last} == {None}


def shares(pieces: Layer) -> dict[tuple[int | None, bool], Fraction]:
    found: dict[tuple[int | None, bool], Fraction] = {}
    for piece in pieces:
        key = (piece.tunnel, piece.victim)
        found[key] = found.get(key, Fraction(0)) + Fraction(piece.slots.size, N_SLOTS)
    return found


FIGURE3 = [0.5, 0.3, 0.2]


def test_figure_3a_rescaling_gives_six_and_four_tenths() -> None:
    after = rescaled(FIGURE3, [frozenset({0})])
    assert after == (Piece(HashRange(0, 614), 1), Piece(HashRange(614, 1024), 2))
    assert [round(float(share), 3) for share in shares(after).values()] == [0.6, 0.4]


def test_figure_3b_kuijia_partitions_the_range_of_t1_by_three_to_two_and_tags_it() -> None:
    before, after = base_layer(FIGURE3), kuijia(FIGURE3, [frozenset({0})])
    assert before == (Piece(HashRange(0, 512), 0), Piece(HashRange(512, 819), 1), Piece(HashRange(819, 1024), 2))
    assert after == (
        Piece(HashRange(0, 307), 1, victim=True),
        Piece(HashRange(307, 512), 2, victim=True),
        *before[1:],
    )


def test_figure_1_kuijia_offers_half_of_t1_to_each_survivor_behind_their_own_traffic() -> None:
    """Three tunnels of equal weight carry 8 of 10 Gbit/s each: 12 are offered to each survivor, 4 of them victims.

    Strict priority lets 8 + 2 through (Figure 1c); rescaling offers 12 without a difference (Figure 1b).
    """
    equal = [1 / 3] * 3
    offered_gbps, capacity_gbps = 24, 10
    tagged = shares(kuijia(equal, [frozenset({0})]))
    for tunnel in (1, 2):
        aboriginal, victims = (float(tagged[tunnel, victim] * offered_gbps) for victim in (False, True))
        assert aboriginal == pytest.approx(8, abs=offered_gbps / N_SLOTS)
        assert victims == pytest.approx(4, abs=offered_gbps / N_SLOTS)
        assert min(victims, capacity_gbps - aboriginal) == pytest.approx(2, abs=offered_gbps / N_SLOTS)
    untagged = shares(rescaled(equal, [frozenset({0})]))
    assert {key: round(float(share * offered_gbps)) for key, share in untagged.items()} == {
        (1, False): 12,
        (2, False): 12,
    }


def test_a_second_failure_moves_the_victims_of_the_first_that_it_hits_and_no_others() -> None:
    weights = [0.4, 0.3, 0.2, 0.1]
    events = [frozenset({0}), frozenset({1})]
    first, second = (kuijia(weights, events[:done]) for done in (1, 2))
    moved = {now for was, now in zip(by_slot(first), by_slot(second), strict=True) if was[0] == 1}
    assert moved == {(2, True), (3, True)}
    assert [round(float(shares(second)[tunnel, True]), 2) for tunnel in (2, 3)] == [0.47, 0.23]


def test_without_a_tunnel_left_everything_is_dropped_and_the_first_repair_serves_again() -> None:
    gone = kuijia(FIGURE3, [frozenset({0}), frozenset({1, 2})])
    assert gone == (Piece(HashRange(0, 1024), None, victim=True),)
    back = kuijia(FIGURE3, [frozenset({1, 2})])
    assert back == (Piece(HashRange(0, 512), 0), Piece(HashRange(512, 1024), 0, victim=True))


def test_survivors_without_weight_share_equally() -> None:
    after = kuijia([1.0, 0.0, 0.0], [frozenset({0})])
    assert after == (Piece(HashRange(0, 512), 1, victim=True), Piece(HashRange(512, 1024), 2, victim=True))


def test_traffic_engineering_alone_does_nothing_about_failures() -> None:
    assert no_layers(base_layer(FIGURE3), FIGURE3, [frozenset({0})]) == ()


def test_rescaling_twice_keeps_only_the_newest_partition() -> None:
    layers = rescaling_layers(
        base_layer(FIGURE3), FIGURE3, [frozenset({0}), frozenset(), frozenset({0}), frozenset({1})]
    )
    assert layers == ((), (Piece(HashRange(0, 1024), 2),))
    assert rescaling_layers(base_layer(FIGURE3), FIGURE3, []) == ()


def held_by(pieces: Layer) -> list[tuple[HashRange, int | None]]:
    return [(piece.slots, piece.tunnel) for piece in pieces]


@given(histories(), WEIGHTS)
def test_new_weights_move_as_few_slots_as_can_be(history: History, weights: Weights) -> None:
    """Tunnels that are new in name only: those of old number beyond the new ones are gone."""
    before = [
        (slots, tunnel if tunnel is not None and tunnel < len(weights) else None)
        for slots, tunnel in held_by(kuijia(*history))
    ]
    was = [tunnel for slots, tunnel in before for _ in range(slots.size)]
    now = by_slot(rebased_layer(before, weights))
    wanted = by_slot(base_layer(weights))
    for number in range(len(weights)):
        assert now.count((number, False)) == wanted.count((number, False))
    stayed = sum(old == new for old, (new, _) in zip(was, now, strict=True))
    assert stayed == sum(min(was.count(number), wanted.count((number, False))) for number in range(len(weights)))


@given(WEIGHTS)
def test_the_same_weights_again_change_nothing(weights: Weights) -> None:
    assert rebased_layer(held_by(base_layer(weights)), weights) == base_layer(weights)


@given(histories())
def test_untagged_layers_move_what_kuijia_moves_and_tag_nothing(history: History) -> None:
    weights, events = history
    base = base_layer(weights)
    moved = by_slot(holding(base, untagged_layers(base, weights, events)))
    assert [tunnel for tunnel, _ in moved] == [tunnel for tunnel, _ in by_slot(kuijia(weights, events))]
    assert not any(victim for _, victim in moved)


@given(histories())
def test_untagged_layers_give_tunnels_the_shares_that_rescaling_gives_them(history: History) -> None:
    weights, events = history
    base, one = base_layer(weights), events[:1]
    kinds = (untagged_layers(base, weights, one), rescaling_layers(base, weights, one))
    held = [[tunnel for tunnel, _ in by_slot(holding(base, layers))] for layers in kinds]
    for tunnel in (None, *range(len(weights))):
        assert abs(held[0].count(tunnel) - held[1].count(tunnel)) <= len(weights)
