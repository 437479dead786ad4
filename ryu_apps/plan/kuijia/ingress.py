"""Rows of the switch where traffic enters: hash a flow to a slot, and a slot to a tunnel.

Table TE_INGRESS knows the destination and the class, writes the hash slot to reg0 and the commodity to reg1; table
TE_HASH maps (commodity, slots) to a tunnel: write path and class into the tunnel field, choose the queue, and send.

A base row stands in the band PRIMARY; the rows of the k-th failure layer stand k above RECOVERY, so that the newest
layer wins and a failure is answered by adding rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mininet_topos.errors import PlanLimitError
from mininet_topos.ports import HOST_PORT, PortMap
from ryu_apps.plan.fields import ETH_IPV4
from ryu_apps.plan.hash_ranges import N_SLOTS, masked_slots
from ryu_apps.plan.ids import Kind, Priority, Table, cookie, tunnel_group
from ryu_apps.plan.kuijia.commodities import Path, TunnelCommodity, label_key
from ryu_apps.plan.kuijia.options import Prefix
from ryu_apps.plan.kuijia.priorities import ClassMarking, TrafficClass
from ryu_apps.plan.kuijia.tunnel_field import MPLS, TunnelField
from ryu_apps.plan.rows import (
    Action,
    Bucket,
    FlowRow,
    Group,
    GroupRow,
    Load,
    Match,
    Multipath,
    Output,
    SetQueue,
    match,
)
from ryu_apps.plan.slot_layers import Layer, Piece, base_layer

# Both directions of a flow get the same slot, UDP ports included (ovs-actions(7), multipath).
SPREAD = Multipath("symmetric_l3l4+udp", 1024, "modulo_n", N_SLOTS, "reg0")
COMMODITY = "reg1"
_TC_BITS, _REGISTER_BITS = 3, 32
MAX_LAYERS = Priority.DELIVER - Priority.RECOVERY - 1
# A longer prefix goes first, and among equals the row that names a class.
_STEP_PER_BIT = 2


@dataclass(frozen=True, slots=True)
class IngressEntry:
    """A commodity as its ingress switch sees it.

    Attributes
    ----------
    number
        What reg1 holds: destination and class.
    destination
        IPv4 address of the host behind the far switch; goes into cookies.
    prefixes
        Addresses behind the far switch.
    takes_rest
        Whether packets that name no class of the pair travel in this one.
    rebased
        Who holds which slots while every tunnel lives; None: as the weights say.
    """

    commodity: TunnelCommodity
    traffic: TrafficClass
    number: int
    destination: int
    prefixes: tuple[Prefix, ...]
    takes_rest: bool
    rebased: Layer | None = None

    @property
    def base(self) -> Layer:
        """Who holds which slots while every tunnel lives."""
        return base_layer(self.commodity.weights) if self.rebased is None else self.rebased


@dataclass(frozen=True, slots=True)
class Wiring:
    """Whose rows these are, what ports and numbers of tunnels they name, and what packets carry those in."""

    owner: int
    ports: PortMap
    labels: Mapping[Path, int]
    field: TunnelField = MPLS


def commodity_number(destination_dpid: int, tc: int) -> int:
    """Number of a commodity at its ingress switch: destination and TC; the same in every plan."""
    return destination_dpid << _TC_BITS | tc


def ingress_rows(ingress_entry: IngressEntry, wiring: Wiring, split: str) -> Iterator[FlowRow]:
    """Rows that find the commodity and, for hash ranges, the slot."""
    known = Load(COMMODITY, 0, _REGISTER_BITS, ingress_entry.number)
    spread: tuple[Action, ...] = (SPREAD, known)
    if split == "select":
        spread = (Group(group_of(ingress_entry)),)
    for fields, priority in _terms(ingress_entry):
        yield FlowRow(
            Table.TE_INGRESS,
            priority,
            fields,
            spread,
            goto_table=Table.TE_HASH if split == "ranges" else None,
            cookie=_cookie(ingress_entry, wiring, Kind.PLANNED),
        )


def _terms(ingress_entry: IngressEntry) -> Iterator[tuple[Match, int]]:
    """(match, priority) of every way in which a packet shows that it belongs to the commodity."""
    for prefix in ingress_entry.prefixes:
        priority = Priority.PRIMARY + _STEP_PER_BIT * prefix.length
        dscp = ingress_entry.traffic.dscp
        if dscp is not None:
            named = match(in_port=HOST_PORT, eth_type=ETH_IPV4, ip_dscp=dscp, ipv4_dst=prefix.match)
            yield named, priority + 1
        if ingress_entry.takes_rest:
            yield match(in_port=HOST_PORT, eth_type=ETH_IPV4, ipv4_dst=prefix.match), priority


def base_rows(ingress_entry: IngressEntry, wiring: Wiring) -> Iterator[FlowRow]:
    """Rows of the base layer."""
    yield from _piece_rows(ingress_entry, wiring, ingress_entry.base, Priority.PRIMARY, Kind.PLANNED)


def failure_rows(
    ingress_entry: IngressEntry, wiring: Wiring, layers: Sequence[Layer], kind: Kind = Kind.PLANNED
) -> Iterator[FlowRow]:
    """Rows to add for failures, oldest first.

    Parameters
    ----------
    ingress_entry : Ingress entry
    layers
        Over the base layer, oldest first.
    kind
        Who puts them there.

    Raises
    ------
    PlanLimitError
        More failures, one after another, than the band has priorities.
    """
    if len(layers) > MAX_LAYERS:
        raise PlanLimitError(f"{len(layers)} failures one after another are more than {MAX_LAYERS}; install a new plan")
    for number, layer in enumerate(layers, start=1):
        yield from _piece_rows(ingress_entry, wiring, layer, Priority.RECOVERY + number, kind)


def _piece_rows(
    ingress_entry: IngressEntry, wiring: Wiring, layer: Layer, priority: int, kind: Kind
) -> Iterator[FlowRow]:
    for piece in layer:
        actions = _send(ingress_entry, wiring, piece)
        known = match(reg1=ingress_entry.number, **wiring.field.needs)
        for value, mask in masked_slots(piece.slots):
            fields = tuple(sorted((("reg0", value, mask), *known))) if mask else known
            yield FlowRow(Table.TE_HASH, priority, fields, actions, cookie=_cookie(ingress_entry, wiring, kind))


def _send(ingress_entry: IngressEntry, wiring: Wiring, piece: Piece) -> tuple[Action, ...]:
    """Into a tunnel, marked; nothing, which drops and counts, when no tunnel is left."""
    if piece.tunnel is None:
        return ()
    marking = ingress_entry.traffic.victim if piece.victim else ingress_entry.traffic.normal
    return into_tunnel(ingress_entry.commodity.paths[piece.tunnel], marking, wiring)


def into_tunnel(path: Path, marking: ClassMarking, wiring: Wiring) -> tuple[Action, ...]:
    """Say tunnel and class, and send."""
    return (
        *wiring.field.enter(wiring.labels[label_key(path)], marking),
        SetQueue(marking.queue_id),
        Output(wiring.ports.port_of[path[0]]),
    )


SELECT_SCALE = 1000


def select_group(ingress_entry: IngressEntry, wiring: Wiring, down: frozenset[int]) -> GroupRow:
    """SELECT group of a commodity, for comparison: a bucket for every tunnel that is left, weights in thousandths.

    Tunnels whose weight rounds to 0 have no bucket, unless all do: then they share equally.
    """
    weights = ingress_entry.commodity.weights
    live = [tunnel for tunnel in range(len(weights)) if tunnel not in down]
    total = sum(weights[tunnel] for tunnel in live)
    sizes = {tunnel: round(SELECT_SCALE * weights[tunnel] / total) if total else 1 for tunnel in live}
    buckets = (
        Bucket(into_tunnel(ingress_entry.commodity.paths[tunnel], ingress_entry.traffic.normal, wiring), weight=size)
        for tunnel, size in sizes.items()
        if size
    )
    return GroupRow(group_of(ingress_entry), "select", tuple(buckets))


def group_of(ingress_entry: IngressEntry) -> int:
    """Id of the commodity's SELECT group."""
    return tunnel_group(ingress_entry.number)


def _cookie(ingress_entry: IngressEntry, wiring: Wiring, kind: Kind) -> int:
    return cookie(wiring.owner, kind, 0, ingress_entry.destination)
