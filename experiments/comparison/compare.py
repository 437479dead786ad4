"""Schemes side by side: `armor verify` of each, and what their rows cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from experiments.comparison.decide.header_bits import header_bits
from experiments.comparison.decide.row import FIRST, SETTLED, UPDATING, Row
from experiments.verify.result import VerifyResult
from experiments.verify.verify import Request, planned, verify_planned
from machine.collector import collector_paused
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import uses_agent
from ryu_apps.plan.scheme import Scheme
from ryu_apps.schemes import find_route_scheme, route_schemes


@dataclass(frozen=True)
class Compared:
    """A scheme in one mode, and its rows.

    Attributes
    ----------
    broken
        Sentences: what breaks the scheme's promise.
    """

    rows: tuple[Row, ...]
    broken: tuple[str, ...]


def schemes_named(names: Sequence[str]) -> list[Scheme]:
    """Schemes to compare; without names all that can be.

    Raises
    ------
    BadInputError
        Unknown name, a name twice, or a scheme that serves no pairs of hosts by itself.
    """
    if not names:
        return [scheme for scheme in route_schemes().values() if not (scheme.protects or scheme.buffers)]
    found = [find_route_scheme(name) for name in names]
    for number, scheme in enumerate(found):
        if scheme.protects or scheme.buffers:
            what = "flows" if scheme.protects else "links"
            raise BadInputError(
                f"{scheme.name!r} serves {what} that the user names, so pairs cannot be compared; "
                f"use 'armor verify {scheme.name}'"
            )
        if scheme in found[:number]:
            raise BadInputError(f"{scheme.name!r} stands twice; keep one of them")
    return found


def modes_of(scheme: Scheme, request: Request, mode: str | None) -> list[Request]:
    """A request for each mode of a scheme, or for one; one request where it has no modes."""
    modes = [each.name for each in scheme.modes] or [request.options.mode]
    return [
        replace(request, scheme=scheme.name, options=replace(request.options, mode=each))
        for each in modes
        if mode in (None, each) or not scheme.modes
    ]


def compare_scheme(
    request: Request, masks: Mapping[int, list[int]], jobs: int | None, progress: Callable[[int, int], object]
) -> Compared:
    """Rows of one scheme and mode, planned once, for each number of failures.

    Parameters
    ----------
    masks
        Sets of failed links, by how many fail at once.
    progress
        Called with (batches of failed sets done, all batches), anew for each number of failures.

    Raises
    ------
    BadInputError
        As `verify_scheme`.
    """
    rows: list[Row] = []
    broken: list[str] = []
    with collector_paused():
        plans = planned(request)
        bits = header_bits(plans.plans.values())
        for failures, sets in masks.items():
            result = verify_planned(replace(request, failures=failures), plans, sets, jobs, progress)
            rows += rows_of(result, bits)
            broken += [f"{request.scheme}, {result.mode}: {example}" for example in result.tally.examples]
    return Compared(tuple(rows), tuple(broken))


def compare_schemes(requests: Iterable[Request], masks: Mapping[int, list[int]], jobs: int | None = None) -> Compared:
    """Rows of several schemes and modes; parameters and errors as of `compare_scheme`."""
    found = [compare_scheme(request, masks, jobs, lambda _done, _every: None) for request in requests]
    return Compared(
        tuple(row for each in found for row in each.rows), tuple(line for each in found for line in each.broken)
    )


def rows_of(result: VerifyResult, bits: int) -> list[Row]:
    """A row for each stage of a verification; `bits` of the header are used."""
    tally = result.tally
    stages = {FIRST: tally.transient, UPDATING: tally.updating, SETTLED: tally.converged}
    if not result.restores:
        del stages[UPDATING]
    return [
        Row(
            scheme=result.scheme,
            mode=result.mode,
            failures=result.failures,
            stage=stage,
            cases=tally.cases,
            parted=tally.parted,
            delivered=fates.delivered,
            looped=fates.looped,
            dropped=fates.dropped,
            micro_loops=tally.micro_loops if result.restores else None,
            first_stretch=result.first_stretch,
            mean_stretch=result.mean_stretch,
            longest_crankback=tally.longest_crankback,
            flows_most=result.sizes["flows"].most,
            groups_most=result.sizes["groups"].most,
            header_bits=bits,
            flows_mean=result.sizes["flows"].mean,
            groups_mean=result.sizes["groups"].mean,
            needs=_needs(result),
        )
        for stage, fates in stages.items()
    ]


def _needs(result: VerifyResult) -> str:
    if result.restores:
        return "controller"
    return "agent" if uses_agent(result.mode) else "nobody"
