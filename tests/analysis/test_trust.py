"""A run that cannot be believed says so, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.analysis.packet_counts import Flight
from experiments.analysis.trust import Health, StreamHealth, answers_counted, assess, pace

GOOD = StreamHealth("s1>s2", 0, 0, (1000, 990), (1000, 990), 1.02)


def test_a_quiet_run_is_trusted_without_a_word() -> None:
    assert assess(Health(streams=[GOOD])) == ((), True)


@pytest.mark.parametrize(
    ("health", "word"),
    [
        (Health(streams=[replace(GOOD, warm_up_lost=2)]), "2 packets were lost before anything was broken"),
        (Health(streams=[replace(GOOD, unexplained=1)]), "no tap saw leave"),
        (Health(streams=[replace(GOOD, own=(1001, 990))]), "the probe itself 1001 and 990"),
        (Health(flaps={"s1:2": 2}), "BFD flapped 2 times"),
        (Health(faults=["priority is not strict"]), "priority is not strict"),
        (Health(restarts=["agent in s1"]), "agent in s1 ended"),
        (Health(missed={"s1-eth2": 7}), "the tap on s1-eth2 missed 7 frames"),
        (Health(late_s={0.5: 0.01, 2.0: 0.31}), "at second 2 came 0.31 s late"),
        (Health(avoided=["s1-s3", "s2-s5"]), "traffic engineering left out s1-s3, s2-s5"),
        (Health(drift_ms=-3.0), "the wall clock was shifted by -3.0 ms"),
    ],
)
def test_a_fault_of_the_instruments_or_the_network_costs_the_trust(health: Health, word: str) -> None:
    warnings, trustworthy = assess(health)
    assert not trustworthy
    assert word in warnings[0]


@pytest.mark.parametrize(
    "health",
    [
        Health(notes=["no netem"]),
        Health(load_per_core=2.0),
        Health(streams=[replace(GOOD, pace=2.0)]),
        Health(unread={"s1-eth2": 7}),
    ],
)
def test_circumstances_are_reported_but_do_not_cost_the_trust(health: Health) -> None:
    warnings, trustworthy = assess(health)
    assert trustworthy
    assert len(warnings) == 1


def test_a_probe_without_packet_counts_of_its_own_is_trusted() -> None:
    assert assess(Health(streams=[replace(GOOD, own=None)])) == ((), True)


def test_pace_is_the_mean_interval_over_the_one_asked_for() -> None:
    flights = [Flight(number, number * 0.003) for number in range(5)]
    assert pace(flights, 2.0) == pytest.approx(1.5)
    assert pace(flights[:1], 2.0) == 1.0


def test_answers_are_counted_as_the_probing_program_counts_them() -> None:
    answers = [Flight(1, 1.0, (1.1, 1.2)), Flight(2, 1.1, (1.3,)), Flight(2, 1.15, (1.35,)), Flight(3, 1.2, ())]
    assert answers_counted(answers, copies=True) == 4
    assert answers_counted(answers, copies=False) == 2
