"""Protected flows change at a controller with made-up switches and nodes, some of which refuse."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from ryu.lib import hub

from dataplane.model.node_lines import NodeError
from ryu_apps.control import protection
from ryu_apps.control.channel import SwitchGoneError
from ryu_apps.control.decide.settings import Settings
from ryu_apps.control.protection import ProtectController
from ryu_apps.control.route_configuration import SwitchRoutes, _There
from ryu_apps.control.switch import Switch
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import find_scheme
from tests.patience import patient_s

pytestmark = pytest.mark.ryu
ADD = json.dumps({"add": [{"from": "s1", "to": "s3", "both_ways": False}]})
ADD_ELSEWHERE = json.dumps({"add": [{"from": "s2", "to": "s4", "both_ways": False}]})


class MadeUpChannel:
    """Carries everything out, or answers nothing while it is `silent`."""

    def __init__(self) -> None:
        self.silent = self.closed = False
        self.posts_dropped = 0
        self.datapath = SimpleNamespace(address=("127.0.0.1", 1))

    def apply(self, messages: Iterable[bytes]) -> None:
        """Send messages."""
        hub.sleep(0)
        if self.silent:
            raise SwitchGoneError("no answer")
        list(messages)

    apply_at_once = apply

    def dump(self, *_request: object, **_filters: int) -> list[object]:
        """Read the switch, which looks empty."""
        self.apply(())
        return []


class Nodes:
    """Nodes of 1+1 protection that serve what they are asked to; those in `refusing` say that they do not."""

    def __init__(self) -> None:
        self.refusing: set[str] = set()
        self.saying: dict[str, Any] = {}
        self.asked: list[str] = []
        self._rows: dict[str, list[Any]] = {}

    def exchange(self, node: str, request: Any) -> Any:
        """Answer as a node does, or what it is made to say."""
        if node in self.saying:
            return self.saying[node]
        if request:
            self.asked.append(node)
            if node in self.refusing:
                return {"error": "it has no room"}
            self._rows[node] = request["connections"]
        rows = self._rows.get(node, [])
        return {"epoch": "a", "configured": node in self._rows, "connections": rows, "sending": [], "receiving": []}


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    found = Nodes()
    monkeypatch.setattr(protection, "exchange", found.exchange)
    monkeypatch.setattr(protection, "CONFIGURE_S", patient_s(1))
    return found


@pytest.fixture
def controller(nodes: Nodes) -> Iterator[ProtectController]:
    settings = Settings("square", PlanOptions(), protect_nodes="{node}")
    made = ProtectController(find_scheme("protect"), settings, logging.getLogger("test"))
    for dpid, plan in made.plans.items():
        channel: Any = MadeUpChannel()
        routes = SwitchRoutes(plan, channel, made.events)
        routes._there = _There(plan, (), {})
        made.switches[plan.node] = Switch(plan.node, dpid, channel, routes)
    yield made
    for switch in made.switches.values():
        switch.channel.closed = True


def all_hold(controller: ProtectController) -> bool:
    """Whether every switch holds the plan that the controller has for it."""
    held = (switch.routes for switch in controller.switches.values())
    return all(routes.holds_plan() and routes.plan == controller.plans[routes.plan.dpid] for routes in held)


def test_a_flow_is_protected_once_switches_and_nodes_have_confirmed(controller: ProtectController) -> None:
    before = dict(controller.plans)
    controller.change_protection(ADD)
    assert [(flow.source, flow.destination) for flow in controller.protection.flows] == [("s1", "s3")]
    assert all_hold(controller)
    changed = [plan.node for dpid, plan in controller.plans.items() if plan != before[dpid]]
    assert {"s1", "s3"} <= set(changed)
    assert controller.switches["s1"].state()["rows"] == len(controller.wanted_plan(1).flows)


def test_a_switch_that_does_not_confirm_is_named_and_the_flow_stays_as_it_was(controller: ProtectController) -> None:
    controller.switches["s1"].channel.silent = True
    before = dict(controller.plans)
    with pytest.raises(NodeError, match=r"no confirmation .* from s1$"):
        controller.change_protection(ADD)
    assert controller.protection.flows == ()
    assert controller.plans == before
    controller.switches["s1"].channel.silent = False
    controller.change_protection(ADD)
    assert all_hold(controller)


def test_a_node_whose_socket_is_another_user_s_is_reported(
    controller: ProtectController, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_request: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(protection, "exchange", refused)
    controller._ask("s1", {}, {})
    assert "Permission denied" in controller.faults.recent[-1].text


def test_nobody_waits_for_a_switch_that_has_gone_meanwhile(controller: ProtectController) -> None:
    controller.switches["s1"].channel.silent = True
    hub.spawn_after(0, setattr, controller.switches["s1"].channel, "closed", True)
    controller.change_protection(ADD)
    assert [(flow.source, flow.destination) for flow in controller.protection.flows] == [("s1", "s3")]


def test_a_node_that_refuses_ends_this_change_and_not_the_next(controller: ProtectController, nodes: Nodes) -> None:
    nodes.refusing = {"s3"}
    with pytest.raises(NodeError, match="does not answer"):
        controller.change_protection(ADD)
    assert controller.protection.flows == ()
    assert {"s1", "s3"} <= set(nodes.asked)
    assert any("it has no room" in fault.text for fault in controller.faults.recent)
    controller.change_protection(ADD_ELSEWHERE)
    assert [(flow.source, flow.destination) for flow in controller.protection.flows] == [("s2", "s4")]
    nodes.refusing = set()
    controller.change_protection(ADD)
    assert len(controller.protection.connections) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"connections": [[None, "a", "b", 1], ["x", "a", "b", 1]]},
        {"connections": [[[1], "a", "b", 1]]},
        {"receiving": [{"number": 3, "last": "x"}]},
        {"sending": [{"number": 1, "egress": "10.254.0.3", "last": 1 << 40, "sent": 0}]},
    ],
    ids=["unlike rows", "a list for a number", "text for a number", "a number too large"],
)
def test_a_node_that_answers_nonsense_keeps_no_other_from_its_connections(
    controller: ProtectController, nodes: Nodes, wrong: dict[str, Any]
) -> None:
    controller.change_protection(ADD)
    nodes.saying["s1"] = {
        "epoch": "a",
        "configured": True,
        "connections": [],
        "sending": [],
        "receiving": [],
        **wrong,
    }
    nodes.asked.clear()
    controller.change_protection(ADD_ELSEWHERE)
    assert {"s2", "s4"} <= set(nodes.asked)
    assert any("what is no state" in fault.text for fault in controller.faults.recent)
    assert len(controller.protection_state()["connections"]) == 2
