"""Who has much to do gives way: messages of one read, and events that wait for an app, let others run between."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from ryu.lib import hub

from ryu_apps.control import datapath, turns
from ryu_apps.control.datapath import MessageApp, MessageReceived, ServedDatapath, read_messages
from ryu_apps.control.decide.asked import Asked
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import VERSION

pytestmark = pytest.mark.ryu
ENDLESS_S = 1e9


def runs_beside(steps: list[str]) -> None:
    """Another greenlet, that writes down each of its turns."""

    def other() -> None:
        while len(steps) < 20:
            steps.append("other")
            hub.sleep(0)

    hub.spawn(other)


def test_work_adds_up_until_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 0.3, 1.0, 1.3, 2.0, 2.1))
    monkeypatch.setattr(turns, "TURN_S", 0.5)
    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    steps: list[str] = []
    runs_beside(steps)
    served = turns.Turns()
    for _ in range(3):
        served.do(lambda: steps.append("work"))
    assert steps == ["work", "work", "other", "work"]


@pytest.mark.parametrize(("turn_s", "expected"), [(0.0, ["message", "other"] * 3), (ENDLESS_S, ["message"] * 3)])
def test_messages_that_come_with_one_read_let_others_run(
    turn_s: float, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "TURN_S", turn_s)
    given = [3 * encode.hello(), b""]
    steps: list[str] = []
    runs_beside(steps)
    served: Any = object.__new__(ServedDatapath)
    served._turns, served._asked, served.ofproto = turns.Turns(), Asked(), SimpleNamespace(OFP_VERSION=VERSION)
    served.deliver = lambda _message: steps.append("message")
    read_messages(SimpleNamespace(recv=lambda _size: given.pop(0)), lambda: True, served.receive)
    assert steps == expected


@pytest.mark.parametrize(("turn_s", "expected"), [(0.0, ["event", "other"] * 3), (ENDLESS_S, ["event"] * 3)])
def test_events_that_wait_for_an_app_let_others_run(
    turn_s: float, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    class Counting(MessageApp):
        def message_received(self, _event: MessageReceived) -> None:
            if not steps:
                runs_beside(steps)
            steps.append("event")

    monkeypatch.setattr(turns, "TURN_S", turn_s)
    monkeypatch.setattr(datapath, "serve_with", lambda _datapath_class: None)
    monkeypatch.setattr(datapath, "_APPS", set())
    observed = SimpleNamespace(register_observer=lambda *_given: None)
    monkeypatch.setattr(datapath.app_manager, "lookup_service_brick", lambda _name: observed)
    app = Counting()
    for _ in range(3):
        app._send_event(MessageReceived(None, None), None)
    app.start()
    try:
        while len(steps) < 20:
            hub.sleep(0)
        assert steps[: len(expected)] == expected
    finally:
        app.stop()
