"""Cases shared out among worker processes, which end with the process that started them, however it ends."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from experiments.verify.result import Tally
from experiments.verify.verifier import Verifier
from machine.ending import KILLED_WORKER, ending_held, ending_waits, leave_ending_to_parent
from mininet_topos.errors import ArmorError

_shared: list[Verifier] = []  # inherited by forked workers: plans are too large to send


def tallies(verifier: Verifier, batches: list[list[int]], jobs: int) -> Iterator[Tally]:
    """What comes of each batch of failures, in their order, by `jobs` processes (by this one, if it is 1)."""
    if jobs == 1:
        yield from map(verifier.tally, batches)
        return
    _shared[:] = [verifier]
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), leave_ending_to_parent, (os.getpid(),))
    found: deque[Future[Tally]] = deque()
    try:
        with ending_held():  # all workers are forked here
            found.extend(pool.submit(_tally_of, batch) for batch in batches)
        while found:
            yield found[0].result()
            found.popleft()
    except BrokenProcessPool as error:
        raise ArmorError(KILLED_WORKER.format("--jobs")) from error
    finally:
        with ending_waits():
            # What is left is not cancelled: the pool's own thread would stumble over it as it gives up the workers.
            for worker in set(multiprocessing.active_children()) - others if found else ():
                worker.terminate()
            pool.shutdown()  # waits for that thread, since Python would stumble over it as it ends
            _shared.clear()


def _tally_of(masks: list[int]) -> Tally:
    return _shared[0].tally(masks)
