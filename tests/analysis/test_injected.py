"""Plans of failures: events in order, windows that never overlap, links that are down."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.injected import (
    Action,
    InjectedEvent,
    failed_links,
    failure_window,
    plan_actions,
    repair_window,
)
from experiments.scenario.failure import Failure
from experiments.scenario.failures.controller import Controller
from experiments.scenario.failures.flap import Flap
from experiments.scenario.failures.kill import Kill
from experiments.scenario.failures.node import Node
from experiments.scenario.failures.silent import Silent
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import LinkId

SQUARE = load_topology("square")
AB, BC = SQUARE.link_ids[:2]


def injected_events(failures: list[Failure], zero_s: float = 100.0) -> list[InjectedEvent]:
    """An injector that is always half a millisecond late."""
    return [
        InjectedEvent(action, zero_s + action.at_s + 0.0005, zero_s + action.at_s + 0.0006)
        for action in plan_actions(failures)
    ]


def test_a_flap_fails_and_is_repaired_half_a_period_apart() -> None:
    actions = plan_actions([Flap(2.0, AB, times=2, period_s=1.0)])
    assert actions == [Action(2.0, 0, False), Action(2.5, 0, True), Action(3.0, 0, False), Action(3.5, 0, True)]


def test_a_repair_comes_before_a_failure_of_the_same_second() -> None:
    failures = [Silent(1.0, AB, repair_at_s=3.0), Silent(3.0, BC)]
    assert [(action.failure, action.live) for action in plan_actions(failures)] == [(0, False), (0, True), (1, False)]


def test_a_window_ends_with_the_next_thing_that_happens() -> None:
    failures = [Silent(1.0, AB, repair_at_s=5.0), Silent(3.0, BC)]
    injected = injected_events(failures)
    assert failure_window(0, failures, injected, 110.0).end_s == injected[1].before_s
    assert failure_window(1, failures, injected, 110.0).end_s == injected[2].before_s
    repaired = repair_window(0, injected, 110.0)
    assert repaired is not None
    assert (repaired.start_s, repaired.end_s) == (injected[2].before_s, 110.0)
    assert repair_window(1, injected, 110.0) is None


def test_failures_of_one_second_share_their_time() -> None:
    failures = [Silent(1.0, AB), Silent(1.0, BC)]
    windows = [failure_window(number, failures, injected_events(failures), 110.0) for number in (0, 1)]
    assert [window.end_s for window in windows] == [110.0, 110.0]


def test_a_flap_is_one_failure() -> None:
    failures = [Flap(1.0, AB, times=3, period_s=1.0), Silent(9.0, BC)]
    injected = injected_events(failures)
    window = failure_window(0, failures, injected, 120.0)
    assert (window.start_s, window.end_s) == (injected[0].before_s, injected[-1].before_s)


def test_links_of_a_node_and_of_its_killed_switch_are_the_same() -> None:
    node, killed = Node(1.0, "s1"), Kill(1.0, "ovs-vswitchd", "s1")
    assert node.links_down(SQUARE) == killed.links_down(SQUARE)
    assert len(node.links_down(SQUARE)) == 2
    assert Kill(1.0, "agent", "s1").links_down(SQUARE) == frozenset()
    stalled = Kill(1.0, "ovsdb-server", "s1")
    assert stalled.links_down(SQUARE) == frozenset()
    assert stalled.disturbed_links(SQUARE) == node.links_down(SQUARE) == node.disturbed_links(SQUARE)
    assert Controller(1.0).links_down(SQUARE) == frozenset()


def test_links_are_down_from_the_failure_until_the_repair() -> None:
    failures = [Silent(1.0, AB, repair_at_s=3.0), Silent(2.0, BC)]
    assert failed_links(0.9, failures, SQUARE) == frozenset()
    assert failed_links(1.0, failures, SQUARE) == {AB}
    assert failed_links(2.5, failures, SQUARE) == {AB, BC}
    assert failed_links(3.0, failures, SQUARE) == {BC}


times = st.integers(0, 40).map(lambda quarter: quarter / 4)


@given(st.lists(st.tuples(times, st.integers(1, 8), st.sampled_from(SQUARE.link_ids)), max_size=5))
def test_injected_events_are_in_order_and_every_window_begins_with_its_failure(
    drawn: list[tuple[float, int, LinkId]],
) -> None:
    failures = sorted(
        (Silent(at_s, link, repair_at_s=at_s + length / 4) for at_s, length, link in drawn),
        key=lambda failure: failure.at_s,
    )
    injected = injected_events(failures)
    assert [event.before_s for event in injected] == sorted(event.before_s for event in injected)
    for number, failure in enumerate(failures):
        window = failure_window(number, failures, injected, 200.0)
        assert abs(window.start_s - 100.0 - failure.at_s - 0.0005) < 1e-9
        assert window.start_s < window.end_s
        inside = [event for event in injected if window.holds(event.before_s)]
        assert {event.action.at_s for event in inside} == {failure.at_s}
