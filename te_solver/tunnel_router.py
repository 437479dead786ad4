"""Routes from tunnels: every pair's primary route is its first tunnel, and what is left takes over where one fails.

The tunnels are those of traffic engineering: link-disjoint and as short as can be together (tunnels.py). So schemes of
recovery can be compared on the routes that a scheme of tunnels would use.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from te_solver.commodity import Commodity
from te_solver.commodity_routes import PairRouter
from te_solver.network import Network
from te_solver.routes import ResidualRoutes
from te_solver.tunnels import DEFAULT_COUNT, find_tunnels


class TunnelRouter(PairRouter):
    """Routes by (source, destination): the first tunnel; once one of its links is known to have failed, the next one.

    A packet that meets the failure backtracks along its tunnel until it is on the next one, at the latest at its
    source. Where no tunnel is whole (a pair without disjoint ways), backup ports of `PairRouter` take over; with two
    or more failed links the tree does.
    """

    def __init__(self, residual: ResidualRoutes) -> None:
        super().__init__(residual)
        self._tunnels = _tunnels(residual)

    def _primary(self, commodity: Commodity) -> dict[int, int]:
        routes = self._tunnels.get(commodity)
        return routes[0] if routes else {}

    def _bypass(self, commodity: Commodity, failed: int) -> dict[int, int]:
        whole = [route for route in self._tunnels[commodity] if not self._crosses(route, failed)]
        if not whole:
            return super()._bypass(commodity, failed)
        primary, numbers = self._primary(commodity), self.residual.link_number
        nodes = list(primary)
        broken = next(place for place, node in enumerate(nodes) if failed >> int(numbers[primary[node]]) & 1)
        back = {nodes[place]: self._reverse(primary[nodes[place - 1]]) for place in range(1, broken + 1)}
        return {**back, **whole[0]}


def _tunnels(residual: ResidualRoutes) -> dict[Commodity, list[dict[int, int]]]:
    """Next link by node of every tunnel of every pair; pairs that nothing joins are left out."""
    topology = residual.topology
    pairs = list(permutations(range(len(topology.nodes)), 2))
    if not topology.links or not pairs:
        return {}
    index, order = {link.direction: number for number, link in enumerate(residual.links)}, topology.index_of
    network = Network(topology, np.ones(len(topology.links)))
    found = find_tunnels(network, np.array(pairs, dtype=np.int64), DEFAULT_COUNT, "disjoint", residual.metric)
    routes: dict[Commodity, list[dict[int, int]]] = {}
    owners = found.pair_of.tolist()
    for number, tunnel in enumerate(found):
        steps = {order[hop.src]: index[hop] for hop in tunnel.links}
        source, destination = pairs[owners[number]]
        routes.setdefault(Commodity(destination, source), []).append(steps)
    return routes
