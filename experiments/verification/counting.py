"""From what was found out about each case to counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.verification.growing import Bools, Ints
from experiments.verification.possibilities import ALWAYS_DELIVERED, SOMETIMES_LOOPED
from experiments.verification.result import KEPT_EXAMPLES, Tally
from experiments.verification.senders import LOOPED, Walks
from experiments.verification.visits import DELIVERED, LOST
from experiments.verification.wiring import bits
from mininet_topos.topology import Topology

_WORST = ("delivered", "dropped while the network is partly updated", "looped while the network is partly updated")
_FATES = {DELIVERED: "delivered", LOST: "dropped", LOOPED: "looped"}


@dataclass(frozen=True)
class Cases:
    """Cases by columns.

    Attributes
    ----------
    failed_set, source, target : int array
        Index of the failed set in its batch; positions of the pair.
    fewest_hops : float array
        Length of a shortest path without the failed links; infinity where there is none.
    promised : bool array
        Whether the scheme promises delivery.
    """

    failed_set: Ints
    source: Ints
    target: Ints
    fewest_hops: NDArray[np.float64]
    promised: Bools

    @property
    def joined(self) -> Bools:
        """Whether some path is left."""
        return np.isfinite(self.fewest_hops)


@dataclass(frozen=True)
class Findings:
    """What happened in each case.

    Attributes
    ----------
    worst : int array
        The worst that can happen while the network is partly updated.
    first, settled : Walks
        First packets, and packets after convergence.
    settled_is_simple : bool array
        Whether the settled path meets no switch twice.
    reply : Walks or None
        Agent mode: first replies, sent once the first packet has arrived.
    """

    worst: Ints
    first: Walks
    settled: Walks
    settled_is_simple: Bools
    reply: Walks | None


def count(topology: Topology, cases: Cases, found: Findings, failed_masks: list[int], *, loop_free: bool) -> Tally:
    """Counts over all cases of a batch; `loop_free`: whether the scheme promises that nothing ever loops."""
    joined, looped = cases.joined, found.worst == SOMETIMES_LOOPED
    arrives = found.settled.outcome == DELIVERED
    stretch = found.settled.hops[arrives] / cases.fewest_hops[arrives]
    is_single = np.array([mask.bit_count() == 1 for mask in failed_masks])[cases.failed_set]
    complaints = _complaints(cases, found, is_single, loop_free)
    broken = np.flatnonzero(np.logical_or.reduce(list(complaints.values())))
    back_hops = np.where(found.first.outcome == LOOPED, 0, found.first.back_hops)
    reply = found.reply
    return Tally(
        cases=len(joined),
        delivered=_sum(joined & (found.worst == ALWAYS_DELIVERED)),
        disconnected=_sum(~joined & ~looped),
        looped=_sum(looped),
        dropped=_sum(joined & ~looped & (found.worst != ALWAYS_DELIVERED)),
        promised=_sum(cases.promised),
        broken=len(broken),
        crankback_cases=_sum(back_hops > 0),
        longest_crankback=int(back_hops.max(initial=0)),
        backtracking_after_convergence=_sum(arrives & ~found.settled_is_simple),
        reply_backtracks=0 if reply is None else _sum(joined & _replied(found.first) & (reply.back_hops > 0)),
        stretch_sum=float(stretch.sum()),
        stretch_cases=len(stretch),
        examples=[_example(topology, cases, found, failed_masks, complaints, case) for case in broken[:KEPT_EXAMPLES]],
    )


def _complaints(cases: Cases, found: Findings, is_single: Bools, loop_free: bool) -> dict[str, Bools]:
    """Which cases break the promise, by what is wrong.

    Replies to the first packet that arrives must arrive, and after a single failure they never go back over their
    own path; after more failures they may, since they can meet a link that the packet did not learn of.
    """
    complaints = {
        "worst": (cases.promised & (found.worst != ALWAYS_DELIVERED)) | (loop_free & (found.worst == SOMETIMES_LOOPED)),
        "is not settled after many packets": cases.promised & found.settled.changed,
        "backtracks after convergence": cases.promised & ~found.settled_is_simple,
    }
    if found.reply is not None:
        bad = (found.reply.outcome != DELIVERED) | (is_single & (found.reply.back_hops > 0))
        complaints["reply"] = cases.promised & _replied(found.first) & bad
    return complaints


def _replied(first: Walks) -> Bools:
    arrived: Bools = first.outcome == DELIVERED
    return arrived


def _example(
    topology: Topology,
    cases: Cases,
    found: Findings,
    failed_masks: list[int],
    complaints: dict[str, Bools],
    case: np.int64,
) -> dict[str, Any]:
    """A broken case for people."""
    what = next(name for name, broken in complaints.items() if broken[case])
    if what == "worst":
        what = _WORST[found.worst[case]]
    elif what == "reply" and found.reply is not None:
        what = f"the reply is {_FATES[int(found.reply.outcome[case])]}, {found.reply.back_hops[case]} hops back"
    names, links = topology.node_names, topology.link_ids
    return {
        "src": names[cases.source[case]],
        "dst": names[cases.target[case]],
        "failed": [str(links[number]) for number in bits(failed_masks[cases.failed_set[case]])],
        "what": what,
    }


def _sum(flags: Bools) -> int:
    return int(np.count_nonzero(flags))
