"""The failure schemes by name, all on the same problem: what they send before a failure and do after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mininet_topos.errors import BadInputError
from mininet_topos.topology import FailureScenario
from te_solver.network import BoolArray
from te_solver.outcome import Outcome, evaluate
from te_solver.protection import ffc_plan, teavar_plan
from te_solver.responses import Response, TrafficPlan, limited, precomputed, rate_rescale, reoptimise, rescale
from te_solver.solve import SolveOptions, solve
from te_solver.values import Allocation, Problem

SCHEMES = {
    "rescaling": "proportional rescaling by the ingress switch",
    "kuijia": "the same, victims in a lower queue",
    "precomputed": "weights for this failure from a second linear program, victims in a lower queue",
    "ffc1": "reserve against any 1 failed link, then rescaling",
    "ffc2": "reserve against any 2 failed links, then rescaling",
    "ffc3": "reserve against any 3 failed links, then rescaling",
    "teavar": "reserve by probability, then rescaling within the reserve",
    "reoptimise": "everything computed anew: the bound",
}


@dataclass(frozen=True, slots=True)
class SchemeOptions:
    """How schemes plan.

    Attributes
    ----------
    solve : SolveOptions
    failure_probability : float
        Chance that a physical link is down (TeaVaR).
    availability : float
        What TeaVaR promises its bandwidth for.
    """

    solve: SolveOptions = field(default_factory=SolveOptions)
    failure_probability: float = 0.001
    availability: float = 0.99


def plan_schemes(problem: Problem, names: Sequence[str], options: SchemeOptions) -> dict[str, TrafficPlan]:
    """What every scheme sends before any failure; schemes that reserve nothing share one allocation.

    Raises
    ------
    BadInputError
        Unknown scheme, or options that a scheme cannot use.
    SolverError
        A solver failed.
    """
    for name in names:
        if name not in SCHEMES:
            raise BadInputError(f"unknown scheme {name!r}; use one of {', '.join(SCHEMES)}")
    plans: dict[str, TrafficPlan] = {}
    base: Allocation | None = None
    for name in names:
        if name.startswith("ffc"):
            plans[name] = ffc_plan(problem, int(name.removeprefix("ffc")), options.solve.base_point)
        elif name == "teavar":
            chances = [options.failure_probability] * len(problem.network.topology.link_ids)
            plans[name] = teavar_plan(problem, chances, options.availability, base_point=options.solve.base_point)
        else:
            base = base or solve(problem, options.solve)
            plans[name] = TrafficPlan(base, base.demand_mbps)
    return plans


def respond(name: str, plan: TrafficPlan, failed_arcs: BoolArray, options: SchemeOptions) -> Response:
    """What a scheme does when the arcs in `failed_arcs`, shape (arcs,), carry nothing any more."""
    dead = plan.problem.tunnels.dead(failed_arcs)
    if name == "kuijia":
        return rate_rescale(plan, dead)
    if name == "precomputed":
        return precomputed(plan, dead, failed_arcs, options.solve)
    if name == "teavar":
        return limited(plan, dead)
    if name == "reoptimise":
        return reoptimise(plan, dead, failed_arcs, options.solve)
    return rescale(plan, dead)


def fail(name: str, plan: TrafficPlan, scenario: FailureScenario, options: SchemeOptions) -> Outcome:
    """Outcome of a failure under a scheme whose plan is given."""
    failed_arcs = plan.problem.network.failed_arcs(scenario)
    return evaluate(plan, respond(name, plan, failed_arcs, options), failed_arcs)
