"""What a campaign says while it works."""

from __future__ import annotations

from experiments.campaign.act.discovery import find_kinds
from experiments.campaign.durations import Estimate, estimates, total_seconds
from experiments.cli.campaign_progress import CampaignProgress
from tests.campaign.fakes import trial, trials

TRIALS = trials(rounds=1, variants="a", most_failures=3)
GOOD = {"status": "ok", "error": None, "seconds": 10.0}


class Clock:
    """Ten seconds later at every trial."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class FakeBar:
    """Remembers."""

    def __init__(self) -> None:
        self.counted = 0.0
        self.said: list[str] = []

    def update(self, n: float = 1) -> object:
        """Count."""
        self.counted += n
        return None

    def set_description_str(self, desc: str) -> object:
        """Remember."""
        return self.said.append(desc)

    def set_postfix_str(self, s: str, refresh: bool = True) -> object:
        """Remember; the bar is drawn by what follows."""
        assert not refresh
        return self.said.append(s)


def walk(progress: CampaignProgress, clock: Clock, step_s: float) -> None:
    clock.now_s += 1000.0  # a long calibration
    progress.start()
    for one in TRIALS:
        progress.begin(one, 1)
        clock.now_s += step_s
        progress.end(one, GOOD, True)


def test_without_a_terminal_long_work_shows_a_line_a_trial() -> None:
    said: list[str] = []
    clock = Clock()
    wanted = dict.fromkeys((one.trial_id for one in TRIALS), Estimate("mixed", 5.0))
    walk(CampaignProgress(wanted, None, said.append, clock), clock, 10.0)
    assert said == [
        "[1 of 4 trials, 30 s left] square/r1/k0/mixed/a: 10.0 s",
        "[2 of 4 trials, 20 s left] square/r1/k1/mixed/a: 10.0 s",
        "[3 of 4 trials, 10 s left] square/r1/k2/mixed/a: 10.0 s",
        "[4 of 4 trials] square/r1/k3/mixed/a: 10.0 s",
    ]


def test_a_kind_that_takes_longer_than_estimated_says_nothing_about_the_others() -> None:
    said: list[str] = []
    clock = Clock()
    decided, measured = trial(1, "a", kind="verify"), trial(1, "a")
    wanted = {decided.trial_id: Estimate("verify", 1.0), measured.trial_id: Estimate("mixed", 30.0)}
    progress = CampaignProgress(wanted, None, said.append, clock)
    clock.now_s += 50.0
    progress.end(decided, GOOD, True)
    assert said == [f"[1 of 2 trials, 30 s left] {decided.trial_id}: 10.0 s"]


def test_short_trials_do_not_flood_and_the_last_is_reported() -> None:
    said: list[str] = []
    clock = Clock()
    walk(CampaignProgress(estimates(TRIALS, find_kinds()), None, said.append, clock), clock, 0.1)
    assert [line.partition("]")[0].partition(",")[0] for line in said] == ["[1 of 4 trials", "[4 of 4 trials"]


def test_failures_are_always_reported() -> None:
    said: list[str] = []
    progress = CampaignProgress(estimates(TRIALS, find_kinds()), FakeBar(), said.append, Clock())
    bad = {"status": "failed", "error": "the probe failed", "seconds": 1.0}
    progress.begin(TRIALS[0], 1)
    progress.end(TRIALS[0], bad, False)
    progress.begin(TRIALS[0], 2)
    progress.end(TRIALS[0], bad, True)
    assert said == [
        "square/r1/k0/mixed/a failed, will be tried again: the probe failed",
        "square/r1/k0/mixed/a failed, given up: the probe failed",
    ]


def test_a_bar_is_full_at_the_end_and_names_the_trial() -> None:
    bar, clock = FakeBar(), Clock()
    wanted = estimates(TRIALS, find_kinds())
    walk(CampaignProgress(wanted, bar, lambda _: None, clock), clock, 10.0)
    assert bar.counted == total_seconds(wanted.values())
    assert TRIALS[0].trial_id in bar.said
    assert bar.said[-1] == "4 of 4 trials"
