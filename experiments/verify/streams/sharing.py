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


def packets_notify(stream: PacketStream, rounds: Ints, contexts: Ints, wiring: Wiring) -> Notifying:
    """What packets have notified of, and how many frames that takes at most.

    Parameters
    ----------
    stream
        After all packets.
    rounds : int array, shape (failed sets,)
    contexts : int array, shape (failed sets, nodes)
    wiring
    """
    sets = np.bincount(np.unique(stream.notified) >> _TAG_BITS, minlength=len(contexts))
    return _notifying(rounds, sets, sets * _frames_of_one(contexts, wiring))


def agents_notify(max_failures: int, rounds: Ints, contexts: Ints, wiring: Wiring) -> Notifying:
    """What agents notify of, and how many frames that takes at most.

    An agent whose ports fail one after the other names each link, and each time all that it has by then if that is a
    set with an id. Both ends of a link name it, and what a switch sends itself came by no link.
    """
    n_failed = np.array([len(down) for down in wiring.context_down])[contexts]
    n_links = n_failed.sum(axis=1) // 2
    n_failed = n_failed * wiring.has_link(contexts)  # others reach nobody
    sets = n_links + np.maximum(0, np.minimum(n_failed, max_failures) - 1).sum(axis=1)
    second_ends = np.maximum(0, n_failed.sum(axis=1) - n_links)
    return _notifying(rounds, sets, sets * _frames_of_one(contexts, wiring) + second_ends)


def _frames_of_one(contexts: Ints, wiring: Wiring) -> Ints:
    """A switch sends a notification on once, over all live links but the one that it came by."""
    senders = wiring.has_link(contexts).sum(axis=1)
    copies = wiring.live[contexts].sum(axis=(1, 2)) - wiring.n_nodes  # host ports live too
    frames: Ints = np.maximum(0, copies - senders + 1)
    return frames


def _notifying(rounds: Ints, sets: Ints, frames: Ints) -> Notifying:
    return Notifying(
        int(rounds.sum()), int(rounds.max()), int(sets.sum()), int(sets.max()), int(frames.sum()), int(frames.max())
    )
