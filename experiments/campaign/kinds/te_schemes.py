"""Kind "te-schemes": schemes of traffic engineering with one demand matrix, every link failed in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from experiments.campaign.kind import TrialKind
from experiments.campaign.parameters import Parameters, plain, typed
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import FailureScenario
from te_solver.demands import gravity
from te_solver.network import to_network
from te_solver.schemes import SCHEMES, SchemeOptions, fail, plan_schemes
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem
from te_solver.values import Problem


@dataclass(frozen=True, slots=True)
class SchemesParameters(Parameters):
    """One demand matrix.

    Attributes
    ----------
    run
        Which matrix of the trial's seed.
    load
        Demand volume, of the largest that the network carries whole.
    capacity_mbps
        Of links whose capacity the topology does not state.
    """

    run: int
    load: float
    capacity_mbps: float


@dataclass(frozen=True, slots=True)
class SchemeOutcome:
    """One scheme, in shares of the optimum.

    Attributes
    ----------
    admitted
        Without a failure.
    lost, aboriginal_lost
        Mean over all single link failures; of the flows that no failure concerns.
    """

    admitted: float
    lost: float
    aboriginal_lost: float
    mean_link_utilization: float


@dataclass(frozen=True, slots=True)
class SchemesRow:
    """What a trial of this kind measured."""

    topology: str
    parameters: SchemesParameters
    optimum_mbps: float
    asked_mbps: float
    schemes: Mapping[str, SchemeOutcome]


def read_rows(rows: Iterable[Json]) -> tuple[SchemesRow, ...]:
    """Good rows of this kind among stored ones (`BadInputError` when one is of another version)."""
    return tuple(
        SchemesRow(
            row["topology"],
            SchemesParameters.from_json(row["parameters"]),
            row["optimum_mbps"],
            row["asked_mbps"],
            {name: typed(SchemeOutcome, each) for name, each in row["schemes"].items()},
        )
        for row in rows
        if row["kind"] == KIND.name and "schemes" in row
    )


def compute(trial: Trial) -> Json:
    """For every scheme: share of the optimum admitted, and mean share of it lost over all single link failures."""
    problem = _problem(trial)
    options = SchemeOptions(SolveOptions(te_solver="fast"))
    plans = plan_schemes(problem, list(SCHEMES), options)
    optimum_mbps = float(plans["reoptimise"].granted_mbps.sum())
    schemes = {}
    for name, plan in plans.items():
        outcomes = [
            fail(name, plan, FailureScenario(links=frozenset({link})), options)
            for link in problem.network.topology.link_ids
        ]
        loads = problem.tunnels.arc_loads(plan.rates_mbps)
        schemes[name] = plain(
            SchemeOutcome(
                admitted=float(plan.granted_mbps.sum()) / optimum_mbps,
                lost=max(0.0, float(np.mean([1 - outcome.total.after_mbps / optimum_mbps for outcome in outcomes]))),
                aboriginal_lost=float(np.mean([outcome.aboriginal.lost for outcome in outcomes])),
                mean_link_utilization=float(np.mean(loads / problem.network.capacity_mbps)),
            )
        )
    return {"optimum_mbps": optimum_mbps, "asked_mbps": float(problem.demands_mbps.sum()), "schemes": schemes}


def _problem(trial: Trial) -> Problem:
    own, topology = parameters_of(trial, SchemesParameters), load_topology(trial.topology)
    demands = gravity(topology, own.capacity_mbps, 1000 * trial.seed + own.run)
    problem = to_problem(to_network(topology, own.capacity_mbps), demands)
    fullest = solve(problem, SolveOptions("min-max-utilisation")).value
    return problem.with_volumes(problem.demands_mbps * own.load / fullest)


def runner(_settings: TestbedSettings) -> Callable[[Trial], Json]:
    """What runs such trials: they need nothing that acts."""
    return compute


KIND = TrialKind("te-schemes", f"{__name__}:runner", lambda _trial: 2.0, root=False)
