"""The failure schemes by name, all on the same problem: what they send before a failure and do after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from mininet_topos.errors import BadInputError
from mininet_topos.topology import FailureScenario
from mininet_topos.wording import counted
from te_solver.network import BoolArray
from te_solver.outcome import Outcome, evaluate
from te_solver.protection import ffc_plan, teavar_plan
from te_solver.responses import Response, TrafficPlan, limited, precomputed, rate_rescale, reoptimise, rescale
from te_solver.solve import SolveOptions, solve
from te_solver.values import Allocation, Problem


@dataclass(frozen=True, slots=True)
class SchemeOptions:
    """How schemes plan.

    Attributes
    ----------
    failure_probability
        Chance that a physical link is down (TeaVaR).
    availability
        What TeaVaR promises its bandwidth for.
    """

    solve: SolveOptions = field(default_factory=SolveOptions)
    failure_probability: float = 0.001
    availability: float = 0.99


Respond = Callable[[TrafficPlan, BoolArray, BoolArray, SchemeOptions], Response]
"""(plan, failed tunnels, failed arcs, options) -> what is sent then."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """What is sent before a failure, and after it.

    Attributes
    ----------
    respond : callable
    reserve
        (problem, options) -> what it sends before; None: the allocation that reserves nothing.
    """

    name: str
    summary: str
    respond: Respond
    reserve: Callable[[Problem, SchemeOptions], TrafficPlan] | None = None


def _rescale(plan: TrafficPlan, down: BoolArray, _failed: BoolArray, _options: SchemeOptions) -> Response:
    return rescale(plan, down)


def _low_queue(plan: TrafficPlan, down: BoolArray, _failed: BoolArray, _options: SchemeOptions) -> Response:
    return rate_rescale(plan, down)


def _limit(plan: TrafficPlan, down: BoolArray, _failed: BoolArray, _options: SchemeOptions) -> Response:
    return limited(plan, down)


def _precomputed(plan: TrafficPlan, down: BoolArray, failed: BoolArray, options: SchemeOptions) -> Response:
    return precomputed(plan, down, failed, options.solve)


def _reoptimise(plan: TrafficPlan, down: BoolArray, failed: BoolArray, options: SchemeOptions) -> Response:
    return reoptimise(plan, down, failed, options.solve)


def _reserve_against(problem: Problem, options: SchemeOptions, failures: int) -> TrafficPlan:
    return ffc_plan(problem, failures, options.solve.base_point, solver=options.solve.solver)


def _reserve_by_chance(problem: Problem, options: SchemeOptions) -> TrafficPlan:
    chances = [options.failure_probability] * len(problem.network.topology.link_ids)
    solve = options.solve
    return teavar_plan(problem, chances, options.availability, base_point=solve.base_point, solver=solve.solver)


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("rescaling", "proportional rescaling by the ingress switch", _rescale),
        Scheme("kuijia", "the same, victims in a lower queue", _low_queue),
        Scheme(
            "precomputed",
            "weights for this failure from a second linear program, victims in a lower queue",
            _precomputed,
        ),
        *(
            Scheme(
                f"ffc{failures}",
                f"reserve against any {counted(failures, 'failed link')}, then rescaling",
                _rescale,
                partial(_reserve_against, failures=failures),
            )
            for failures in (1, 2, 3)
        ),
        Scheme("teavar", "reserve by probability, then rescaling within the reserve", _limit, _reserve_by_chance),
        Scheme("reoptimise", "everything computed anew: the bound", _reoptimise),
    )
}


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
        reserve = SCHEMES[name].reserve
        if reserve is not None:
            plans[name] = reserve(problem, options)
        else:
            base = base or solve(problem, options.solve)
            plans[name] = TrafficPlan(base, base.demand_mbps)
    return plans


def respond(name: str, plan: TrafficPlan, failed_arcs: BoolArray, options: SchemeOptions) -> Response:
    """What a scheme does when the arcs in `failed_arcs`, shape (arcs,), carry nothing any more."""
    return SCHEMES[name].respond(plan, plan.problem.tunnels.down(failed_arcs), failed_arcs, options)


def fail(name: str, plan: TrafficPlan, scenario: FailureScenario, options: SchemeOptions) -> Outcome:
    """Outcome of a failure under a scheme whose plan is given."""
    failed_arcs = plan.problem.network.failed_arcs(scenario)
    return evaluate(plan, respond(name, plan, failed_arcs, options), failed_arcs)
