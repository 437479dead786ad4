"""Rows that change again while the messages of a change are still being sent: the switch ends with the last ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("ryu")
from ryu.lib import hub

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.messages import message_of
from ryu_apps.control.route_configuration import SwitchRoutes, _There
from ryu_apps.plan.diff import Command, Operation
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import FlowRow, RulePlan
from ryu_apps.schemes import plan_network

pytestmark = pytest.mark.ryu
ROWS = plan_network("shortest", load_topology("figure2"), PlanOptions())[2].flows[:6]
PLAN = RulePlan(2, "s2", flows=())
MEANING = {message_of(Command(operation, row)): (operation, row) for operation in Operation for row in ROWS}


class SlowChannel:
    """Carries out messages, and lets others run after each, as a full connection does after each chunk."""

    def __init__(self) -> None:
        self.table: set[FlowRow] = set()

    def send(self, messages: Iterable[bytes]) -> Callable[[], None]:
        for message in messages:
            operation, row = MEANING[message]
            (self.table.discard if operation is Operation.DELETE else self.table.add)(row)
            hub.sleep(0)
        return lambda: None


@given(st.lists(st.lists(st.sampled_from(ROWS), unique=True).map(tuple), min_size=1, max_size=5))
def test_the_last_of_several_changes_holds_although_they_overlap(changes: list[tuple[FlowRow, ...]]) -> None:
    channel = SlowChannel()
    routes = SwitchRoutes(PLAN, channel, None)
    routes._there = _There(PLAN, (), {})
    senders = []
    for rows in changes:
        senders.append(hub.spawn(routes.restore, rows))
        hub.sleep(0)
    for sender in senders:
        sender.wait()
    assert channel.table == set(changes[-1])
