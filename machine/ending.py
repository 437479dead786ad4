"""Signals that end a program (Ctrl-C, SIGTERM, SIGHUP): the first unwinds it, and none cuts short what it undoes.

A signal that the program was started with as ignored (`nohup`, a shell's background job) stays ignored.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
KILLED_WORKER = "a worker process was killed, for want of memory perhaps; ask for fewer {}"
_UNDOING_S = 10.0  # networks of a busy machine are gone after three
_INSIST_S = 1.0
_PR_SET_PDEATHSIG = 1  # prctl(2)


class Ending:
    """How a program takes the signals that end it, while the block lasts.

    The first is a KeyboardInterrupt. Where a library swallows that, another follows a second later, until one unwinds
    the program. Signals that come within ten seconds after the first are taken for the same request and change nothing,
    so that clean-up ends.

    Parameters
    ----------
    for_good
        Whether the block is all that the process does: signals that come after it then end the process without a word,
        and what was set is not set back.
    """

    def __init__(self, *, for_good: bool = False) -> None:
        self.heard = False
        self._for_good, self._is_over = for_good, False
        self._heard_s = float("-inf")
        self._before: dict[int, Any] = {}
        self._unraisable = sys.unraisablehook

    def __enter__(self) -> Ending:
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._hear)
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._insist)
        sys.unraisablehook = self._pass_on
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over()
        if not self._for_good:
            for number, handler in self._before.items():
                signal.signal(number, handler)
            sys.unraisablehook = self._unraisable
        elif self.heard:
            atexit.register(_ignore_ending)  # Python's own last steps set handlers back to what ends a process
            # An interrupt inside `exec` of a text, as dataclasses use it, counts as unhandled for CPython: `python -m`
            # would end by SIGINT whatever the exit code. The next `exec` clears that (run_eval_code_obj, pythonrun.c).
            exec("")

    def over(self) -> None:
        """Let no further signal interrupt: the work is done, or undone."""
        self._is_over = True
        if self.heard:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if now_s - self._heard_s < _UNDOING_S:
            return
        self.heard, self._heard_s = True, now_s
        if not self._is_over:
            signal.setitimer(signal.ITIMER_REAL, _INSIST_S, _INSIST_S)
            raise KeyboardInterrupt
        if self._for_good:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _insist(self, _number: int, _frame: FrameType | None) -> None:
        if not self._is_over and not _is_unwinding():
            raise KeyboardInterrupt

    def _pass_on(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Say nothing of an interrupt that came while Python was freeing something: another follows."""
        if not (self.heard and isinstance(unraisable.exc_value, KeyboardInterrupt)):
            self._unraisable(unraisable)


def _ignore_ending() -> None:
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def _is_unwinding() -> bool:
    """Whether the calling thread is ending for an interrupt, whatever went wrong on the way."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
        error = error.__context__
    return error is not None


@contextmanager
def ending_waits() -> Iterator[None]:
    """Let signals that end wait until the block, which undoes something, is over.

    What waited then does what it would have done; nothing, where the program was unwinding already.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals interrupt the main thread only
        return
    waiting: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: waiting.append(number))
        # The alarm repeats an interrupt that nobody heeded.
        for number in (*ENDING, signal.SIGALRM)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if waiting and not _is_unwinding():
            signal.raise_signal(waiting[0])


@contextmanager
def ending_held() -> Iterator[None]:
    """Let signals that end wait until the block is over; a process started in it begins with them held back as well."""
    with ending_waits():  # whatever thread the kernel gives them to
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_ending_to_parent(parent: int) -> None:
    """Make this process a worker: Ctrl-C and a closed terminal are for its parent, whose SIGTERM or end ends it.

    Parameters
    ----------
    parent
        Process id of the parent, which started this process within `ending_held`.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    end_with_parent(parent)


def end_with_parent(parent: int) -> None:
    """Let the kernel end this process when the thread that started it is gone.

    Parameters
    ----------
    parent
        Process id of the parent, as it was at the start.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it ended before the kernel knew
        os.kill(os.getpid(), signal.SIGKILL)
