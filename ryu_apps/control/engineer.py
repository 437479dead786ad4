"""Traffic engineering in a process of its own: a question on standard input, commodities on standard output.

python -m ryu_apps.control.engineer < question.json

The answer is one JSON object: {"commodities": [...], "solved": {...}}, or {"error": sentence} with the exit code of the
error.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import permutations

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.topology import Topology
from ryu_apps.control.decide.traffic import Decision, Question, Solved, question_from_json, without_links
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.sources import equal_commodities, plan_traffic, planned_commodities
from te_solver.demand_files import load_demands, parse_demands
from te_solver.demands import with_classes
from te_solver.network import to_network
from te_solver.responses import TrafficPlan
from te_solver.solve import SolveOptions
from te_solver.tunnels import to_problem
from te_solver.values import DEFAULT_PRIORITY, Demand, Problem


def answer(question: Question) -> Decision:
    """Answer of the question's topology, whose name or file it gives (`decide`)."""
    return decide(question, load_topology(question.topology))


def decide(question: Question, topology: Topology) -> Decision:
    """Commodities of what is best while the avoided links carry nothing.

    A demand that nothing can carry now has tunnels all the same, those of the whole network: its packets are dropped
    and counted where they start, and go again as soon as a link is back.

    Raises
    ------
    BadInputError
        A topology, demands or options that cannot be used.
    SolverError, InfeasibleError
    """
    left = without_links(topology, question.avoided)
    if question.demands or question.given:
        demands = _demands(question, topology)
        found, solved = _decided(question, left, demands)
        wanted = [((each.src, each.dst), each.priority) for each in demands]
    else:
        found, solved = _equal(question, left, None), None
        wanted = [(pair, DEFAULT_PRIORITY) for pair in permutations(topology.node_names, 2)]
    known = {(each.pair, each.priority) for each in found}
    stranded = [each for each in wanted if each not in known]
    spare = {each.pair: each for each in _equal(question, topology, [pair for pair, _ in stranded])}
    kept = (replace(spare[pair], priority=priority) for pair, priority in stranded if pair in spare)
    return Decision((*found, *kept), solved)


def _equal(
    question: Question, topology: Topology, pairs: Sequence[tuple[str, str]] | None
) -> tuple[TunnelCommodity, ...]:
    return equal_commodities(topology, pairs, question.tunnels, question.tunnel_kind, question.metric)


def _decided(
    question: Question, left: Topology, demands: Sequence[Demand]
) -> tuple[tuple[TunnelCommodity, ...], Solved | None]:
    if not left.links:
        return (), Solved("nothing", len(demands), 0, 0.0, 0.0, 0.0)
    problem = _problem(question, left, demands)
    began_s = time.monotonic()
    plan = plan_traffic(problem, _options(question), question.reserved_failures)
    found = planned_commodities(plan, _options(question), precomputes=question.precomputes)
    seconds = time.monotonic() - began_s
    allocation, mbps = plan.allocation, float(plan.granted_mbps.sum())
    size = len(demands), len(problem.tunnels)
    return found, Solved(allocation.solved_by, *size, mbps, allocation.gap, seconds)


def allocate(question: Question, topology: Topology) -> TrafficPlan:
    """What the question's demands get on a topology whose links all work.

    Raises
    ------
    BadInputError
        The question has no demands, or such that cannot be used.
    """
    if not question.demands and not question.given:
        raise BadInputError("no demands are given, so nobody is allocated anything; add demands, as 'random:5:8'")
    problem = _problem(question, topology, _demands(question, topology))
    return plan_traffic(problem, _options(question), question.reserved_failures)


def _problem(question: Question, left: Topology, demands: Sequence[Demand]) -> Problem:
    network = to_network(left, question.default_capacity_mbps)
    return to_problem(network, demands, question.tunnels, question.tunnel_kind, question.metric)


def _options(question: Question) -> SolveOptions:
    return SolveOptions(question.objective, te_solver=question.te_solver)


def _demands(question: Question, topology: Topology) -> Sequence[Demand]:
    demands = _given_demands(question, topology)
    return demands if question.low_to_high is None else with_classes(demands, question.low_to_high)


def _given_demands(question: Question, topology: Topology) -> Sequence[Demand]:
    if question.given:
        return parse_demands(question.given, "request.json", topology)
    return load_demands(question.demands, topology, question.seed)


def main() -> int:
    """Answer the question on standard input."""
    try:
        found = answer(question_from_json(sys.stdin.read()))
    except ArmorError as error:
        json.dump({"error": str(error)}, sys.stdout)
        return error.exit_code
    json.dump(asdict(found), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
