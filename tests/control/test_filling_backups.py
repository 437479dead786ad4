"""A backup database that does not take a plan at first gets the plan that its switch has by then."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from machine.event_log import EventLog
from mininet_topos.errors import ArmorError
from ryu_apps.control import backup_filler, retrying
from ryu_apps.control.backup_filler import BackupFiller
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
        Store.written.append(plan)
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
