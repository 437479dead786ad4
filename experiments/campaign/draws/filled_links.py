"""Cases of `x-low-queue`: a pair, the link of its primary path that fails, and the links that other flows fill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.campaign.draws.paths import Pair, path
from experiments.campaign.kinds.low_queue import LowQueueParameters
from experiments.campaign.values import Trial, parameters_of
from experiments.scenario.flow_values import FIRST_PORT, Flow, Placed
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Direction, LinkId, Topology
from te_solver.routes import ResidualRoutes

VICTIM = "victim"
_SOURCE_PORT = 30_000


@dataclass(frozen=True, slots=True)
class Case:
    """A pair, a link of its primary path, the ways before and after, and the links that others fill."""

    pair: Pair
    failed: LinkId
    primary: tuple[Direction, ...]
    backup: tuple[Direction, ...]
    filled: tuple[Direction, ...]


def draw_cases(topology: Topology, count: int, seed: int, others: tuple[int, int]) -> tuple[Case, ...]:
    """Cases, pairs drawn at random, each pair at most once.

    Parameters
    ----------
    count
        Fewer come where the topology has fewer.
    others : tuple of int
        Fewest and most links that other flows fill.
    """
    routes, names = ResidualRoutes(topology), topology.node_names
    pairs = [(source, target) for source in names for target in names if source != target]
    found: list[Case] = []
    for number in np.random.default_rng(seed).permutation(len(pairs)):
        case = _case(routes, pairs[number], others)
        if case is not None:
            found.append(case)
        if len(found) == count:
            break
    return tuple(found)


def _case(routes: ResidualRoutes, pair: Pair, others: tuple[int, int]) -> Case | None:
    """The pair with the first link of its primary that leaves enough links to fill; None when there is no such link."""
    (fewest, most), primary = others, path(routes, *pair)
    for hop in primary:
        failed = routes.topology.link_id(hop)
        backup = path(routes, *pair, frozenset({failed}))
        filled = tuple(each for each in backup if each not in primary)
        # A neighbour's flow must take the link itself, also after the failure.
        if len(filled) >= fewest and all(path(routes, each.src, each.dst) == (each,) for each in filled):
            return Case(pair, failed, primary, backup, filled[:most])
    return None


def flows_of(case: Case, own: LowQueueParameters) -> tuple[Placed, ...]:
    """The victim and the flows that fill its way round, with the links that they cross."""
    victim = Flow(VICTIM, *case.pair, transport="udp", offered_mbps=own.victim_mbps, port=FIRST_PORT)
    placed = [Placed(victim, _SOURCE_PORT, before=case.primary, after=case.backup)]
    for number, hop in enumerate(case.filled, start=1):
        name = f"{hop.src} to {hop.dst}"
        flow = Flow(name, hop.src, hop.dst, transport="udp", offered_mbps=own.others_mbps, port=FIRST_PORT + number)
        placed.append(Placed(flow, _SOURCE_PORT + number, before=(hop,), after=(hop,)))
    return tuple(placed)


def case_of(trial: Trial) -> Case:
    """The case of a trial."""
    own = parameters_of(trial, LowQueueParameters)
    others = own.fewest_others, own.most_others
    return draw_cases(load_topology(trial.topology), own.case + 1, trial.seed, others)[own.case]
