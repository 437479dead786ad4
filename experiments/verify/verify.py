"""`armor verify`: every failure case of a scheme, walked from the first packet until the path settles.

For each ordered pair and each set of failed links on its primary path: all possibilities of a
partly updated network (possibilities.py), then the real sequence of packets (packet_stream.py). Failed
sets are shared out over processes in batches; what is found does not depend on how many.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from experiments.verify.behaviour import behaviour_of
from experiments.verify.cases import failure_masks, node_masks
from experiments.verify.result import TableSizes, Tally, VerifyResult
from experiments.verify.verifier import Verifier
from experiments.verify.workers import tallies
from machine.collector import collector_paused
from mininet_topos.topology import Topology
from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import RulePlan
from ryu_apps.schemes import find_route_scheme

Progress = Callable[[int, int], object]
CASES_PER_BATCH = 20_000
_BATCHES_WORTH_A_PROCESS = 2


@dataclass(frozen=True)
class Request:
    """What to verify.

    Attributes
    ----------
    failures
        How many links fail at once.
    sample
        Number of failure sets to draw; None = all.
    seed
        Seed of the draw.
    nodes
        Switches fail instead, each with all its links.
    """

    topology: Topology
    scheme: str
    options: PlanOptions
    failures: int = 1
    sample: int | None = None
    seed: int = 1
    nodes: bool = False


def verify_scheme(request: Request, jobs: int | None = None, progress: Progress | None = None) -> VerifyResult:
    """Verify a scheme on a topology.

    Parameters
    ----------
    jobs
        At most this many processes; None: one where more would not pay, else one a core. The result is the same for
        any number.
    progress : callable, optional
        Called with (batches of failed sets done, all batches).

    Raises
    ------
    BadInputError
        Unknown scheme, or failures or sample out of range.
    """
    masks = masks_of(request)
    with collector_paused():
        return verify_planned(request, planned(request), masks, jobs, progress)


def masks_of(request: Request) -> list[int]:
    """The sets of failed links of a request, as masks (`BadInputError` as `failure_masks`)."""
    if request.nodes:
        return node_masks(request.topology, request.failures, request.sample, request.seed)
    return failure_masks(len(request.topology.link_ids), request.failures, request.sample, request.seed)


@dataclass(frozen=True)
class Planned:
    """Plans by datapath id, and the time that they took."""

    plans: dict[int, RulePlan]
    seconds: float


def planned(request: Request) -> Planned:
    """Plans of a request; they serve any failures (`BadInputError`: unknown scheme)."""
    began = perf_counter()
    plans = find_route_scheme(request.scheme).plan(request.topology, request.options)
    return Planned(plans, perf_counter() - began)


def verify_planned(
    request: Request, planned: Planned, masks: list[int], jobs: int | None = None, progress: Progress | None = None
) -> VerifyResult:
    """`verify_scheme` with plans that are there already, and the sets of failed links of `masks_of`."""
    began, plans = perf_counter(), planned.plans
    behaviour = behaviour_of(find_route_scheme(request.scheme), request.topology, request.options)
    verifier = Verifier(request.topology, plans, behaviour, nodes=request.nodes)
    batches = verifier.batches(masks, CASES_PER_BATCH)
    processes = min(_worthwhile(len(batches)) if jobs is None else jobs, len(batches))
    tally = Tally()
    for done, part in enumerate(tallies(verifier, batches, processes), start=1):
        tally.add(part)
        if progress is not None:
            progress(done, len(batches))
    space = next(iter(plans.values())).tag_space
    return VerifyResult(
        topology=request.topology.name,
        scheme=request.scheme,
        mode=behaviour.mode,
        planner=request.options.planner,
        routes=request.options.routes,
        failures=request.failures,
        max_failures=space[1] if space[0] else None,
        failure_sets=len(masks),
        tally=tally,
        sizes=sizes_of(plans),
        restores=behaviour.restoration is not None,
        plan_seconds=planned.seconds,
        seconds=perf_counter() - began,
        jobs=processes,
        nodes=request.nodes,
    )


def coverage(
    topology: Topology,
    scheme: str,
    options: PlanOptions,
    failures: int = 1,
    sample: int | None = None,
    *,
    seed: int = 1,
) -> dict[str, Any]:
    """What a scheme covers, as `armor verify --json` says it, in this process alone (see `Request`)."""
    return verify_scheme(Request(topology, scheme, options, failures, sample, seed), jobs=1).to_json()


def sizes_of(plans: Mapping[int, RulePlan]) -> dict[str, TableSizes]:
    """Flow rows, groups and backup rows in the switches of a network."""
    counts = {
        "flows": [len(plan.flows) for plan in plans.values()],
        "groups": [len(plan.groups) for plan in plans.values()],
        "backups": [sum(row.tag_id != NO_TAG for row in plan.backups) for plan in plans.values()],
    }
    return {name: TableSizes.of(each) for name, each in counts.items()}


def _worthwhile(batches: int) -> int:
    return max(1, min(len(os.sched_getaffinity(0)), batches // _BATCHES_WORTH_A_PROCESS))
