"""Accounting: counts add up, delays count from the schedule, and patience is the same for all."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.kinds.control import ClassColumns
from experiments.campaign.parameters import plain, typed
from experiments.loadgen.decide.ledger import EDGES_MS, Ledger, delays_of, histogram_of
from experiments.loadgen.decide.load import CLASSES, HIGH, LOW, Load, Schedule, make_schedule

STEPS = st.lists(
    st.tuples(st.sampled_from(("send", "refuse", "answer", "nothing")), st.integers(0, 59), st.floats(0, 5)),
    max_size=200,
)


def even(n: int, gap_s: float = 0.01) -> Schedule:
    return Schedule(np.arange(n) * gap_s, np.arange(n) % 2, np.zeros(n, dtype=np.int64), 0.0, n * gap_s)


@given(STEPS, st.floats(0.1, 5))
def test_every_packet_is_in_exactly_one_count(steps: list, patience_s: float) -> None:
    ledger, refused, sent = Ledger(even(60)), set(), set()
    for what, serial, now_s in steps:
        if what == "send" and serial not in refused:
            ledger.send(serial, now_s)
            sent.add(serial)
        elif what == "refuse" and serial not in sent:
            ledger.refuse(serial)
            refused.add(serial)
        elif what == "answer":
            ledger.answer(serial, now_s)
    results = ledger.results(patience_s)
    assert sum(each.offered for each in results.values()) == 60
    for each in results.values():
        assert each.offered == each.answered + each.refused + each.waiting + each.unanswered
        assert each.sent == each.answered + each.unanswered
        assert sum(each.histogram) == each.answered
        assert each.lost == each.offered - each.answered


def test_a_held_up_generator_makes_delays_longer_not_shorter() -> None:
    ledger = Ledger(even(10))
    for serial in range(10):  # the generator stands still for a second; each answer then comes within 1 ms
        ledger.send(serial, 1.0)
        ledger.answer(serial, 1.001)
    found = [each.delays for each in ledger.results(5).values()]
    assert found[0].max_ms == pytest.approx(1001)
    assert min(each.p50_ms for each in found if each.p50_ms) > 900


def test_what_is_answered_after_its_patience_is_lost() -> None:
    ledger = Ledger(even(4))
    for serial, answer_s in enumerate((0.5, 0.6, 3.0)):
        ledger.send(serial, 0.1)
        ledger.answer(serial, answer_s)
    results = ledger.results(2.0)
    assert (results[HIGH.name].answered, results[HIGH.name].unanswered) == (1, 1)
    assert (results[LOW.name].answered, results[LOW.name].waiting, results[LOW.name].lost) == (1, 1, 1)


def test_packets_of_the_warm_up_do_not_count() -> None:
    plan = make_schedule(Load(2, 500, 1, "constant", 0.5, warm_up_s=1.0))
    assert sum(each.offered for each in Ledger(plan).results(1).values()) == 500


def test_a_class_is_stored_and_read_with_every_number_that_it_has() -> None:
    ledger = Ledger(even(4))
    ledger.send(0, 0.1)
    ledger.answer(0, 0.2)
    for each in ledger.results(1.0).values():
        stored = json.loads(json.dumps(each.to_json()))
        assert json.loads(json.dumps(plain(typed(ClassColumns, stored)))) == stored


def test_only_the_first_answer_counts_and_unexpected_ones_are_reported() -> None:
    ledger = Ledger(even(4))
    ledger.send(0, 0.0)
    ledger.answer(0, 0.010)
    ledger.answer(0, 0.500)
    ledger.answer(1, 0.5)  # was never sent
    ledger.answer(99, 0.5)
    assert ledger.results(1)[CLASSES[0].name].delays.max_ms == 10.0
    assert (ledger.repeated_answers, ledger.unexpected_answers, ledger.n_answered) == (1, 2, 1)


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=100))
def test_percentiles_are_values_that_were_measured(values: list[float]) -> None:
    found = delays_of(np.array(values))
    rounded = {round(value, 4) for value in values}
    assert {found.p50_ms, found.p90_ms, found.p99_ms, found.max_ms} <= rounded
    assert found.p50_ms <= found.p90_ms <= found.p99_ms <= found.max_ms


@given(st.lists(st.floats(0, 1e7), max_size=50))
def test_the_histogram_counts_values_up_to_each_edge(values: list[float]) -> None:
    counts = histogram_of(np.array(values))
    assert len(counts) == len(EDGES_MS) + 1
    for number, edge in enumerate(EDGES_MS):
        assert sum(counts[: number + 1]) == sum(value <= edge for value in values)
