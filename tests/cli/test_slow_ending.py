"""What follows an interrupt may take its time."""

from __future__ import annotations

import io
import signal
import sys
import time

from experiments.cli import main as program
from machine import ending
from tests.signals import heard_as_from_a_terminal


class SlowTerminal(io.StringIO):
    """Takes longer than the time after which an interrupt is repeated to a program that swallowed it."""

    def write(self, text: str) -> int:
        time.sleep(0.02)
        return super().write(text)


def test_an_interrupt_is_not_repeated_once_the_command_has_unwound(monkeypatch):
    monkeypatch.setattr(ending, "_INSIST_S", 0.001)
    monkeypatch.setattr(program, "_dispatch", lambda _argv: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(sys, "stderr", terminal := SlowTerminal())
    with heard_as_from_a_terminal():
        assert program.main(["any"]) == program.INTERRUPTED
    assert terminal.getvalue() == "armor: interrupted\n"
