"""Port states that come while a rewriting is computed: the next one is for all of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from ryu.lib import hub

from machine.event_log import EventLog
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import LinkId
from ryu_apps.control import restorer
from ryu_apps.control.decide.live_topology import Expected
from ryu_apps.control.decide.returning import ReturnState
from ryu_apps.control.faults import Faults
from ryu_apps.control.restorer import Restorer

pytestmark = pytest.mark.ryu
TOOK_S = 1.0
LINK_ENDS = Expected(load_topology("darkstrand")).link_ends


class Rewriting:
    """Notes what is avoided; each rewriting takes a second."""

    def __init__(self, clock: SimpleNamespace) -> None:
        self.clock, self.avoided = clock, list[frozenset[LinkId]]()

    def avoid(self, links: frozenset[LinkId]) -> None:
        self.clock.now_s += TOOK_S
        self.avoided.append(links)

    def rows_at(self, _dpid: int) -> tuple[()]:
        return ()

    def change_at(self, _dpid: int) -> None:
        return None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now_s=100.0)
    monkeypatch.setattr(restorer, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    return clock


@pytest.fixture
def rewriting(clock: SimpleNamespace) -> Rewriting:
    return Rewriting(clock)


@pytest.fixture
def restoring(rewriting: Rewriting) -> Restorer:
    events = EventLog("controller", None)
    return Restorer(rewriting, ReturnState(LINK_ENDS), events, Faults(events, logging.getLogger("test")), dict)


def fail(restoring: Restorer, links: list[LinkId], after_turns: int) -> None:
    """Report one end of each link, and let others run after each report, as the app's loop of events does."""
    for link in links:
        restoring.ports_known({LINK_ENDS[link][0]: False})
        for _ in range(after_turns):
            hub.sleep(0)


def turns(condition: Callable[[], bool]) -> int:
    """Turns of the event loop until a condition holds."""
    for number in range(1000):
        if condition():
            return number
        hub.sleep(0)
    raise AssertionError("it never holds")


@pytest.mark.parametrize("after_turns", [1, 2])
def test_what_failed_while_a_rewriting_was_computed_shares_the_next(
    restoring: Restorer, rewriting: Rewriting, after_turns: int
) -> None:
    first, *others = LINK_ENDS
    restoring.ports_known({LINK_ENDS[first][0]: False})
    turns(lambda: bool(rewriting.avoided))
    fail(restoring, others, after_turns)
    turns(lambda: rewriting.avoided[-1] == frozenset(LINK_ENDS))
    assert rewriting.avoided == [{first}, frozenset(LINK_ENDS)]


def test_one_failure_is_rewritten_for_at_once(
    restoring: Restorer, rewriting: Rewriting, clock: SimpleNamespace
) -> None:
    for number, link in enumerate(list(LINK_ENDS)[:3], 1):
        restoring.ports_known({LINK_ENDS[link][0]: False})
        assert turns(lambda count=number: len(rewriting.avoided) == count) == 1
        clock.now_s += 2 * TOOK_S


def test_failures_without_end_keep_no_rewriting_waiting_longer_than_the_last_one_took(
    restoring: Restorer, rewriting: Rewriting, clock: SimpleNamespace
) -> None:
    link = next(iter(LINK_ENDS))
    restoring.ports_known({LINK_ENDS[link][0]: False})
    turns(lambda: bool(rewriting.avoided))
    began_s, others = clock.now_s, list(LINK_ENDS)[1:]
    while len(rewriting.avoided) == 1:
        fail(restoring, [others.pop()], after_turns=1)
        clock.now_s += TOOK_S / 10
    assert clock.now_s - began_s <= 2 * TOOK_S + TOOK_S / 5
