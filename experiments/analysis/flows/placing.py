"""Where a flow of a tunnel scheme goes, by the slot of its hash: what the plan says, before and after failures."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.scenario.flow_values import Flow, Placed
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId
from ryu_apps.plan.hash_ranges import N_SLOTS
from ryu_apps.plan.kuijia.ingress import IngressEntry
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.slot_layers import Layer, Piece

Failures = Sequence[frozenset[LinkId]]


def find_ingress_entry(planner: TunnelPlanner, flow: Flow) -> IngressEntry:
    """The commodity of a flow at its ingress switch.

    Raises
    ------
    BadInputError
        The pair has no tunnels, or none for the flow's class.
    """
    mine = [each for each in planner.ingress_entries[flow.source] if each.commodity.dst == flow.destination]
    if not mine:
        raise BadInputError(
            f"flow {flow.name!r}: no tunnels lead from {flow.source} to {flow.destination}; add a demand of this pair"
        )
    if flow.priority is None:
        return mine[0]
    found = [each for each in mine if each.traffic.name == flow.priority]
    if not found:
        known = ", ".join(repr(each.traffic.name) for each in mine)
        raise BadInputError(f"flow {flow.name!r} has priority {flow.priority!r}; its pair has traffic of class {known}")
    return found[0]


def wanted_slots(planner: TunnelPlanner, flow: Flow, failures: Failures) -> tuple[int, ...]:
    """Slots that put a flow where it is meant to be before and after these failures, in order.

    A flow whose tunnel lives stays there by preference, since the flows of an experiment stand for aggregates and one
    that rescaling happens to move would take the whole aggregate along; where no slot stays, any of the tunnel's is
    taken. A tunnel without any slot, and a move that the scheme never makes, are refused; where the tunnel that a flow
    is to move to fails as well, it may move to any.

    Raises
    ------
    BadInputError
        No slot does what the flow asks for.
    """
    ingress_entry = find_ingress_entry(planner, flow)
    before, after = (_by_slot(planner.holding(ingress_entry, events)) for events in ((), failures))
    mine = [slot for slot in range(N_SLOTS) if flow.tunnel in (None, before[slot].tunnel)]
    if not mine:
        raise BadInputError(
            f"flow {flow.name!r} is meant for tunnel {flow.tunnel} of {flow.source} to {flow.destination}, which holds "
            f"no slot ({len(ingress_entry.commodity.paths)} tunnels, from 0); choose another"
        )
    staying = [slot for slot in mine if after[slot].tunnel == before[slot].tunnel]
    if staying:
        return tuple(staying)
    down = ingress_entry.commodity.down(planner.topology, frozenset[LinkId]().union(*failures))
    moves_to = None if flow.moves_to in down - {flow.tunnel} else flow.moves_to
    moving = [slot for slot in mine if moves_to in (None, after[slot].tunnel)]
    if not moving and planner.failover.recovers:
        raise BadInputError(
            f"flow {flow.name!r} is to move to tunnel {flow.moves_to} when its own fails, but scheme "
            f"{planner.scheme.name!r} moves no slot of it there; choose another tunnel, or another scheme"
        )
    return tuple(moving or mine)


def place(planner: TunnelPlanner, flow: Flow, slot: int, source_port: int, failures: Failures) -> Placed:
    """A flow whose hash falls into a slot.

    Raises
    ------
    BadInputError
        The pair has no tunnels.
    """
    ingress_entry = find_ingress_entry(planner, flow)
    before, after = (_by_slot(planner.holding(ingress_entry, events))[slot] for events in ((), failures))
    marks = ingress_entry.traffic
    return Placed(
        flow,
        source_port,
        slot,
        before=_path(ingress_entry, before),
        after=_path(ingress_entry, after),
        queue_before=marks.victim.queue_id if before.victim else marks.normal.queue_id,
        queue_after=marks.victim.queue_id if after.victim else marks.normal.queue_id,
        tunnel_before=before.tunnel,
        tunnel_after=after.tunnel,
        dscp=dscp_of(ingress_entry),
    )


def dscp_of(ingress_entry: IngressEntry) -> int:
    """DSCP that a flow's packets carry, so that the ingress switch knows their class."""
    return ingress_entry.traffic.dscp or 0


def _by_slot(layer: Layer) -> list[Piece]:
    return [piece for piece in layer for _ in range(piece.slots.size)]


def _path(ingress_entry: IngressEntry, piece: Piece) -> tuple[Direction, ...]:
    return () if piece.tunnel is None else ingress_entry.commodity.paths[piece.tunnel]
