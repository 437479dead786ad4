"""Cases shared out among worker processes, which end with the process that started them, however it ends."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from experiments.verification.result import Tally
from experiments.verification.verifier import Verifier
from mininet_topos.errors import ArmorError

_ENDING = frozenset({signal.SIGINT, signal.SIGHUP, signal.SIGTERM})
_PR_SET_PDEATHSIG = 1  # prctl(2)

_shared: list[Verifier] = []  # inherited by forked workers: plans are too large to send


def tallies(verifier: Verifier, batches: list[list[int]], jobs: int) -> Iterator[Tally]:
    """What comes of each batch of failures, in their order, by `jobs` processes (by this one, if it is 1)."""
    if jobs == 1:
        yield from map(verifier.tally, batches)
        return
    _shared[:] = [verifier]
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), _leave_ending_to_parent, (os.getpid(),))
    found: deque[Future[Tally]] = deque()
    try:
        with _ending_held():  # all workers are forked here
            found.extend(pool.submit(_tally_of, batch) for batch in batches)
        while found:
            yield found[0].result()
            found.popleft()
    except BrokenProcessPool as error:
        raise ArmorError("a worker process was killed, for want of memory perhaps; ask for fewer --jobs") from error
    finally:
        # What is left is not cancelled: the pool's own thread would stumble over it as it gives up the ended workers.
        for worker in set(multiprocessing.active_children()) - others if found else ():
            worker.terminate()
        pool.shutdown(wait=not found)
        _shared.clear()


def _tally_of(masks: list[int]) -> Tally:
    return _shared[0].tally(masks)


def _leave_ending_to_parent(parent: int) -> None:
    """Ctrl-C and a closed terminal are for the parent; its SIGTERM, or its death, ends a worker without a word."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it died before the kernel knew
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def _ending_held() -> Iterator[None]:
    """Signals that end come after this block; a worker forked in it gets none before it has set its own ways."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
