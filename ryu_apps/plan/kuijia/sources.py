"""Where commodities come from: an allocation, or equal shares where nobody has decided anything.

Apart from commodities.py because finding tunnels brings a compiler with it, which a controller need not load.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from mininet_topos.topology import Topology
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from te_solver.network import Network
from te_solver.tunnels import DEFAULT_COUNT, find_tunnels
from te_solver.values import Allocation


def allocated_commodities(allocation: Allocation) -> tuple[TunnelCommodity, ...]:
    """Commodities of what traffic engineering has decided; demands without any tunnel are left out."""
    tunnels, weights = allocation.problem.tunnels, allocation.splitting_weights.tolist()
    starts = tunnels.pair_starts.tolist()
    found = []
    for number, demand in enumerate(allocation.problem.demands):
        mine = range(starts[number], starts[number + 1])
        paths = tuple(tunnels[tunnel].links for tunnel in mine)
        if paths:
            shares = tuple(weights[tunnel] for tunnel in mine)
            found.append(TunnelCommodity(demand.src, demand.dst, paths, shares, demand.priority))
    return tuple(found)


def equal_commodities(
    topology: Topology,
    pairs: Sequence[tuple[str, str]] | None = None,
    tunnel_count: int = DEFAULT_COUNT,
    kind: str = "disjoint",
    metric: str = "hops",
) -> tuple[TunnelCommodity, ...]:
    """Commodities without demands: every tunnel of a pair gets the same share.

    Parameters
    ----------
    topology
        Capacities do not matter.
    pairs : sequence of (str, str), optional
        Ends by name; default: every ordered pair.
    tunnel_count, kind, metric
        As `te_solver.tunnels.find_tunnels` takes them. Pairs that nothing joins are left out.
    """
    wanted = list(permutations(topology.node_names, 2)) if pairs is None else list(pairs)
    order = topology.index_of
    network = Network(topology, np.ones(len(topology.links)))
    positions = np.array([(order[src], order[dst]) for src, dst in wanted], dtype=np.int64).reshape(-1, 2)
    tunnels = find_tunnels(network, positions, tunnel_count, kind, metric)
    starts = tunnels.pair_starts.tolist()
    found = []
    for number, (src, dst) in enumerate(wanted):
        paths = tuple(tunnels[tunnel].links for tunnel in range(starts[number], starts[number + 1]))
        if paths:
            found.append(TunnelCommodity(src, dst, paths, (1 / len(paths),) * len(paths)))
    return tuple(found)
