"""Plans of failures: flips in order, windows that never overlap, links that are down."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.injected import (
    Action,
    Flip,
    disturbed_links,
    failed_links,
    failure_window,
    links_of_failure,
    plan_actions,
    repair_window,
)
from experiments.scenario.values import Failure
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import LinkId

SQUARE = load_topology("square")
AB, BC = SQUARE.link_ids[:2]


def flips_of(failures: list[Failure], zero_s: float = 100.0) -> list[Flip]:
    """An injector that is always half a millisecond late."""
    return [
        Flip(action, zero_s + action.at_s + 0.0005, zero_s + action.at_s + 0.0006) for action in plan_actions(failures)
    ]


def test_a_flap_is_cut_and_repaired_half_a_period_apart() -> None:
    actions = plan_actions([Failure("flap", 2.0, AB, times=2, period_s=1.0)])
    assert actions == [Action(2.0, 0, False), Action(2.5, 0, True), Action(3.0, 0, False), Action(3.5, 0, True)]


def test_a_repair_comes_before_a_failure_of_the_same_second() -> None:
    failures = [Failure("silent", 1.0, AB, repair_at_s=3.0), Failure("silent", 3.0, BC)]
    assert [(action.failure, action.live) for action in plan_actions(failures)] == [(0, False), (0, True), (1, False)]


def test_a_window_ends_with_the_next_thing_that_happens() -> None:
    failures = [Failure("silent", 1.0, AB, repair_at_s=5.0), Failure("silent", 3.0, BC)]
    flips = flips_of(failures)
    assert failure_window(0, failures, flips, 110.0).end_s == flips[1].before_s
    assert failure_window(1, failures, flips, 110.0).end_s == flips[2].before_s
    repaired = repair_window(0, flips, 110.0)
    assert repaired is not None
    assert (repaired.start_s, repaired.end_s) == (flips[2].before_s, 110.0)
    assert repair_window(1, flips, 110.0) is None


def test_failures_of_one_second_share_their_time() -> None:
    failures = [Failure("silent", 1.0, AB), Failure("silent", 1.0, BC)]
    windows = [failure_window(number, failures, flips_of(failures), 110.0) for number in (0, 1)]
    assert [window.end_s for window in windows] == [110.0, 110.0]


def test_a_flap_is_one_failure() -> None:
    failures = [Failure("flap", 1.0, AB, times=3, period_s=1.0), Failure("silent", 9.0, BC)]
    flips = flips_of(failures)
    window = failure_window(0, failures, flips, 120.0)
    assert (window.start_s, window.end_s) == (flips[0].before_s, flips[-1].before_s)


def test_links_of_a_node_and_of_its_killed_switch_are_the_same() -> None:
    node, killed = Failure("node", 1.0, node="s1"), Failure("kill", 1.0, node="s1", process="ovs-vswitchd")
    assert links_of_failure(node, SQUARE) == links_of_failure(killed, SQUARE)
    assert len(links_of_failure(node, SQUARE)) == 2
    assert links_of_failure(Failure("kill", 1.0, node="s1", process="agent"), SQUARE) == frozenset()
    stalled = Failure("kill", 1.0, node="s1", process="ovsdb-server")
    assert links_of_failure(stalled, SQUARE) == frozenset()
    assert disturbed_links(stalled, SQUARE) == links_of_failure(node, SQUARE) == disturbed_links(node, SQUARE)
    assert links_of_failure(Failure("controller", 1.0), SQUARE) == frozenset()


def test_links_are_down_from_the_cut_until_the_repair() -> None:
    failures = [Failure("silent", 1.0, AB, repair_at_s=3.0), Failure("silent", 2.0, BC)]
    assert failed_links(0.9, failures, SQUARE) == frozenset()
    assert failed_links(1.0, failures, SQUARE) == {AB}
    assert failed_links(2.5, failures, SQUARE) == {AB, BC}
    assert failed_links(3.0, failures, SQUARE) == {BC}


times = st.integers(0, 40).map(lambda quarter: quarter / 4)


@given(st.lists(st.tuples(times, st.integers(1, 8), st.sampled_from(SQUARE.link_ids)), max_size=5))
def test_flips_are_in_order_and_every_window_begins_with_its_cut(drawn: list[tuple[float, int, LinkId]]) -> None:
    failures = sorted(
        (Failure("silent", at_s, link, repair_at_s=at_s + length / 4) for at_s, length, link in drawn),
        key=lambda failure: failure.at_s,
    )
    flips = flips_of(failures)
    assert [flip.before_s for flip in flips] == sorted(flip.before_s for flip in flips)
    for number, failure in enumerate(failures):
        window = failure_window(number, failures, flips, 200.0)
        assert abs(window.start_s - 100.0 - failure.at_s - 0.0005) < 1e-9
        assert window.start_s < window.end_s
        inside = [flip for flip in flips if window.holds(flip.before_s)]
        assert {flip.action.at_s for flip in inside} == {failure.at_s}
