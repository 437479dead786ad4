"""Where commodities come from: an allocation, or equal shares where nobody has decided anything.

Apart from commodities.py because finding tunnels brings a compiler with it, which a controller need not load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from types import MappingProxyType

import numpy as np

from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from te_solver.choices import OBJECTIVES
from te_solver.failure_weights import failure_weights
from te_solver.network import FloatArray, Network
from te_solver.protection import ffc_plan
from te_solver.responses import TrafficPlan
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import DEFAULT_COUNT, find_tunnels
from te_solver.values import Allocation, Problem


def plan_traffic(problem: Problem, options: SolveOptions, reserved_failures: int = 0) -> TrafficPlan:
    """What demands are granted, and how they are split; with a reserve for so many failed links at once (FFC).

    Raises
    ------
    BadInputError
        Another objective than throughput with a reserve, which has a program of its own.
    InfeasibleError, SolverError
    """
    if not reserved_failures:
        allocation = solve(problem, options)
        return TrafficPlan(allocation, allocation.demand_mbps)
    if options.objective != OBJECTIVES[0]:
        raise BadInputError(
            f"objective {options.objective!r} cannot be kept with a reserve for failed links; remove it, or use "
            "another scheme"
        )
    return ffc_plan(problem, reserved_failures)


def planned_commodities(plan: TrafficPlan, options: SolveOptions, *, precomputes: bool) -> tuple[TunnelCommodity, ...]:
    """Commodities of a traffic plan, with weights of victims for every failed link if the scheme wants them."""
    return allocated_commodities(plan.allocation, failure_weights(plan, options) if precomputes else {})


def allocated_commodities(
    allocation: Allocation, victims: Mapping[LinkId, FloatArray] = MappingProxyType({})
) -> tuple[TunnelCommodity, ...]:
    """Commodities of what traffic engineering has decided; demands without any tunnel are left out.

    Parameters
    ----------
    victims
        Weights of every tunnel, shape (tunnels,), by failed link.
    """
    network = allocation.problem.network
    tunnels, weights = allocation.problem.tunnels, allocation.splitting_weights.tolist()
    starts = tunnels.pair_starts.tolist()
    found = []
    for number, demand in enumerate(allocation.problem.demands):
        mine = range(starts[number], starts[number + 1])
        paths = tuple(tunnels[tunnel].links for tunnel in mine)
        if paths:
            shares = tuple(weights[tunnel] for tunnel in mine)
            crossed = {network.topology.link_id(hop) for path in paths for hop in path}
            after = tuple((link, tuple(victims[link][list(mine)].tolist())) for link in victims if link in crossed)
            found.append(TunnelCommodity(demand.src, demand.dst, paths, shares, demand.priority, after))
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
