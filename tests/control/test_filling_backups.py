"""A backup database that does not take a plan at first, or loses it, gets the plan that its switch has by then."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from ryu.lib import hub

from machine.event_log import EventLog
from mininet_topos.errors import ArmorError
from ryu_apps.control import backup_filler, retrying
from ryu_apps.control.backup_filler import BackupFiller
from ryu_apps.control.controller import Controller
from ryu_apps.control.faults import Faults
from ryu_apps.plan.rows import RulePlan

pytestmark = pytest.mark.ryu
OLD, NEW = RulePlan(1, "s1", flows=()), RulePlan(1, "s1", flows=(), groups=())


class Store:
    """Refuses `refused` writes before it takes one."""

    refused = 0
    written: list[RulePlan]

    def __init__(self, remote: str) -> None:
        assert remote == "unix:/s1.sock"

    def replace_plan(self, _bridge: str, plan: RulePlan, _ports: object) -> int:
        """Take or refuse a plan."""
        if Store.refused:
            Store.refused -= 1
            raise ArmorError("no server")
        hub.sleep(0)  # others may run meanwhile, as while a server is awaited
        Store.written.append(plan)
        return len(Store.written)

    def generation(self, bridge: str) -> int:
        """How many plans it has taken."""
        assert bridge == "s1"
        return len(Store.written)


@pytest.fixture
def filler(monkeypatch: pytest.MonkeyPatch) -> BackupFiller:
    Store.written = []
    monkeypatch.setattr(backup_filler, "BackupStore", Store)
    monkeypatch.setattr(retrying, "FIRST_RETRY_S", 0.001)
    events = EventLog("controller")
    return BackupFiller(Faults(events, logging.getLogger("test")), events)


def test_a_retried_write_writes_the_plan_that_the_switch_has_by_then(filler: BackupFiller) -> None:
    Store.refused = 2
    plans = iter([OLD, OLD, NEW])
    filler.fill("unix:/s1.sock", "s1", lambda: next(plans), {}, lambda: True)
    assert len(Store.written) == 1
    assert Store.written[0] is NEW
    assert (filler.generation, filler.unacknowledged) == ({"s1": 1}, set())


def test_a_write_that_nobody_waits_for_any_more_is_not_tried_again(filler: BackupFiller) -> None:
    Store.refused = 9
    wanted = iter([True, True, False])
    filler.fill("unix:/s1.sock", "s1", lambda: OLD, {}, lambda: next(wanted))
    assert (Store.written, Store.refused) == ([], 7)
    assert filler.unacknowledged == {"s1"}


def test_of_two_writers_at_once_the_later_writes_the_plan_of_its_own_turn(filler: BackupFiller) -> None:
    Store.refused = 0
    has = [OLD]
    first, second = (hub.spawn(filler.fill, "unix:/s1.sock", "s1", lambda: has[0], {}, lambda: True) for _ in range(2))
    hub.sleep(0)
    has[0] = NEW  # while the first writes
    hub.joinall([first, second])
    assert [one is OLD for one in Store.written] == [True, False]
    assert Store.written[1] is NEW


def test_a_plan_that_was_acknowledged_and_has_gone_is_missed(filler: BackupFiller) -> None:
    Store.refused = 0
    assert not filler.has_lost("unix:/s1.sock", "s1")  # nothing was written yet
    filler.fill("unix:/s1.sock", "s1", lambda: OLD, {}, lambda: True)
    assert not filler.has_lost("unix:/s1.sock", "s1")
    Store.written = []
    assert filler.has_lost("unix:/s1.sock", "s1")
    filler.unacknowledged.add("s1")  # somebody is about to write
    assert not filler.has_lost("unix:/s1.sock", "s1")


def test_a_database_that_was_emptied_is_filled_again() -> None:
    filled: list[Any] = []
    faults = Faults(EventLog("controller"), logging.getLogger("test"))
    controller: Any = SimpleNamespace(
        settings=SimpleNamespace(backup_remote=lambda node, _control_ip: node),
        backups=SimpleNamespace(has_lost=lambda remote, _node: remote == "s2"),
        faults=faults,
        fill_backup=filled.append,
    )
    switches = [SimpleNamespace(node=node, control_ip="127.0.0.1") for node in ("s1", "s2")]
    for switch in switches:
        Controller._fill_if_lost(controller, switch)
    assert filled == switches[1:]
    assert [fault.node for fault in faults.recent] == ["s2"]
