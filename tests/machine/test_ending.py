"""Signals that end a program: the first interrupts, none cuts a clean-up short, and none that was ignored is heard."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.runfile import ProcessId, is_alive, start_ticks
from machine import ending
from machine.ending import ENDING, Ending, ending_held, ending_waits
from tests.patience import patient_s, wait_until
from tests.signals import heard_as_from_a_terminal


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """As in a program started from a terminal."""
    with heard_as_from_a_terminal():
        yield


@pytest.mark.parametrize("number", ENDING)
def test_the_first_signal_interrupts_and_the_next_ones_leave_the_undoing_alone(number: signal.Signals) -> None:
    undone: list[int] = []

    def work() -> None:
        try:
            signal.raise_signal(number)
        finally:
            for again in ENDING:
                signal.raise_signal(again)
                undone.append(again)

    with pytest.raises(KeyboardInterrupt), Ending() as signals:
        work()
    assert signals.heard
    assert undone == list(ENDING)


def test_a_signal_long_after_one_that_was_swallowed_interrupts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(ending.time, "monotonic", lambda: now_s)
    monkeypatch.setattr(ending, "_INSIST_S", 600.0)  # nothing follows by itself
    with Ending() as signals:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        now_s += 60
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signals.heard


def test_an_interrupt_that_is_swallowed_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "_INSIST_S", 0.01)

    class Freed:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def work() -> None:
        Freed()
        with contextlib.suppress(BaseException):
            signal.pause()
        signal.pause()

    shown: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", shown.append)
    with pytest.raises(KeyboardInterrupt), Ending():  # within: outside it, what is expected here is swallowed again
        work()
    assert not shown


def test_no_other_interrupt_follows_while_the_first_one_unwinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "_INSIST_S", 0.01)
    ldis = 0

    def clean_up() -> None:
        nonlocal ldis
        try:
            raise ValueError("of the clean-up itself")
        except ValueError:
            while ldis < 3:  # SIGALRM ends the pause
                signal.pause()
                ldis += 1

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            clean_up()

    with pytest.raises(KeyboardInterrupt), Ending():
        work()
    assert ldis == 3
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_was_set_is_set_back_and_what_was_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    before = {number: signal.getsignal(number) for number in ENDING}
    with Ending() as signals, ending_waits():
        signal.raise_signal(signal.SIGHUP)
    assert not signals.heard
    assert {number: signal.getsignal(number) for number in ENDING} == before


@pytest.mark.parametrize("hold", [ending_waits, ending_held])
def test_a_signal_during_a_clean_up_interrupts_when_that_is_over(hold) -> None:
    undone: list[str] = []

    def clean_up() -> None:
        with hold():
            signal.raise_signal(signal.SIGTERM)
            undone.append("all")

    with pytest.raises(KeyboardInterrupt):
        clean_up()
    assert undone == ["all"]
    with hold():
        pass  # it came once


@pytest.mark.parametrize("hold", [ending_waits, ending_held])
def test_a_signal_during_the_clean_up_of_an_interrupt_adds_nothing(hold) -> None:
    def work() -> None:
        try:
            raise KeyboardInterrupt("first")
        finally:
            with hold():
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="first"):
        work()


def test_a_process_started_while_signals_are_held_begins_with_them_held() -> None:
    show = [
        sys.executable,
        "-c",
        "import signal; print(sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))",
    ]
    with ending_held():
        held = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    assert held == f"{sorted(map(int, ENDING))}\n"


def test_a_process_ends_with_the_one_that_started_it() -> None:
    child = """
import os, time
from machine.ending import end_with_parent
end_with_parent(os.getppid())
print(os.getpid(), flush=True)
time.sleep(600)
"""
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", starts], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        ticks = start_ticks(pid)
        assert ticks is not None
        parent.kill()
    wait_until(lambda: not is_alive(ProcessId(pid, ticks)), "the child has ended", 60)


def test_an_interrupt_inside_the_execution_of_a_text_leaves_the_exit_code(tmp_path: Path) -> None:
    program = """
import signal, sys
from machine.ending import Ending
with Ending(for_good=True) as signals:
    try:
        exec("signal.raise_signal(signal.SIGTERM)")  # as a dataclass does when it is made
    except KeyboardInterrupt:
        pass
sys.exit(130 if signals.heard else 0)
"""
    (tmp_path / "program.py").write_text(program)
    words = [sys.executable, "-m", "program"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=patient_s(30))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# After its work a program for good hears a signal as if it had no handler; one that it ended by changes nothing more.
@pytest.mark.parametrize(("first", "code"), [("None", -signal.SIGTERM), ("signal.SIGINT", 130)])
def test_a_signal_while_the_interpreter_ends_prints_no_traceback(first: str, code: int) -> None:
    program = f"""
import atexit, signal, sys
from machine.ending import Ending
atexit.register(lambda: signal.raise_signal(signal.SIGTERM))  # Python 3.10 handles it between two of its own steps
with Ending(for_good=True) as signals:
    try:
        if {first}:
            signal.raise_signal({first})
    except KeyboardInterrupt:
        pass
sys.exit(130 if signals.heard else 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=patient_s(30)
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
