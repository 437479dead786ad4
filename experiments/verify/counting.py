"""From what was found out about each case to counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.verify.behaviour import Behaviour
from experiments.verify.growable_arrays import Bools, Ints
from experiments.verify.result import KEPT_EXAMPLES, Notifying, Rewriting, Stage, Tally
from experiments.verify.streams.packet_stream import LOOPED, Walks
from experiments.verify.walk.possibilities import ALWAYS_DELIVERED, SOMETIMES_DROPPED, SOMETIMES_LOOPED
from experiments.verify.walk.transitions import DELIVERED, LOST
from experiments.verify.wiring import bits
from mininet_topos.topology import Topology

_WORST = ("delivered", "dropped while the network is partly updated", "looped while the network is partly updated")
_FATES = {DELIVERED: "delivered", LOST: "dropped", LOOPED: "looped"}
_FATE_OF = np.zeros(3, dtype=np.int64)
_FATE_OF[[DELIVERED, LOST, LOOPED]] = ALWAYS_DELIVERED, SOMETIMES_DROPPED, SOMETIMES_LOOPED


@dataclass(frozen=True)
class Cases:
    """Cases by columns.

    Attributes
    ----------
    failed_set, source, target
        Index of the failed set in its batch; positions of the pair.
    fewest_hops : float array
        Length of a shortest path without the failed links; infinity where there is none.
    promised, restored
        Whether the scheme promises delivery before any controller acts, and once one has.
    """

    failed_set: Ints
    source: Ints
    target: Ints
    fewest_hops: NDArray[np.float64]
    promised: Bools
    restored: Bools

    @property
    def joined(self) -> Bools:
        """Whether some path is left."""
        return np.isfinite(self.fewest_hops)


@dataclass(frozen=True)
class Updates:
    """The worst that can happen while a controller writes switch after switch.

    Attributes
    ----------
    failing, returning
        After the failure, and when all its links are back.
    """

    failing: Ints
    returning: Ints


@dataclass(frozen=True)
class Findings:
    """What happened in each case.

    Attributes
    ----------
    worst
        The worst that can happen while the network is partly updated, before any controller acts.
    first, settled
        First packets before any controller acts, and packets after convergence, when it has.
    settled_is_simple, settled_is_tagged
        Whether the settled path meets no switch twice; whether its packets carry a tag somewhere.
    reply
        Agent mode: first replies, sent once the first packet has arrived.
    updates
        With a controller that restores routes.
    notifying
        Where notifications are on and somebody sent one.
    """

    worst: Ints
    first: Walks
    settled: Walks
    settled_is_simple: Bools
    settled_is_tagged: Bools
    reply: Walks | None
    updates: Updates | None
    rewriting: Rewriting
    notifying: Notifying | None


def count(topology: Topology, cases: Cases, found: Findings, failed_masks: list[int], *, behaviour: Behaviour) -> Tally:
    """Counts over all cases of a batch."""
    complaints = _complaints(cases, found, failed_masks, behaviour)
    broken = np.flatnonzero(np.logical_or.reduce(list(complaints.values())))
    settled = _FATE_OF[found.settled.outcome]
    overall = _stage(cases, np.maximum(found.worst, settled))
    back_hops = np.where(found.first.outcome == LOOPED, 0, found.first.back_hops)
    arrives, reply = found.settled.outcome == DELIVERED, found.reply
    stretch, first_stretch = _stretch(cases, found.settled), _stretch(cases, found.first)
    tally = Tally(
        cases=len(cases.source),
        **vars(overall),
        parted=_sum(~cases.joined),
        promised=_sum(cases.promised | cases.restored),
        broken=len(broken),
        crankback_cases=_sum(back_hops > 0),
        longest_crankback=int(back_hops.max(initial=0)),
        backtracking_after_convergence=_sum(arrives & ~found.settled_is_simple),
        tagged_after_convergence=_sum(found.settled_is_tagged),
        reply_backtracks=0 if reply is None else _sum(cases.joined & _replied(found.first) & (reply.back_hops > 0)),
        stretch_sum=float(stretch.sum()),
        stretch_cases=len(stretch),
        first_stretch_sum=float(first_stretch.sum()),
        first_stretch_cases=len(first_stretch),
        transient=_stage(cases, found.worst),
        converged=_stage(cases, settled),
        rewriting=found.rewriting,
        notifying=found.notifying,
        examples=[
            _example(topology, cases, found, failed_masks, complaints, case=case) for case in broken[:KEPT_EXAMPLES]
        ],
    )
    if found.updates is not None:
        _count_updates(tally, cases, found, found.updates)
    return tally


def _count_updates(tally: Tally, cases: Cases, found: Findings, updates: Updates) -> None:
    settled_loops = found.settled.outcome == LOOPED
    tally.updating = _stage(cases, updates.failing)
    tally.returning = _stage(replace(cases, fewest_hops=np.ones(len(cases.source))), updates.returning)
    anyway = settled_loops | (found.worst == SOMETIMES_LOOPED)
    tally.micro_loops = _sum((updates.failing == SOMETIMES_LOOPED) & ~anyway)
    tally.micro_loops_on_return = _sum((updates.returning == SOMETIMES_LOOPED) & ~settled_loops)


def _stage(cases: Cases, worst: Ints) -> Stage:
    """Fates of all cases from the worst that can happen to each."""
    joined, looped = cases.joined, worst == SOMETIMES_LOOPED
    return Stage(
        delivered=_sum(joined & (worst == ALWAYS_DELIVERED)),
        disconnected=_sum(~joined & ~looped),
        dropped=_sum(joined & (worst == SOMETIMES_DROPPED)),
        looped=_sum(looped),
    )


def _stretch(cases: Cases, walks: Walks) -> NDArray[np.float64]:
    """Hops over the fewest that are left, of the packets that arrive."""
    arrives = walks.outcome == DELIVERED
    found: NDArray[np.float64] = walks.hops[arrives] / cases.fewest_hops[arrives]
    return found


def _complaints(cases: Cases, found: Findings, failed_masks: list[int], behaviour: Behaviour) -> dict[str, Bools]:
    """Which cases break the promise, by what is wrong.

    Replies to the first packet that arrives must arrive, and after a single failure they never go back over their
    own path; after more failures they may, since they can meet a link that the packet did not learn of. Nothing is
    promised while a controller writes.
    """
    settled, restores = found.settled.outcome, behaviour.restoration is not None
    loops = (found.worst == SOMETIMES_LOOPED) & behaviour.loop_free
    settles = cases.restored if restores else cases.promised & (not behaviour.backtracks)
    complaints = {
        "worst": (cases.promised & (found.worst != ALWAYS_DELIVERED)) | loops,
        "is not settled after many packets": cases.promised & found.settled.changed,
        "settled": (cases.restored & (settled != DELIVERED)) | (restores & (settled == LOOPED)),
        "carries a tag after the controller has acted": cases.restored & found.settled_is_tagged,
        "backtracks after convergence": settles & ~found.settled_is_simple,
    }
    if found.reply is not None:
        is_single = np.array([mask.bit_count() == 1 for mask in failed_masks])[cases.failed_set]
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
    *,
    case: np.int64,
) -> dict[str, Any]:
    """A broken case for people."""
    what = next(name for name, broken in complaints.items() if broken[case])
    if what == "worst":
        what = _WORST[found.worst[case]]
    elif what == "settled":
        what = f"{_FATES[int(found.settled.outcome[case])]} after the controller has acted"
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
