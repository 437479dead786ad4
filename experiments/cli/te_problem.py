"""From command line arguments to a problem: topology, capacities, demands, tunnels."""

from __future__ import annotations

import argparse

import numpy as np

from experiments.terminal.inputs import load_topology
from experiments.terminal.output import hold_note
from te_solver.demand_files import load_demands
from te_solver.demands import with_classes
from te_solver.network import Network, to_network
from te_solver.tunnels import to_problem
from te_solver.values import Problem

# Without --demands: this many random pairs (Kuijia section 4.2), each asking for the median capacity.
DEFAULT_PAIRS = 40


def load_problem(arguments: argparse.Namespace) -> Problem:
    """Problem of the arguments that `experiments.cli.te` declares.

    Raises
    ------
    BadInputError
        Topology, demands or options that cannot be used.
    """
    topology = load_topology(arguments.topology)
    network = to_network(topology, arguments.default_capacity_mbps)
    demands = load_demands(arguments.demands or _default_spec(network), topology, arguments.seed)
    if arguments.low_to_high is not None:
        demands = with_classes(demands, arguments.low_to_high)
    problem = to_problem(network, demands, arguments.tunnels, arguments.tunnel_kind, arguments.metric)
    _note_stranded(problem)
    return problem


def _default_spec(network: Network) -> str:
    nodes = len(network.node_names)
    pairs = min(DEFAULT_PAIRS, nodes * (nodes - 1))
    spec = f"random:{pairs}:{np.median(network.capacity_mbps):g}"
    hold_note(f"note: no --demands given; taking {spec}")
    return spec


def _note_stranded(problem: Problem) -> None:
    counts = np.diff(problem.tunnels.pair_starts)
    stranded = [demand for demand, count in zip(problem.demands, counts.tolist(), strict=True) if not count]
    if stranded:
        first = stranded[0]
        more = f" (and {len(stranded) - 1} more)" if len(stranded) > 1 else ""
        hold_note(f"note: no path leads from {first.src} to {first.dst}{more}; such demands get nothing")
