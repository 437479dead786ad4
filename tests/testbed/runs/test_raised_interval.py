"""A run at whose BFD interval the sessions do not stay up starts again with a longer one, where it may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from emulation.bfd_probe import BfdUnstableError
from experiments.analysis.result import RunResult, judge
from experiments.scenario.values import Scenario
from experiments.testbed.runs import run as runs
from tests.analysis.test_result import RECOVERED, always

Start = Callable[[int | None], tuple[object, int | None, list[str]]]


def starts(scenario: Scenario, monkeypatch: pytest.MonkeyPatch, *, holds_from_ms: int) -> Start:
    """Start runs that build no network; sessions stay up from this interval on."""
    notes: list[str] = []

    def once(_run: object, interval_ms: int | None, so_far: list[str]) -> RunResult:
        interval_ms = interval_ms or 5
        if interval_ms < holds_from_ms:
            raise BfdUnstableError(interval_ms, f"BFD sessions with {interval_ms} ms still missing")
        notes[:] = so_far
        return judge(replace(RECOVERED, bfd_interval_ms=interval_ms), always)

    monkeypatch.setattr(runs._Run, "_once", once)
    parts = (scenario, RECOVERED.variation, runs.PlannedRun({}), None, {}, lambda _what: None)
    run = runs._Run(*parts, keeps_captures=False, follow=None)
    return lambda interval_ms: (*run.until_stable(interval_ms), notes)


UNFIXED = replace(RECOVERED.scenario, bfd_interval_ms=None)


def test_sessions_that_do_not_come_up_raise_the_interval_and_the_result_says_so(monkeypatch):
    outcome, interval_ms, notes = starts(UNFIXED, monkeypatch, holds_from_ms=50)(None)
    assert isinstance(outcome, RunResult)
    assert interval_ms == outcome.record.bfd_interval_ms == 50
    assert notes == [
        "BFD sessions with 5 ms still missing; it was raised to 20 ms",
        "BFD sessions with 20 ms still missing; it was raised to 50 ms",
    ]


@pytest.mark.parametrize(("scenario", "at_ms"), [(UNFIXED, 100), (replace(UNFIXED, bfd_interval_ms=5), 5)])
def test_after_the_longest_interval_and_at_a_fixed_one_the_run_has_failed(monkeypatch, scenario, at_ms):
    outcome, interval_ms, _notes = starts(scenario, monkeypatch, holds_from_ms=1000)(scenario.bfd_interval_ms)
    assert isinstance(outcome, runs.FailedRun)
    assert str(outcome.error) == f"BFD sessions with {at_ms} ms still missing"
    assert interval_ms == at_ms
