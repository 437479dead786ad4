"""Which flows a failure hits, and what a fluid would do in their place (Kuijia section 5.2).

victim: its tunnel failed. direct: it shares a link with a tunnel to which victims are moved. indirect: it shares a link
with a direct flow, and is none of those. none: the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from experiments.scenario.flow_values import FRAME_OVER_PAYLOAD, Placed
from mininet_topos.topology import Direction, LinkId, Topology
from te_solver.fluid import Flows, delivered_mbps
from te_solver.network import Network
from te_solver.values import TunnelSet

Path = tuple[Direction, ...]


def flow_classes(topology: Topology, flows: Sequence[Placed], failed: Iterable[LinkId]) -> dict[str, str]:
    """Class of every flow, by name."""
    gone = {direction for link in failed for direction in topology.directions(link)}
    victims = [each for each in flows if gone.intersection(each.before)]
    taken = {direction for each in victims for direction in each.after}
    others = [each for each in flows if not gone.intersection(each.before)]
    direct = [each for each in others if taken.intersection(each.before)]
    shared = {direction for each in direct for direction in each.before}
    kind = {each.flow.name: "victim" for each in victims} | {each.flow.name: "direct" for each in direct}
    for each in others:
        if each.flow.name not in kind:
            kind[each.flow.name] = "indirect" if shared.intersection(each.before) else "none"
    return {each.flow.name: kind[each.flow.name] for each in flows}


def fluid_rates(network: Network, flows: Sequence[Placed], failed: Iterable[LinkId]) -> dict[str, dict[str, float]]:
    """What te_solver's fluid delivers of every flow before and after the failure, Mbit/s of payload by name.

    Parameters
    ----------
    network
        Capacities that the emulation shapes to, of whole frames.
    flows
        A flow without a rate offers the whole of its narrowest link.
    """
    whole = network.capacity_mbps
    gone = {direction for link in failed for direction in network.topology.directions(link)}
    left = np.where([link.direction in gone for link in network.links], 0.0, whole)
    before = _delivered(network, [each.before for each in flows], [each.queue_before for each in flows], flows, whole)
    after = _delivered(network, [each.after for each in flows], [each.queue_after for each in flows], flows, left)
    return {
        each.flow.name: {"before_mbps": before[number], "after_mbps": after[number]}
        for number, each in enumerate(flows)
    }


def _delivered(
    network: Network, paths: Sequence[Path], queues: Sequence[int], flows: Sequence[Placed], capacity: np.ndarray
) -> list[float]:
    carried = [number for number, path in enumerate(paths) if path]
    arc_of = {link.direction: number for number, link in enumerate(network.links)}
    routes = [[arc_of[direction] for direction in paths[number]] for number in carried]
    rates = [_offered(flows[number], routes[place], network) for place, number in enumerate(carried)]
    found = [0.0] * len(flows)
    if carried:
        tunnels = _tunnel_set(network, routes)
        fluid = Flows(
            np.arange(len(carried)), np.array(rates), np.array([queues[number] for number in carried], dtype=np.int64)
        )
        for number, rate in zip(carried, delivered_mbps(tunnels, fluid, capacity).tolist(), strict=True):
            found[number] = rate / FRAME_OVER_PAYLOAD[flows[number].flow.transport]
    return found


def _offered(placed: Placed, route: Sequence[int], network: Network) -> float:
    """Mbit/s of whole frames."""
    if placed.flow.offered_mbps is not None:
        return placed.flow.offered_mbps * FRAME_OVER_PAYLOAD[placed.flow.transport]
    return float(min(network.capacity_mbps[arc] for arc in route))


def _tunnel_set(network: Network, routes: Sequence[Sequence[int]]) -> TunnelSet:
    """A tunnel for every route, each of a pair of its own."""
    order = network.topology.index_of
    ends = [(order[network.links[route[0]].src], order[network.links[route[-1]].dst]) for route in routes]
    return TunnelSet(
        network=network,
        pairs=np.array(ends, dtype=np.int64),
        pair_starts=np.arange(len(routes) + 1),
        arc_starts=np.concatenate([[0], np.cumsum([len(route) for route in routes])]).astype(np.int64),
        arcs=np.array([arc for route in routes for arc in route], dtype=np.int64),
        disjoint=np.ones(len(routes), dtype=np.int64),
    )


def link_rates(
    names: Mapping[tuple[str, int], str],
    before: Mapping[tuple[str, int], Mapping[int, int]],
    after: Mapping[tuple[str, int], Mapping[int, int]],
    seconds: float,
) -> dict[str, dict[int, float]]:
    """Mbit/s by link direction and queue between two readings of byte counters.

    Parameters
    ----------
    names : mapping of (str, int) to str
        Name of the direction that a switch port sends on.
    before, after
        (switch, port) to bytes by queue.
    seconds
        Between the readings.
    """
    return {
        names[key]: {
            queue: 8e-6 * (count - before[key].get(queue, 0)) / seconds for queue, count in sorted(after[key].items())
        }
        for key in after
        if key in before
    }
