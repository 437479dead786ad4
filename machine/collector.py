"""Python's collector of cyclic garbage, out of the way of plans."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Plans are hundreds of thousands of small values without cycles: collecting among them takes a third of the time.

    In forked workers it would also copy the pages that all share.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
