"""Namespaces of processes."""

from __future__ import annotations

import sys

import pytest

from machine import places
from machine.places import CommandError, private_namespace
from tests.rights import with_capabilities


def test_a_namespace_that_the_system_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "ENDS_WITH_ITS_PARENT", ("false",))  # ends as unshare does for an ordinary user
    for _ in range(20):  # whether it has ended at the first look or later
        with pytest.raises(CommandError, match="namespaces need root"), private_namespace():
            pass


def test_programs_are_out_of_reach_of_the_terminal() -> None:
    show = [sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid(), flush=True)"]
    assert places.run_program(show) == "True\n"
    with places.child(show) as process:
        assert process.stdout is not None
        assert process.stdout.read() == "True\n"


def test_who_has_no_right_to_enter_a_namespace_works_in_its_own() -> None:
    show = "import os; from machine.places import call_inside; print(call_inside(os.getpid(), lambda: 7))"
    assert places.run_program(with_capabilities((), [sys.executable, "-c", show])) == "7\n"
