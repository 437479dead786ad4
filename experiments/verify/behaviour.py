"""How a scheme behaves beside its plans, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.verify.walk.rewritten import Restoration
from mininet_topos.topology import Topology
from ryu_apps.plan.guarantees import Promise
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.scheme import Scheme


@dataclass(frozen=True)
class Behaviour:
    """What a verification must know of a scheme.

    Attributes
    ----------
    mode
        How rows come after a failure ("none", "learned", "agent").
    promise : callable
        What is delivered whatever part of the network knows, before any controller acts.
    loop_free
        Whether nothing ever loops while no controller writes.
    backtracks
        Whether packets backtrack until the link returns or a controller rewrites the routes.
    restoration
        What the controller rewrites.
    restored : callable or None
        What is delivered once the controller has rewritten it.
    """

    mode: str
    promise: Promise
    loop_free: bool = True
    backtracks: bool = False
    restoration: Restoration | None = None
    restored: Promise | None = None


def behaviour_of(scheme: Scheme, topology: Topology, options: PlanOptions) -> Behaviour:
    """Behaviour of a registered scheme."""
    return Behaviour(
        scheme.mode_of(options),
        scheme.guarantee(topology, options),
        scheme.loop_free,
        scheme.backtracks,
        None if scheme.restoration is None else scheme.restoration(topology, options),
        None if scheme.restoration is None else scheme.restored_guarantee(topology, options),
    )
