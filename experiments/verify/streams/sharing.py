"""What one packet's notification saves all others: packets of all cases of a failure, round after round."""

from __future__ import annotations

import numpy as np

from experiments.verify.growable_arrays import Interner, Ints, join
from experiments.verify.result import Notifying
from experiments.verify.streams.packet_stream import MAX_PACKETS, PacketStream, Walks
from experiments.verify.wiring import Wiring

_TAG_BITS = 12


def settle_together(
    stream: PacketStream, first: Walks, start: Ints, failed_set: Ints, n_sets: int
) -> tuple[Walks, Ints]:
    """Like `PacketStream.settle`, where every notification reaches the switches of all cases of its failure.

    Parameters
    ----------
    stream
    first
        The first packet of every case, each as if it were the only one.
    start, failed_set : int array, shape (cases,)
    n_sets

    Returns
    -------
    Walks
        The settled packets.
    int array, shape (failed sets,)
        In which round, counted from 1, the last packet of anybody backtracked; 0 if none did.
    """
    last, rounds = first.copy(), np.zeros(n_sets, dtype=np.int64)
    restless = np.arange(len(start))
    shared = Interner()
    for number in range(1, MAX_PACKETS + 1):
        rounds[failed_set[restless[last.back_hops[restless] > 0]]] = number
        known = len(shared)
        shared.intern(stream.notified)
        fresh = shared.codes[known:]
        case, news = join(failed_set, fresh >> _TAG_BITS)
        changed = last.changed.copy()
        taught = stream.notify(case, fresh[news] & (1 << _TAG_BITS) - 1, start[case])
        np.logical_or.at(changed, case, taught)
        restless = np.flatnonzero(changed)
        if not len(restless):
            break
        last.update(restless, stream.send(restless, start[restless]))
    return last, rounds


def notifying(stream: PacketStream, rounds: Ints, failed: list[list[int]], wiring: Wiring) -> Notifying:
    """What was notified, and how many frames that takes at most.

    A switch sends a notification on over all live links but the one that it came by.

    Parameters
    ----------
    stream
        After all packets.
    rounds : int array, shape (failed sets,)
    failed
        Failed links of every failed set.
    wiring
    """
    sets = np.bincount(np.unique(stream.notified) >> _TAG_BITS, minlength=len(failed))
    n_links = len(wiring.ends)
    links_left = n_links - np.array([len(links) for links in failed])
    frames = sets * np.maximum(0, 2 * links_left - wiring.n_nodes + 1)
    return Notifying(
        int(rounds.sum()), int(rounds.max()), int(sets.sum()), int(sets.max()), int(frames.sum()), int(frames.max())
    )
