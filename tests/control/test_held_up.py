"""Laws of who is left out of returns: never one that did its part, and never for ever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.decide.held_up import ATTEMPTS, WITHOUT_S, HeldUp

NODES = ("s1", "s2", "s3")
ATTEMPT = st.tuples(st.frozensets(st.sampled_from(NODES)), st.floats(0.0, 2 * WITHOUT_S))


@given(st.lists(ATTEMPT))
def test_who_is_left_out_held_up_the_last_attempts_that_asked_it_and_for_its_time_only(attempts) -> None:
    state, now_s, history = HeldUp(), 0.0, {node: [] for node in NODES}
    for bad, pause_s in attempts:
        now_s += pause_s
        without = state.without(now_s)
        asked = [node for node in NODES if node not in without]
        for node in asked:
            history[node].append((node in bad, now_s))
        state = state.after(asked, bad & set(asked), now_s)
        for node in NODES:
            latest = history[node][-ATTEMPTS:]
            left_out = len(latest) == ATTEMPTS and all(was for was, _ in latest) and now_s < latest[-1][1] + WITHOUT_S
            assert (node in state.without(now_s)) == left_out


def test_a_switch_that_was_left_out_is_asked_again_and_one_more_time_is_enough() -> None:
    state = HeldUp()
    for _attempt in range(ATTEMPTS):
        state = state.after(NODES, {"s3"}, 100.0)
    assert state.without(100.0) == {"s3"}
    state = state.after(("s1", "s2"), (), 101.0)
    assert state.without(101.0) == {"s3"}
    assert state.without(100.0 + WITHOUT_S) == frozenset()
    assert state.after(NODES, {"s3"}, 200.0).without(200.0) == {"s3"}
    assert state.after(NODES, (), 200.0).after(NODES, {"s3"}, 201.0).without(201.0) == frozenset()
