"""A switch that does not answer delays no other, and is not asked again meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from ryu.lib import hub

from ryu_apps.control.asking import Asking

pytestmark = pytest.mark.ryu


def switch(node: str) -> Any:
    """Equal to itself alone, as `Switch` is."""
    return type("Stand", (SimpleNamespace,), {"__hash__": object.__hash__, "__eq__": object.__eq__})(node=node)


def turns() -> None:
    for _turn in range(5):
        hub.sleep(0)


def test_a_silent_switch_delays_no_other_and_is_asked_again_once_it_has_answered() -> None:
    answers, asked, present = hub.Event(), [], [switch("s1"), switch("s2")]

    def ask(one: Any) -> None:
        asked.append(one.node)
        if one.node == "s1":
            answers.wait()

    asking = Asking(lambda: present, ask)
    for _time in range(3):
        asking.everyone()
        turns()
    assert asked == ["s1", "s2", "s2", "s2"]
    answers.set()
    turns()
    asking.everyone()
    turns()
    assert asked[4:] == ["s1", "s2"]


def test_a_switch_that_connects_again_is_asked_although_its_older_connection_is_silent() -> None:
    answers, asked, present = hub.Event(), [], [switch("s1")]

    def ask(one: Any) -> None:
        asked.append(one)
        answers.wait()

    asking = Asking(lambda: present, ask)
    asking.everyone()
    turns()
    present[:] = [switch("s1")]
    asking.everyone()
    turns()
    assert asked[1:] == present
    answers.set()
    turns()


def test_an_error_does_not_keep_a_switch_from_being_asked_again() -> None:
    asked, one = [], switch("s1")

    def ask(each: Any) -> None:
        asked.append(each)
        raise RuntimeError("s1")

    asking = Asking(lambda: [one], ask)
    for _time in range(2):
        asking.everyone()
        turns()
    assert asked == [one, one]
