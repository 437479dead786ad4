"""Namespaces of processes."""

from __future__ import annotations

import os
import sys

import pytest

from machine import places
from machine.places import CommandError, pin_receive, private_namespace, run_batch
from mininet_topos.errors import BadInputError
from tests.receivers import receivers_of
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


@pytest.mark.emulation
def test_one_processor_receives_what_an_interface_gets_and_others_are_as_before() -> None:
    usable = sorted(os.sched_getaffinity(0))
    with private_namespace() as pid:
        run_batch(pid, ["ip", "-batch", "-"], ["link add dev a type veth peer name b"])
        pin_receive(pid, {"b": usable[-1]})
        assert receivers_of(pid, ["a", "b"]) == {"a": [], "b": [usable[-1]]}
        with pytest.raises(BadInputError, match="processor 4096 is not one of"):
            pin_receive(pid, {"b": 4096})
        with pytest.raises(CommandError, match="/sys/class/net/c/"):
            pin_receive(pid, {"c": usable[0]})
