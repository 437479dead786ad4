"""Who holds which slots of a pair, before and after failures: Kuijia section 4.2 and Figure 3, as values.

A layer is what one step of history puts over the slots. The base layer tiles all slots by the splitting weights and
never changes. Every failure lays one more layer over the slots that it moves; a switch looks at the newest first. So a
failure only adds rows, what a layer does not cover does not move, and without failures the base is what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ryu_apps.plan.hash_ranges import N_SLOTS, WHOLE, HashRange, partition


@dataclass(frozen=True, slots=True)
class Piece:
    """Slots that one tunnel holds.

    Attributes
    ----------
    tunnel
        Position in the pair's tunnels; None: no tunnel is left, the packets are dropped and counted.
    victim
        Whether another tunnel held these slots at first, so that their packets are tagged low.
    """

    slots: HashRange
    tunnel: int | None
    victim: bool = False


Layer = tuple[Piece, ...]
Events = Sequence[frozenset[int]]
"""Tunnels that failed, one set for each moment at which some did, in order."""
Layers = Callable[[Layer, Sequence[float], Events], tuple[Layer, ...]]
"""(base layer, splitting weights, events) -> the layers over the base layer, oldest first."""


def base_layer(weights: Sequence[float]) -> Layer:
    """All slots by the splitting weights."""
    return tuple(Piece(slots, tunnel) for slots, tunnel in partition([WHOLE], weights))


def rebased_layer(held: Iterable[tuple[HashRange, int | None]], weights: Sequence[float]) -> Layer:
    """A base layer for new weights that moves as few slots as can be.

    Every tunnel gets as many slots as `base_layer` would give it. It keeps what it held up to that number; what others
    have too much goes to those that have too little, in order.

    Parameters
    ----------
    held : iterable of (HashRange, int or None)
        Who holds which slots now, all of them; None: a tunnel that is not among the new ones, or nobody.
    weights
        Splitting weight of every new tunnel.
    """
    missing = [0] * len(weights)
    for piece in base_layer(weights):
        if piece.tunnel is not None:
            missing[piece.tunnel] += piece.slots.size
    holder: list[int | None] = [None] * N_SLOTS
    for slots, tunnel in held:
        if tunnel is not None:
            kept = min(slots.size, missing[tunnel])
            holder[slots.first : slots.first + kept] = [tunnel] * kept
            missing[tunnel] -= kept
    waiting = iter([tunnel for tunnel, count in enumerate(missing) for _ in range(count)])
    return _merged([(next(waiting) if tunnel is None else tunnel, False) for tunnel in holder])


def kuijia_layers(base: Layer, weights: Sequence[float], events: Events) -> tuple[Layer, ...]:
    """What each failure moves: the slots of the tunnels that failed, and no other.

    The slots that a failed tunnel held, its own and those it had taken over, are repartitioned by the original weights
    of the tunnels that are left, and their packets are victims from then on. With no tunnel left they are dropped.

    Parameters
    ----------
    base
        What tiles all slots.
    weights
        Splitting weight of every tunnel.
    events : sequence of frozenset of int
        A tunnel that is named again changes nothing.
    """
    layers: list[Layer] = []
    down: frozenset[int] = frozenset()
    for event in events:
        before = holding(base, layers)
        down = down | event
        moved = [
            piece
            for tunnel in sorted(event)
            for piece in _repartition([each.slots for each in before if each.tunnel == tunnel], weights, down)
        ]
        layers += [tuple(sorted(moved, key=lambda piece: piece.slots.first))] if moved else []
    return tuple(layers)


def rescaling_layers(_base: Layer, weights: Sequence[float], events: Events) -> tuple[Layer, ...]:
    """What rescaling does (Kuijia section 4.1): all slots are repartitioned by the weights of what is left, untagged.

    A step replaces the one before, so the layers below the newest cover nothing any more; they are empty, and only
    count how often the slots were repartitioned.
    """
    known: set[int] = set()
    steps = 0
    for event in events:
        steps += not event <= known
        known |= event
    if not steps:
        return ()
    newest = tuple(Piece(piece.slots, piece.tunnel) for piece in _repartition([WHOLE], weights, frozenset(known)))
    return (*((),) * (steps - 1), newest)


def untagged_layers(base: Layer, weights: Sequence[float], events: Events) -> tuple[Layer, ...]:
    """What the paper's testbed did for rescaling (section 5.1): flows of failed tunnels move, untagged, and no other.

    Tunnels get the same shares as by `rescaling_layers`, which also moves flows of tunnels that live.
    """
    layers = kuijia_layers(base, weights, events)
    return tuple(tuple(replace(piece, victim=False) for piece in layer) for layer in layers)


def no_layers(_base: Layer, _weights: Sequence[float], _events: Events) -> tuple[Layer, ...]:
    """What traffic engineering alone does about a failure: nothing."""
    return ()


def holding(base: Layer, layers: Sequence[Layer]) -> Layer:
    """Who holds each slot: the newest piece over it; pieces tile all slots in order and are as long as can be."""
    holder: list[tuple[int | None, bool]] = [(None, False)] * N_SLOTS
    for layer in (base, *layers):
        for piece in layer:
            holder[piece.slots.first : piece.slots.stop] = [(piece.tunnel, piece.victim)] * piece.slots.size
    return _merged(holder)


def _merged(holder: Sequence[tuple[int | None, bool]]) -> Layer:
    """Pieces of neighbouring slots with one holder."""
    starts = [slot for slot in range(N_SLOTS) if slot == 0 or holder[slot] != holder[slot - 1]]
    ends = [*starts[1:], N_SLOTS]
    return tuple(Piece(HashRange(first, stop), *holder[first]) for first, stop in zip(starts, ends, strict=True))


def _repartition(slots: Sequence[HashRange], weights: Sequence[float], down: frozenset[int]) -> Layer:
    """The slots among the tunnels that are left, as victims."""
    live = [tunnel for tunnel in range(len(weights)) if tunnel not in down]
    if not live:
        return tuple(Piece(part, None, victim=True) for part in slots)
    parts = partition(slots, [weights[tunnel] for tunnel in live])
    return tuple(Piece(part, live[owner], victim=True) for part, owner in parts)
