"""Carries out the failures of a scenario at their seconds, and stamps what it does."""

from __future__ import annotations

import time
from collections.abc import Callable

from emulation.cuts import Cuts
from emulation.decide.cuts import CutStamp
from emulation.network import EmulatedNetwork
from experiments.analysis.injected import Action, Flip, plan_actions
from experiments.scenario.values import KILL_KIND, Failure, Scenario
from mininet_topos.topology import Direction, LinkId

_SPIN_S = 0.002
_LONGEST_NAP_S = 0.2


class Injector:
    """Breaks and repairs by plan.

    Parameters
    ----------
    network : EmulatedNetwork
        What is broken.
    cuts : Cuts
        The tool; whoever owns it repairs everything at the end.
    scenario : Scenario
        Its failures are the plan.
    """

    def __init__(self, network: EmulatedNetwork, cuts: Cuts, scenario: Scenario) -> None:
        self._network, self._cuts, self.scenario = network, cuts, scenario
        self._failures = scenario.failures

    def arm(self) -> None:
        """Prepare all silent failures, so that each is one system call when its time comes."""
        links = {failure.link for failure in self._failures if failure.link is not None}
        self._cuts.arm(sorted(links))

    def run(self, zero_s: float, until_s: float, between: Callable[[], None]) -> list[Flip]:
        """Carry out the plan until second `until_s` of it.

        Parameters
        ----------
        zero_s : float
            CLOCK_MONOTONIC at second 0.
        until_s : float
            When to return, in seconds of the plan.
        between : callable
            Called now and then while nothing is to be done soon.
        """
        flips = []
        for action in plan_actions(self._failures):
            sleep_until(zero_s + action.at_s, between)
            stamp = self._carry_out(action)
            flips.append(Flip(action, stamp.before_s, stamp.after_s))
        sleep_until(zero_s + until_s, between)
        return flips

    def _carry_out(self, action: Action) -> CutStamp:
        failure = self._failures[action.failure]
        if failure.kind == KILL_KIND:
            return self._network.kill(str(failure.process), failure.node)
        if action.live:
            return self._cuts.restore(_target(failure))
        if failure.kind in ("silent", "flap"):
            return self._cuts.silent(_link(failure))
        if failure.kind == "carrier":
            return self._cuts.carrier(_link(failure))
        if failure.kind == "one-way":
            return self._cuts.one_way(_direction(failure))
        if failure.kind == "node":
            return self._cuts.node(str(failure.node))
        return self._cuts.controller()


def _link(failure: Failure) -> LinkId:
    if failure.link is None:
        raise ValueError(f"a {failure.kind} failure needs a link")
    return failure.link


def _direction(failure: Failure) -> Direction:
    link = _link(failure)
    return Direction(*link) if failure.node == link.a else Direction(link.b, link.a, link.key)


def _target(failure: Failure) -> LinkId | Direction | str:
    if failure.kind == "one-way":
        return _direction(failure)
    if failure.link is not None:
        return failure.link
    return failure.node or "controller"


def sleep_until(t_s: float, between: Callable[[], None]) -> None:
    """Sleep, and spin for the last two milliseconds, so that the stamp is not late by a scheduler's tick."""
    while (left_s := t_s - time.monotonic()) > _SPIN_S:
        if left_s > 2 * _LONGEST_NAP_S:
            between()
        time.sleep(min(_LONGEST_NAP_S, max(0.0, t_s - time.monotonic() - _SPIN_S)))
    while time.monotonic() < t_s:
        pass
