"""One packet across a network of tunnels, with the slot that it hashes to: path, queues and traffic classes."""

from __future__ import annotations

from dataclasses import dataclass

from mininet_topos.errors import PlanError
from mininet_topos.ports import HOST_PORT
from mininet_topos.topology import Direction
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.commodities import Path
from ryu_apps.plan.kuijia.tunnel_field import MPLS, TunnelField
from ryu_apps.plan.walk import Hop, Network


@dataclass(frozen=True, slots=True)
class Crossing:
    """What became of a packet.

    Attributes
    ----------
    delivered_to
        Switch whose host got it, exactly as it was sent; None: lost on the way.
    links : tuple of Direction
        Links that it was sent over; the last may be a failed one.
    queues, tcs
        Queue at every switch, the last one's host port included, and TC on every link.
    labels
        Numbers of tunnels that it carried.
    """

    delivered_to: str | None
    links: Path
    queues: tuple[int, ...]
    tcs: tuple[int, ...]
    labels: frozenset[int]


def cross(network: Network, source: str, packet: Packet, slot: int, field: TunnelField = MPLS) -> Crossing:
    """Follow a packet of the host behind `source`, whose flow hashes to `slot`, hop by hop.

    Raises
    ------
    PlanError
        The packet is copied, changed on its way, or loops.
    """
    network.slot = slot
    hop = Hop(source, HOST_PORT, packet)
    links: list[Direction] = []
    queues: list[int] = []
    labels: list[tuple[int, int]] = []
    delivered_to = None
    while sent := network.interpret(hop).outputs:
        if len(sent) > 1 or len(links) > len(network.models):
            raise PlanError(f"a packet from {source} with slot {slot} is copied or loops at {hop.node}")
        ((port_no, leaving, queue_id),) = sent
        queues.append(queue_id)
        if port_no == HOST_PORT:
            if leaving != packet:
                raise PlanError(f"the host at {hop.node} gets {leaving}, which was sent as {packet}")
            delivered_to = hop.node
            break
        labels += field.read(leaving)
        links.append(network.ports.direction_at[hop.node, port_no])
        arrival = network.arrival(hop.node, port_no)
        if arrival is None:
            break
        hop = Hop(*arrival, leaving)
    tcs = tuple(tc for _, tc in labels)
    return Crossing(delivered_to, tuple(links), tuple(queues), tcs, frozenset(label for label, _ in labels))
