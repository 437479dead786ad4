"""Trials and runners that need no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from experiments.campaign.values import Json, Load, Timing, Trial, Variant
from mininet_topos.errors import ArmorError

LOAD = Load(True, 10.0, 0.5, None, 5.0)
TIMING = Timing(1.5, 1.0, 2.0)


def trial(round_no: int, variant: str, failures: int = 0, kind: str = "mixed") -> Trial:
    """One trial on a square, named by what tells it apart."""
    return Trial(
        trial_id=f"square/r{round_no}/k{failures}/{kind}/{variant}",
        kind=kind,
        topology="square",
        variant=Variant(variant),
        round=round_no,
        failures=failures,
        links=("s1-s2",)[:failures],
        pairs=(("h1", "h3"),),
        load=LOAD,
        timing=TIMING,
        seed=1,
    )


def trials(rounds: int = 2, variants: str = "abc", most_failures: int = 1) -> list[Trial]:
    """All combinations, variants outermost, as a figure may list them."""
    return [
        trial(round_no, variant, failures)
        for variant in variants
        for round_no in range(1, rounds + 1)
        for failures in range(most_failures + 1)
    ]


class FakeRunner:
    """Calls `measure` for each trial, and keeps a log of sessions and trials."""

    def __init__(self, measure: Callable[[Trial], Json] = lambda _: {}, opens: Callable[[], bool] = lambda: True):
        self.measure = measure
        self.opens = opens
        self.log: list[str] = []
        self.open_sessions = 0

    @contextmanager
    def session(self, first: Trial) -> Iterator[Callable[[Trial], Json]]:
        """A session that notes when it ends."""
        if not self.opens():
            raise ArmorError("the switches did not start")
        self.open_sessions += 1
        assert self.open_sessions == 1
        self.log.append(f"open {first.variant.name if first.variant else '-'} {first.round}")
        try:
            yield self._run
        finally:
            self.open_sessions -= 1

    def _run(self, one: Trial) -> Json:
        assert self.open_sessions == 1
        self.log.append(one.trial_id)
        return self.measure(one)


class Silent:
    """Progress that only remembers how many trials are over."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.rows: list[Json] = []

    def start(self) -> None:
        """Nothing."""

    def begin(self, trial: Trial, attempt: int) -> None:
        """Nothing."""

    def end(self, trial: Trial, row: Json, is_last: bool) -> None:
        """Remember."""
        self.rows.append(row)
        if is_last:
            self.finished.append(trial.trial_id)
