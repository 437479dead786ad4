"""The laws of the class queue."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.priority.decide.policies import Strict, make_policy
from ryu_apps.control.priority.decide.queue import HARD_LIMIT, MEAN_BYTES, ClassQueue, Entry, Kind
from ryu_apps.pmt.scheduling import SchedulerKind, full_shares

CLASSES = (1, 2, 0)
SOURCES = ("s1", "s2")


def entry(class_id: int, source: str = "s1", kind: Kind = Kind.ORDERED, may_be_dropped: bool = False) -> Entry:
    return Entry(class_id, source, kind, 100, may_be_dropped, None)


def entries(may_be_dropped: st.SearchStrategy[bool]) -> st.SearchStrategy[list[Entry]]:
    return st.lists(
        st.builds(
            lambda class_id, source, kind, dropped: entry(class_id, source, kind, dropped and kind is not Kind.BARRIER),
            st.sampled_from(CLASSES),
            st.sampled_from(SOURCES),
            st.sampled_from(list(Kind)),
            may_be_dropped,
        ),
        max_size=40,
    )


def queue_of(kind: SchedulerKind = SchedulerKind.STRICT, capacity: int = 1000) -> ClassQueue:
    return ClassQueue(CLASSES, make_policy(kind, full_shares(kind, {}, CLASSES)), capacity)


def drain(queue: ClassQueue) -> list[Entry]:
    left = []
    while (each := queue.pop()) is not None:
        left.append(each)
        if each.kind is Kind.BARRIER:
            queue.barrier_passed(each.source)
    return left


def keeps_order(came: Iterable[Entry], left: list[Entry]) -> bool:
    at = {id(each): position for position, each in enumerate(left)}
    positions = [at[id(each)] for each in came if id(each) in at]
    return positions == sorted(positions)


@given(given_entries=entries(st.just(False)), policy=st.sampled_from(SchedulerKind))
def test_everything_that_came_leaves_once(given_entries: list[Entry], policy: SchedulerKind) -> None:
    queue = queue_of(policy)
    assert all(not queue.put(each) for each in given_entries)
    assert len(queue) == len(given_entries)
    left = drain(queue)
    assert sorted(map(id, left)) == sorted(map(id, given_entries))
    assert len(queue) == 0


@given(given_entries=entries(st.just(False)), policy=st.sampled_from(SchedulerKind), pops=st.lists(st.booleans()))
def test_order_is_kept_inside_a_class_and_never_changed_across_barriers(
    given_entries: list[Entry], policy: SchedulerKind, pops: list[bool]
) -> None:
    queue, left = queue_of(policy), []
    for position, each in enumerate(given_entries):
        queue.put(each)
        if position < len(pops) and pops[position] and (now := queue.pop()) is not None:
            left.append(now)
            if now.kind is Kind.BARRIER:
                queue.barrier_passed(now.source)
    left += drain(queue)
    at = {id(each): position for position, each in enumerate(left)}
    for source in SOURCES:
        own = [each for each in given_entries if each.source == source]
        for class_id in CLASSES:
            same = [each for each in own if each.class_id == class_id]
            assert keeps_order((each for each in same if each.kind is Kind.FREE), left)
            assert keeps_order((each for each in same if each.kind is not Kind.FREE), left)
        heeding = [each for each in own if each.kind is not Kind.FREE]
        for position, barrier in enumerate(heeding):
            if barrier.kind is Kind.BARRIER:
                assert all(at[id(each)] < at[id(barrier)] for each in heeding[:position])
                assert all(at[id(each)] > at[id(barrier)] for each in heeding[position + 1 :])


@given(given_entries=entries(st.booleans()), capacity=st.integers(1, 8), policy=st.sampled_from(SchedulerKind))
def test_messages_that_may_go_never_fill_the_queue_beyond_its_capacity(
    given_entries: list[Entry], capacity: int, policy: SchedulerKind
) -> None:
    queue, lost = queue_of(policy, capacity), []
    for each in given_entries:
        before = len(queue)
        lost += queue.put(each)
        assert len(queue) <= (max(before, capacity) if each.may_be_dropped else before + 1)
    assert all(each.may_be_dropped for each in lost)
    assert len(drain(queue)) + len(lost) == len(given_entries)


@given(given_entries=entries(st.just(True)), capacity=st.integers(1, 8))
def test_what_is_lost_is_never_more_urgent_than_what_stays(given_entries: list[Entry], capacity: int) -> None:
    queue = queue_of(capacity=capacity)
    for each in (one for one in given_entries if one.kind is Kind.FREE):
        for victim in queue.put(each):
            staying = [class_id for class_id in CLASSES if any(queue.backlog(class_id, source) for source in SOURCES)]
            assert CLASSES.index(victim.class_id) >= max(CLASSES.index(class_id) for class_id in staying)


def test_a_source_that_floods_a_class_loses_its_own_messages_and_waits_for_its_turn() -> None:
    queue = queue_of(capacity=10)
    flood = [entry(2, "flooding", Kind.FREE, True) for _ in range(50)]
    for each in flood:
        queue.put(each)
    mine = entry(2, "s1", Kind.FREE, True)
    assert [each.source for each in queue.put(mine)] == ["flooding"]
    assert [queue.pop(), queue.pop()] == [flood[0], mine]


def test_large_messages_fill_a_queue_before_their_number_does() -> None:
    queue = queue_of(capacity=4)
    large = [Entry(2, "s1", Kind.FREE, 4 * MEAN_BYTES, True, None) for _ in range(2)]
    assert queue.put(large[0]) == []
    assert queue.is_full
    assert queue.put(large[1]) == [large[1]]
    assert drain(queue) == [large[0]]
    assert not queue.is_full


@pytest.mark.parametrize(("number", "size_bytes"), [(HARD_LIMIT * 2, 100), (1, HARD_LIMIT * 2 * MEAN_BYTES)])
def test_a_queue_is_overfull_by_number_or_by_bytes(number: int, size_bytes: int) -> None:
    queue = queue_of(capacity=2)
    for _ in range(number):
        assert not queue.is_overfull()
        queue.put(Entry(1, "s1", Kind.FREE, size_bytes, False, None))
    assert queue.is_overfull()
    assert queue.is_overfull(2 * HARD_LIMIT) == (size_bytes > MEAN_BYTES)


def test_a_full_queue_refuses_what_is_least_urgent_and_takes_what_may_not_go() -> None:
    queue = queue_of(capacity=1)
    queue.put(entry(1, may_be_dropped=True, kind=Kind.FREE))
    low = entry(0, may_be_dropped=True, kind=Kind.FREE)
    assert queue.put(low) == [low]
    assert queue.put(entry(0)) == []
    assert queue.is_full


def test_a_barrier_holds_its_own_source_until_it_has_passed_and_nobody_else() -> None:
    queue = queue_of()
    barrier, after, other = entry(0, kind=Kind.BARRIER), entry(1), entry(0, "s2")
    for each in (barrier, after, other):
        queue.put(each)
    assert queue.pop() is barrier
    assert queue.pop() is other
    assert queue.pop() is None
    queue.barrier_passed("s1")
    assert queue.pop() is after


def test_only_the_classes_that_are_asked_for_leave() -> None:
    queue = queue_of()
    low, high = entry(0), entry(1)
    queue.put(low)
    queue.put(high)
    assert queue.pop(only=(0,)) is low
    assert queue.pop(only=(2,)) is None
    assert queue.pop() is high


@given(given_entries=entries(st.booleans()))
def test_a_source_that_is_removed_leaves_nothing_behind(given_entries: list[Entry]) -> None:
    queue = ClassQueue(CLASSES, Strict(), 1000)
    for each in given_entries:
        queue.put(each)
    removed = queue.remove_source("s1")
    assert sorted(map(id, removed)) == sorted(id(each) for each in given_entries if each.source == "s1")
    assert sorted(map(id, drain(queue))) == sorted(id(each) for each in given_entries if each.source == "s2")
    again = entry(0)
    queue.put(again)
    assert drain(queue) == [again]


def test_a_large_urgent_message_takes_the_place_of_as_many_small_ones_as_it_needs() -> None:
    queue = queue_of(capacity=4)
    for _ in range(4):
        queue.put(Entry(0, "s1", Kind.FREE, 2 * MEAN_BYTES - 1, True, None))
    urgent = Entry(1, "s1", Kind.FREE, 2 * MEAN_BYTES, True, None)
    assert len(queue.put(urgent)) >= 1
    assert len(queue.put(Entry(1, "s2", Kind.FREE, 2 * MEAN_BYTES, True, None))) >= 1
    assert queue.pop() is urgent
