"""Signals in tests: heard as a program started from a terminal hears them, whatever the tests were started from."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from machine.ending import ENDING


@contextmanager
def heard_as_from_a_terminal() -> Iterator[None]:
    """Every signal that ends a program interrupts it, until the block is over; a background job would ignore Ctrl-C."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
