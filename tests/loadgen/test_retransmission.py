"""Packet-ins that a switch dropped and retransmits: laws of the waiting packets, and emulated switches that do so."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen import generator
from experiments.loadgen.connection import Connection, Target
from experiments.loadgen.decide.load import Load
from experiments.loadgen.decide.packets import FIRST_PROBE
from experiments.loadgen.decide.retransmission import Retransmission
from experiments.loadgen.generator import LoadResult, SwitchRegistry, run_load
from tests.loadgen.fake_controller import FakeController

SHORT = Load(switches=2, rate_pps=200, seconds=0.5, high_share=0.3, warm_up_s=0.1)
TIMEOUT_S = 0.05


@given(st.lists(st.floats(0, 10), max_size=40), st.floats(0.01, 3), st.floats(0, 5))
def test_each_packet_comes_back_once_after_its_timeout_and_never_after_it_was_given_up(
    drops_s: list[float], timeout_s: float, kept_s: float
) -> None:
    waiting = Retransmission(timeout_s, kept_s)
    taken = {serial for serial, now_s in enumerate(drops_s) if waiting.add(serial, 0.0, now_s)}
    assert taken == {serial for serial, now_s in enumerate(drops_s) if now_s + timeout_s <= kept_s}
    came: list[int] = []
    while waiting.next_s < float("inf"):
        now_s = waiting.next_s
        for serial in waiting.take(now_s):
            assert drops_s[serial] + timeout_s == now_s
            came.append(serial)
    assert sorted(came) == sorted(taken)


def loaded(monkeypatch: pytest.MonkeyPatch, n_refusals: int, retransmit_after_s: float | None) -> LoadResult:
    """A load whose switches drop the first packet-ins of every packet."""
    tries: Counter[int] = Counter()

    class Refusing(Connection):
        def offer(self, message: bytes, serial: int, now_s: float) -> bool:
            tries[serial] += 1
            if serial < FIRST_PROBE and tries[serial] <= n_refusals:
                return False
            return super().offer(message, serial, now_s)

    monkeypatch.setattr(generator, "Connection", Refusing)
    with FakeController() as fake:
        target = Target("127.0.0.1", fake.ports[0])
        return run_load(SHORT, SwitchRegistry((target,), patience_s=5.0, retransmit_after_s=retransmit_after_s))


def test_what_is_retransmitted_is_answered_later_and_each_drop_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in loaded(monkeypatch, 2, TIMEOUT_S).classes.values():
        assert each.offered == each.answered == each.sent > 0
        assert each.dropped == 2 * each.offered
        assert each.dropped_percent == pytest.approx(100 * 2 / 3)
        assert each.delays.p50_ms is not None
        assert each.delays.p50_ms >= 2 * 1000 * TIMEOUT_S


def test_without_retransmission_a_dropped_packet_in_is_a_lost_packet(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in loaded(monkeypatch, 1, None).classes.values():
        assert each.offered == each.refused == each.dropped > 0
        assert each.dropped_percent == 100


def test_a_packet_is_given_up_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in loaded(monkeypatch, 1000, 2.0).classes.values():
        assert each.offered == each.refused > 0
        assert each.dropped == 3 * each.offered  # after 0, 2 and 4 s; the next would come after the patience of 5 s
