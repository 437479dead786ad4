"""Carries out the failures of a scenario at their seconds, and stamps what it does."""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Callable

from emulation.decide.failure_injection import InjectionStamp
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.analysis.injected import Action, InjectedEvent, plan_actions
from experiments.scenario.failure import failed_link
from experiments.scenario.values import Scenario

_SPIN_S = 0.002
_LONGEST_NAP_S = 0.2
_SPARE_S = 0.1  # a client takes less to start, except where every processor is busy


class Injector:
    """Breaks and repairs by plan.

    Parameters
    ----------
    network
        What is broken.
    injection
        The tool; its owner repairs everything at the end.
    scenario
        Its failures are the plan.
    """

    def __init__(self, network: EmulatedNetwork, injection: FailureInjection, scenario: Scenario) -> None:
        self._network, self._injection, self.scenario = network, injection, scenario
        self._failures = scenario.failures

    def prepare(self) -> None:
        """Prepare all silent failures, so that each is one system call when its time comes."""
        links = {failed_link(failure) for failure in self._failures} - {None}
        self._injection.prepare(sorted(link for link in links if link))

    def run(self, zero_s: float, until_s: float, between: Callable[[], None]) -> list[InjectedEvent]:
        """Carry out the whole plan, and return at second `until_s` of it.

        Parameters
        ----------
        zero_s
            CLOCK_MONOTONIC at second 0.
        until_s
            When to return, in seconds of the plan.
        between
            Called every 0.2 s, as long as 0.1 s are left until the next action.
        """
        injected = []
        for action in plan_actions(self._failures):
            sleep_until(zero_s + action.at_s, between)
            stamp = self._carry_out(action)
            injected.append(InjectedEvent(action, stamp.before_s, stamp.after_s))
        sleep_until(zero_s + until_s, between, spare_s=0.0)
        return injected

    def _carry_out(self, action: Action) -> InjectionStamp:
        failure = self._failures[action.failure]
        act = failure.repair if action.live else failure.fail
        stamp: InjectionStamp = pkgutil.resolve_name(act.function)(self._injection, *act.arguments)
        return stamp


def sleep_until(t_s: float, between: Callable[[], None], spare_s: float = _SPARE_S) -> None:
    """Sleep, and spin for the last two milliseconds, so that the stamp is not late by a scheduler's tick.

    `between` is called before each nap, unless less than `spare_s` are left.
    """
    while (left_s := t_s - time.monotonic()) > _SPIN_S:
        if left_s > spare_s:
            between()
        time.sleep(min(_LONGEST_NAP_S, max(0.0, t_s - time.monotonic() - _SPIN_S)))
    while time.monotonic() < t_s:
        pass
