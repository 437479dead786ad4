"""What a scheme is: one value that says everything about it.

`ryu_apps/schemes` holds those of Armor, a module each; an installed package brings its own by an entry point. No other
module may know a scheme by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan import guarantees
from ryu_apps.plan.choices import NO_MODE, Mode
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.restoration import Restoration
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.slot_layers import Layers

Planner = Callable[[Topology, PlanOptions], dict[int, RulePlan]]
NotCovered = Mapping[tuple[str, LinkId], tuple[str, ...]]
"""Destinations that a switch cannot lead past a failed link of its own, by (switch, link)."""
Guarantee = Callable[[Topology, PlanOptions], guarantees.Promise]

CONTROLLER = "ryu_apps.control.controller:Controller"
TUNNEL_CONTROLLER = "ryu_apps.control.tunnels:TunnelController"
TUNNEL_RESOURCES = (
    "ryu_apps.control.decide.tunnel_resources:TUNNELS",
    "ryu_apps.control.decide.tunnel_resources:ENGINEERING",
)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_COLOUR = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class TunnelFailover:
    """What ingress switches do about failed tunnels.

    Attributes
    ----------
    layers : callable
        Layers that failures add to a commodity's slots (slot_layers.py).
    recovers
        Whether flows of failed tunnels go on by others.
    tags_victims
        Whether those are tagged, so that every switch needs rows for victims.
    keeps_others
        Whether flows of live tunnels stay where they are.
    precomputes
        Whether victims are split by weights that were solved beforehand for the failed link.
    reserved_failures
        For so many failed links at once tunnels keep a reserve (FFC); 0: none.
    """

    layers: Layers
    recovers: bool = True
    tags_victims: bool = False
    keeps_others: bool = True
    precomputes: bool = False
    reserved_failures: int = 0


def _needs_tunnels(_topology: Topology, _options: PlanOptions) -> NoReturn:
    raise BadInputError("the scheme needs tunnels and weights, which are not given here; use 'armor plan'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A recovery scheme.

    Attributes
    ----------
    name
        As users write it: small letters, digits and underscores.
    number
        Owner of its rows, in the top byte of their cookies: 1..255, from 128 on for schemes outside Armor. None: its
        rows are those of schemes that it joins.
    summary
        A few words for lists and help texts.
    label, colour
        In figures: its name there, and #rrggbb.
    plan : callable
        (topology, options) -> plans by datapath id. Left out where `tunnels` says what is planned.
    guarantee : callable
        (topology, options) -> predicate (source, destination, failed mask) that is True where the
        scheme promises delivery by its switches alone; `armor verify` holds it to that.
    promise
        The same in words.
    not_covered
        (topology, options) -> what its switches hold no repair for; `armor plan` says it. None: nothing to say.
    modes
        Modes that change its plans, the default first; empty: it has no modes.
    loop_free
        Whether it promises that no packet ever loops, however many links fail, by its switches alone.
    backtracks
        Whether its switches let packets backtrack for as long as the failure lasts and nobody rewrites the routes.
    restoration
        (topology, options) -> what a controller rewrites once it knows of failures; None: nothing.
    controller
        Class of its controller, "module:class", a `ryu_apps.control.controller.Controller`.
    resources
        REST resources that it adds, each a `ryu_apps.control.decide.resource.Resource`, "module:value".
    tunnels
        For a scheme that splits traffic over tunnels; None: it routes by the topology alone.
    protects
        Whether flows that the user names are protected end to end (`PlanOptions.protection`).
    buffers
        Whether switches buffer the packets of links that the user names (`PlanOptions.replayed`).
    keeps_order
        Whether packets that it spares from loss also arrive in order.
    """

    name: str
    number: int | None
    summary: str
    label: str
    colour: str
    plan: Planner = _needs_tunnels
    guarantee: Guarantee = guarantees.nothing
    promise: str = ""
    not_covered: Callable[[Topology, PlanOptions], NotCovered] | None = None
    modes: tuple[Mode, ...] = ()
    loop_free: bool = True
    backtracks: bool = False
    restoration: Callable[[Topology, PlanOptions], Restoration] | None = None
    controller: str = CONTROLLER
    resources: tuple[str, ...] = ()
    tunnels: TunnelFailover | None = None
    protects: bool = False
    buffers: bool = False
    keeps_order: bool = True

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadInputError(f"scheme name {self.name!r} is no name; use small letters, digits and underscores")
        if self.number is not None and not 0 < self.number < 256:
            raise BadInputError(f"scheme {self.name!r} has number {self.number}; use 128 to 255")
        if not _COLOUR.fullmatch(self.colour):
            raise BadInputError(f"scheme {self.name!r} has colour {self.colour!r}; write #rrggbb in small letters")

    @property
    def restored_guarantee(self) -> Guarantee:
        """What it promises once everybody has acted: the controller too, where it rewrites routes."""
        return self.guarantee if self.restoration is None else guarantees.whenever_joined

    def mode_of(self, options: PlanOptions) -> str:
        """The mode of these options as results name it; "none" for a scheme without modes."""
        return options.mode if self.modes else NO_MODE


def joined(schemes: Mapping[str, Scheme], new: Scheme, taken: Mapping[int, str]) -> dict[str, Scheme]:
    """Schemes by name with one more.

    Parameters
    ----------
    taken
        Other owners of rows, by their numbers.

    Raises
    ------
    BadInputError
        Another scheme has the name, or another owner the number.
    """
    if new.name in schemes:
        raise BadInputError(f"there is a scheme {new.name!r} already; choose another name")
    owners = dict(taken) | {each.number: each.name for each in schemes.values() if each.number is not None}
    if new.number in owners:
        raise BadInputError(f"number {new.number} belongs to {owners[new.number]!r}; choose another from 128 to 255")
    return {**schemes, new.name: new}
