"""Streams that are disturbed on the way: by how far they have come, not by the clock, and they outlast what is done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tests.patience import wait_until

AFTERWARDS = 50  # pieces of a stream that are sent when everything has been done to it
Result = TypeVar("Result")


class Progress:
    """How many pieces a stream has sent; the stream tells each time, and hears whether that is enough."""

    def __init__(self) -> None:
        self.sent = 0
        self._last: int | None = None

    def __call__(self, sent: int) -> bool:
        self.sent = sent
        return self._last is not None and sent >= self._last

    def wait(self, pieces: int) -> None:
        """Wait until so many more have been sent."""
        wanted = self.sent + pieces
        wait_until(lambda: self.sent >= wanted, f"the stream sends {pieces} pieces more", 60)

    def finish(self) -> None:
        """Let the stream end, a little later."""
        self._last = self.sent + AFTERWARDS


def disturbed(sending: Callable[[Progress], Result], disturb: Callable[[Progress], None]) -> Result:
    """What sending returns, which something was done to meanwhile."""
    progress = Progress()
    with ThreadPoolExecutor(1) as pool:
        outcome = pool.submit(sending, progress)
        try:
            disturb(progress)
        finally:
            progress.finish()
        return outcome.result()
