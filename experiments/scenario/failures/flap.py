"""A link that fails silently and comes back, several times: half of each period it is down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.failure import TIMES, Act, LinkFailure, Step
from experiments.scenario.fields import MAX_SECONDS, number, whole_number
from experiments.scenario.keys import Key


@dataclass(frozen=True, slots=True)
class Flap(LinkFailure):
    """`{link: [s2, s4], kind: flap, times: 3, period_s: 2, at_s: 5}`.

    Attributes
    ----------
    times, period_s : int, float
        Number of failures, and the time from one to the next.
    """

    times: int = 3
    period_s: float = 1.0

    kind: ClassVar[str] = "flap"
    is_one_event: ClassVar[bool] = True
    keys: ClassVar[tuple[Key, ...]] = (
        LinkFailure.keys[0],
        TIMES[0],
        Key("times", whole_number(1, 1000)),
        Key("period_s", number(0.05, highest=MAX_SECONDS)),
    )

    @property
    def fail(self) -> Act:
        """Drop what is sent at both ends."""
        return Act("emulation.failure_injection:FailureInjection.silent", (self.link,))

    @property
    def steps(self) -> tuple[Step, ...]:
        """A failure and a repair in each period."""
        starts = [self.at_s + number * self.period_s for number in range(self.times)]
        return tuple(step for at_s in starts for step in (Step(at_s, False), Step(at_s + self.period_s / 2, True)))

    @property
    def end_s(self) -> float:
        """The last repair."""
        return self.steps[-1].at_s
