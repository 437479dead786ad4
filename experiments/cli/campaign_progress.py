"""What a campaign is doing: a bar with the time left on a terminal, else a plain line now and then; standard error."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from experiments.campaign.durations import Estimate, in_words, total_seconds
from experiments.campaign.order import FAILED
from experiments.campaign.values import Json, Trial

QUIET_S = 5.0
_SHAPE = "{percentage:3.0f}% |{bar:20}| {elapsed}, {postfix} {desc}"


class Bar(Protocol):
    """What is used of tqdm."""

    def update(self, n: float = 1) -> object:
        """Count `n` more."""

    def set_description_str(self, desc: str) -> object:
        """Say what is going on."""

    def set_postfix_str(self, s: str, refresh: bool = True) -> object:
        """Say how long it takes."""


class CampaignProgress:
    """Counts trials by their estimated seconds, and guesses the time left from how those of each kind did so far.

    Parameters
    ----------
    estimates : mapping of trial id to Estimate
        The trials that are still to run.
    bar
        None: plain lines.
    tell
        Prints a line.
    clock
        Seconds.
    """

    def __init__(
        self,
        estimates: Mapping[str, Estimate],
        bar: Bar | None,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = dict(estimates)
        self._total = len(self._left)
        self.tell = tell
        self._bar, self._clock = bar, clock
        self._estimated_s: defaultdict[str, float] = defaultdict(float)
        self._taken_s: defaultdict[str, float] = defaultdict(float)
        self._last_s = clock()
        self._reported_s = float("-inf")

    def say(self, text: str) -> None:
        """What goes on inside a trial: shown on a bar only."""
        if self._bar is not None:
            self._bar.set_description_str(text)

    def start(self) -> None:
        """The first network is about to be built: calibration does not count."""
        self._last_s = self._clock()

    def begin(self, trial: Trial, attempt: int) -> None:
        """An attempt begins."""
        again = "" if attempt == 1 else f", attempt {attempt}"
        self.say(trial.trial_id + again)

    def end(self, trial: Trial, row: Json, is_last: bool) -> None:
        """An attempt ended: failures are always reported, good trials every few seconds where there is no bar."""
        now_s = self._clock()
        self._taken_s[trial.kind] += now_s - self._last_s
        self._last_s = now_s
        if is_last:
            estimate = self._left.pop(trial.trial_id, Estimate(trial.kind, 0.0))
            self._estimated_s[trial.kind] += estimate.seconds
            if self._bar is not None:
                self._bar.set_postfix_str(f"{self._counted()}{self._time_left()}", refresh=False)
                self._bar.update(estimate.seconds)
        if row["status"] == FAILED:
            what = "given up" if is_last else "will be tried again"
            self.tell(f"{trial.trial_id} failed, {what}: {row['error']}")
        elif self._bar is None and (self._clock() - self._reported_s >= QUIET_S or not self._left):
            self._reported_s = self._clock()
            self.tell(f"[{self._counted()}{self._time_left()}] {trial.trial_id}: {row['seconds']:.1f} s")

    def _counted(self) -> str:
        return f"{self._total - len(self._left)} of {self._total} trials"

    def _time_left(self) -> str:
        if not self._left:
            return ""
        left_s = sum(estimate.seconds * self._pace(estimate.kind) for estimate in self._left.values())
        return f", {in_words(left_s)} left"

    def _pace(self, kind: str) -> float:
        """Seconds for each estimated one; 1 for a kind of which nothing has ended yet."""
        estimated_s = self._estimated_s[kind]
        return self._taken_s[kind] / estimated_s if estimated_s else 1.0


@contextmanager
def campaign_progress(estimates: Mapping[str, Estimate]) -> Iterator[CampaignProgress]:
    """Progress on standard error: a bar when that is a terminal."""
    if not sys.stderr.isatty():
        yield CampaignProgress(estimates, None, _line)
        return
    try:
        from tqdm import tqdm
    except ImportError:  # tqdm comes with the extra "experiments"; the core works without it
        yield CampaignProgress(estimates, None, _line)
        return
    total_s = total_seconds(estimates.values())
    with tqdm(
        total=total_s, file=sys.stderr, leave=False, dynamic_ncols=True, bar_format=_SHAPE, mininterval=0, miniters=0
    ) as bar:
        bar.set_postfix_str(f"{len(estimates)} trials, about {in_words(total_s)}")
        yield CampaignProgress(estimates, bar, lambda text: tqdm.write(text, file=sys.stderr))


def _line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
