"""Trials of `armor compare --measure`: one failed link, pings across it, every scheme in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.analysis.crankback import CrankbackCase, crankback_cases, longest_crankback
from experiments.campaign.kinds.probed import WatchedParameters
from experiments.campaign.values import Load, Timing, Trial, Variant
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.scheme import Scheme

NAME = "compare"
KIND, PING_MS, PAIRS = "flow", 5.0, 4
TIMING = Timing(before_s=1.5, transient_s=1.0, converged_s=2.0)
CONTROL_DELAY_MS = 5.0


@dataclass(frozen=True, slots=True)
class Measuring:
    """What is measured.

    Attributes
    ----------
    place
        Topology as the user named it, which every network is built from.
    link
        That fails; None: the one with the longest crankback.
    seed
        Draws the order of the variants in each round, and the pairs.
    """

    place: str
    topology: Topology
    link: str | None
    rounds: int
    seed: int


def variant_of(scheme: Scheme, options: PlanOptions) -> Variant:
    """How a scheme is run: the control network of a controller that takes part has a delay of 5 ms one way."""
    delay_ms = None if scheme.restoration is None else CONTROL_DELAY_MS
    return Variant(scheme.name, scheme.mode_of(options), options.planner, delay_ms, options.notification)


def compare_trials(asked: Measuring, variants: Sequence[Variant]) -> tuple[Trial, ...]:
    """Each variant once a round, in an order drawn anew for each.

    Raises
    ------
    BadInputError
        An unknown link, or one that no pair can do without.
    """
    cases = cases_of(asked)
    generator = np.random.default_rng(asked.seed)
    chosen = [cases[0], *(cases[1 + place] for place in generator.permutation(len(cases) - 1)[: PAIRS - 1])]
    orders = [generator.permutation(len(variants)) for _ in range(asked.rounds)]
    return tuple(
        _trial(asked, variants[place], number, chosen) for number, order in enumerate(orders, 1) for place in order
    )


def cases_of(asked: Measuring) -> list[CrankbackCase]:
    """Pairs whose path crosses the failed link, each in one direction, the longest crankback first."""
    names = [str(link) for link in asked.topology.link_ids]
    if asked.link is not None and asked.link not in names:
        raise BadInputError(f"--link {asked.link!r} is no link of {asked.topology.name!r}; use one of {names[0]}, ...")
    link = str(longest_crankback(asked.topology).link) if asked.link is None else asked.link
    found = [case for case in crankback_cases(asked.topology) if str(case.link) == link]
    if not found:
        raise BadInputError(f"--link {link!r} is a bridge, so no pair can recover; name another")
    ordered = sorted(found, key=lambda case: -case.hops_back)
    ends: dict[frozenset[str], CrankbackCase] = {}
    for case in ordered:
        ends.setdefault(frozenset((case.source, case.destination)), case)
    return list(ends.values())


def _trial(asked: Measuring, variant: Variant, number: int, cases: Sequence[CrankbackCase]) -> Trial:
    return Trial(
        trial_id=f"{NAME}/r{number}/{variant.name}",
        kind=KIND,
        topology=asked.place,
        variant=variant,
        round=number,
        failures=1,
        links=(str(cases[0].link),),
        pairs=tuple((case.source, case.destination) for case in cases),
        load=Load(True, PING_MS, None, None, None),
        timing=TIMING,
        seed=asked.seed,
        parameters=WatchedParameters(),
    )
