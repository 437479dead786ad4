"""What was broken when: planned failures joined with the stamps of the injector, and the windows between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.analysis.timeline import IN_FLIGHT_S, Window
from experiments.scenario.failure import Failure
from mininet_topos.topology import LinkId, Topology


@dataclass(frozen=True, slots=True)
class Action:
    """One event of the injector: at which second of the plan, and whether the thing works afterwards."""

    at_s: float
    failure: int
    live: bool


@dataclass(frozen=True, slots=True)
class InjectedEvent:
    """An action as it happened; stamps right before and after it (CLOCK_MONOTONIC, seconds)."""

    action: Action
    before_s: float
    after_s: float


def plan_actions(failures: Sequence[Failure]) -> list[Action]:
    """Every event of a scenario, by time; repairs come before failures of the same second."""
    actions = []
    for number, failure in enumerate(failures):
        actions += [Action(step.at_s, number, step.live) for step in failure.steps]
    return sorted(actions, key=lambda action: (action.at_s, not action.live, action.failure))


def failure_window(number: int, failures: Sequence[Failure], injected: Sequence[InjectedEvent], end_s: float) -> Window:
    """Time of one failure: from its beginning to the next thing that happens, or to the end of the run.

    The events of one flap are one thing, and so are failures that are planned for the same second.
    """
    own = [event for event in injected if event.action.failure == number and not event.action.live]
    start = own[0]
    is_one_event = failures[number].is_one_event
    later = [
        event.before_s
        for event in injected
        if event.action.at_s > start.action.at_s and not (is_one_event and event.action.failure == number)
    ]
    return Window(start.before_s, min([*later, end_s]), lead_s=IN_FLIGHT_S)


def repair_window(number: int, injected: Sequence[InjectedEvent], end_s: float) -> Window | None:
    """Time from the last repair of a failure to the next thing that happens; None when it is not repaired."""
    own = [event for event in injected if event.action.failure == number and event.action.live]
    if not own:
        return None
    later = [event.before_s for event in injected if event.action.at_s > own[-1].action.at_s]
    return Window(own[-1].before_s, min([*later, end_s]))


def failed_links(at_s: float, failures: Sequence[Failure], topology: Topology) -> frozenset[LinkId]:
    """Links that are down at a second of the plan (a failure's own second included).

    A killed process counts only at its own second: its supervisor restarts it at once.
    """
    down: frozenset[LinkId] = frozenset()
    for failure in failures:
        lasts = failure.at_s <= at_s and (failure.end_s is None or at_s < failure.end_s)
        if lasts or failure.at_s == at_s:
            down |= failure.links_down(topology)
    return down
