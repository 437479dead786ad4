"""The schemes by name. A new scheme is one pure module and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan import guarantees
from ryu_apps.plan.ffg import plan_ffg
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.sdfast import plan_sdfast
from ryu_apps.plan.shortest import plan_shortest

Planner = Callable[[Topology, PlanOptions], dict[int, RulePlan]]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A recovery scheme: its planner and what it promises.

    Attributes
    ----------
    name, summary : str
    plan : callable
        (topology, options) -> plans by datapath id.
    guarantee : callable
        (topology, options) -> predicate (source, destination, failed mask) that is True where the
        scheme promises delivery; `armor verify` holds it to that.
    modes : tuple of str
        Modes that change its plans.
    loop_free : bool
        Whether it promises that no packet ever loops, however many links fail.
    """

    name: str
    summary: str
    plan: Planner
    guarantee: Callable[[Topology, PlanOptions], guarantees.Promise]
    modes: tuple[str, ...] = ("learned",)
    loop_free: bool = True


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("sdfast", "SD-FAST", plan_sdfast, guarantees.up_to_planned_failures, ("learned", "agent")),
        # Alternates are chosen for one failure each; those of several may lead round.
        Scheme("ffg", "fast-failover groups", plan_ffg, guarantees.alternate_at_the_failure, loop_free=False),
        Scheme("shortest", "shortest paths, no recovery", plan_shortest, guarantees.nothing),
    )
}


def find_scheme(name: str) -> Scheme:
    """Scheme by name.

    Raises
    ------
    BadInputError
        Unknown name; the message lists the schemes.
    """
    if name not in SCHEMES:
        near = get_close_matches(name, SCHEMES, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise BadInputError(f"unknown scheme {name!r}; {hint}schemes: {', '.join(SCHEMES)}")
    return SCHEMES[name]


def plan_network(scheme: str, topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Plans of all switches, by datapath id (`BadInputError` for an unknown scheme)."""
    return find_scheme(scheme).plan(topology, options)
