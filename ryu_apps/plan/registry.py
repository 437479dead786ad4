"""The schemes by name. A new scheme is one pure module and one line here.

Two kinds: schemes of routes (`SCHEMES`) plan from a topology alone; schemes of tunnels (`TUNNEL_SCHEMES`) also need to
know which pairs send over which tunnels with which weights, which is what traffic engineering decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan import guarantees
from ryu_apps.plan import restoration as controlled
from ryu_apps.plan.crankback import plan_cb, plan_cbc
from ryu_apps.plan.ffg import plan_ffg
from ryu_apps.plan.kuijia.plan import TUNNEL_SCHEMES, TunnelScheme, find_tunnel_scheme, plan_tunnels
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.protect.plan import plan_protect
from ryu_apps.plan.restoration import Restoration
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.sdfast import plan_sdfast
from ryu_apps.plan.shortest import plan_shortest
from ryu_apps.plan.sqr.lossless import plan_lossless
from ryu_apps.plan.sqr.plan import plan_sqr

__all__ = [
    "SCHEMES",
    "TUNNEL_SCHEMES",
    "Scheme",
    "TunnelScheme",
    "find_scheme",
    "find_tunnel_scheme",
    "plan_network",
    "plan_tunnels",
]

Planner = Callable[[Topology, PlanOptions], dict[int, RulePlan]]
Guarantee = Callable[[Topology, PlanOptions], guarantees.Promise]


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
        scheme promises delivery by its switches alone; `armor verify` holds it to that.
    modes : tuple of str
        Modes that change its plans.
    loop_free : bool
        Whether it promises that no packet ever loops, however many links fail, by its switches alone.
    restoration : callable or None
        (topology, options) -> what a controller rewrites once it has heard of failures; None: nothing.
    backtracks : bool
        Whether its switches let packets walk back for as long as the failure lasts and nobody rewrites the routes.
    """

    name: str
    summary: str
    plan: Planner
    guarantee: Guarantee
    modes: tuple[str, ...] = ("learned",)
    loop_free: bool = True
    restoration: Callable[[Topology, PlanOptions], Restoration] | None = None
    backtracks: bool = False

    @property
    def restored_guarantee(self) -> Guarantee:
        """What it promises once everybody has acted: the controller too, where it rewrites routes."""
        return self.guarantee if self.restoration is None else guarantees.whenever_joined


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("sdfast", "SD-FAST", plan_sdfast, guarantees.up_to_planned_failures, ("learned", "agent")),
        # Alternates are chosen for one failure each; those of several may lead round.
        Scheme("ffg", "fast-failover groups", plan_ffg, guarantees.alternate_at_the_failure, loop_free=False),
        Scheme("shortest", "shortest paths, no recovery", plan_shortest, guarantees.nothing),
        Scheme("cb", "crankback", plan_cb, guarantees.up_to_planned_failures, backtracks=True),
        Scheme(
            "cbc",
            "crankback, and a controller that rewrites routes",
            plan_cbc,
            guarantees.up_to_planned_failures,
            restoration=controlled.restore_cbc,
            backtracks=True,
        ),
        Scheme(
            "restoration",
            "shortest paths that a controller rewrites",
            controlled.plan_restoration,
            guarantees.nothing,
            restoration=controlled.restore_shortest,
        ),
        Scheme(
            "ffg_restoration",
            "fast-failover groups, and a controller that rewrites routes",
            controlled.plan_ffg_restoration,
            guarantees.alternate_at_the_failure,
            loop_free=False,
            restoration=controlled.restore_ffg,
        ),
        Scheme(
            "protect",
            "1+1 protection: every packet of a protected flow by two disjoint tunnels",
            plan_protect,
            guarantees.a_tunnel_left,
        ),
        Scheme(
            "sqr",
            "SQR: shortest paths; the packets of a link that dies are sent again by a loop-free alternate",
            plan_sqr,
            guarantees.alternate_of_a_kept_link,
        ),
        Scheme(
            "lossless",
            "SD-FAST, and SQR before the ports of some links",
            plan_lossless,
            guarantees.up_to_planned_failures,
            ("learned", "agent"),
        ),
    )
}


def find_scheme(name: str) -> Scheme:
    """Scheme by name.

    Raises
    ------
    BadInputError
        Unknown name, with the schemes listed; or a scheme of tunnels, which this one does not know.
    """
    if name in TUNNEL_SCHEMES:
        raise BadInputError(
            f"scheme {name!r} needs tunnels and weights, which are not given here; use 'armor plan' or 'armor verify'"
        )
    if name not in SCHEMES:
        known = (*SCHEMES, *TUNNEL_SCHEMES)
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise BadInputError(f"unknown scheme {name!r}; {hint}schemes: {', '.join(known)}")
    return SCHEMES[name]


def plan_network(scheme: str, topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Plans of all switches, by datapath id (`BadInputError` for an unknown scheme)."""
    return find_scheme(scheme).plan(topology, options)
