"""Original against precomputed weights on random graphs (kuijia-fig4): all demands, every link failed in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import RowType
from mininet_topos.catalogue import load_topology
from te_solver import all_failures as effect
from te_solver.all_failures import Paths, fail_every_link, to_paths
from te_solver.demands import random_pairs
from te_solver.errors import SolverError
from te_solver.network import FloatArray, Network, to_network
from te_solver.solve import SolveOptions
from te_solver.tunnels import to_problem
from te_solver.values import Problem

LARGEST_PROGRAM_GAP = 1e-9


@dataclass(frozen=True, slots=True)
class LadderParameters(Parameters):
    """A base allocation, a random graph and a run of pairs, with the sizes of both and all demands."""

    base_point: str
    graph: int
    run: int
    seed: int
    nodes: int
    links: int
    pairs: int
    capacity_mbps: float
    demands_mbps: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """One demand.

    Attributes
    ----------
    satisfied
        Share of the demand that is allocated.
    rescaling, kuijia, precomputed
        Mean loss over all failures, by scheme (shares of the throughput before).
    least_distance
        Smallest loss of original less that of precomputed weights at one failure; below 0 the optimum is none.
    gap, largest_program_gap
        Certified distance from the optimum: of the allocation, and of the second programs.
    programs
        Failures that needed a second program.
    """

    demand_mbps: float
    satisfied: float
    rescaling: float
    kuijia: float
    precomputed: float
    least_distance: float
    gap: float = 0.0
    failures: int = 0
    programs: int = 0
    largest_program_gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Ladder:
    """All demands of a unit."""

    levels: tuple[Level, ...]


ROWS = RowType("sweep", LadderParameters, Ladder, "kuijia-fig4/")


def climb(own: LadderParameters) -> Ladder:
    """Mean loss over all failures, for every demand and scheme."""
    from te_solver.ladder import solve_ladder

    problem, paths = problem_of(replace(own, base_point=""))
    options = SolveOptions(base_point=own.base_point, te_solver="fast")
    levels = []
    for demand_mbps, allocation in zip(own.demands_mbps, solve_ladder(problem, own.demands_mbps, options), strict=True):
        effects = fail_every_link(problem, allocation.tunnel_mbps, paths)
        _require_proven(effects, demand_mbps)
        sent, victim = effects[:, effect.SENT], effects[:, effect.VICTIM]
        whole = sent - victim
        levels.append(
            Level(
                demand_mbps=demand_mbps,
                satisfied=allocation.value / (demand_mbps * len(problem.demands)),
                rescaling=float(np.mean(1 - effects[:, effect.RESCALING] / sent)),
                kuijia=float(np.mean(1 - (whole + effects[:, effect.KUIJIA]) / sent)),
                precomputed=float(np.mean(1 - (whole + effects[:, effect.PRECOMPUTED]) / sent)),
                least_distance=float(np.min((effects[:, effect.PRECOMPUTED] - effects[:, effect.KUIJIA]) / sent)),
                gap=allocation.gap,
                failures=len(effects),
                programs=int((effects[:, effect.PIVOTS] != effect.NO_PROGRAM).sum()),
                largest_program_gap=float(effects[:, effect.GAP].max()),
            )
        )
    return Ladder(tuple(levels))


def _require_proven(effects: FloatArray, demand_mbps: float) -> None:
    """Refuse second programs that were given up, or whose answers are not proven best."""
    given_up = int((effects[:, effect.PIVOTS] == effect.NOT_SOLVED).sum())
    gap = float(effects[:, effect.GAP].max(initial=0.0))
    if given_up or not gap <= LARGEST_PROGRAM_GAP:
        raise SolverError(
            f"at demands of {demand_mbps:g} Mbit/s {given_up} second programs were given up, and the largest gap is "
            f"{gap:.1e}; that is a defect of the solver, please report it with the seed"
        )


@lru_cache(maxsize=4)
def problem_of(own: LadderParameters) -> tuple[Problem, Paths]:
    """Pairs of a run on its graph, and their tunnels; the base allocation does not matter."""
    network = _network(own.nodes, own.links, 1000 * own.seed + own.graph, own.capacity_mbps)
    seed = 1_000_000 * own.seed + 1000 * own.graph + own.run
    problem = to_problem(network, random_pairs(network.topology, own.pairs, own.demands_mbps[0], seed=seed))
    return problem, to_paths(problem.tunnels)


@lru_cache(maxsize=4)
def _network(nodes: int, links: int, seed: int, capacity_mbps: float) -> Network:
    return to_network(load_topology(f"random:{nodes}:{links}:{seed}"), capacity_mbps)
