"""The schemes: a module of this folder each, and those that installed packages bring (entry point `armor.schemes`).

A module is called as its scheme, and holds it as the value `SCHEME`. An entry point is called as its scheme, and leads
to such a value. A scheme that cannot be loaded is refused together with all others: which rows of a switch are Armor's
depends on the numbers of all of them.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from mininet_topos.wording import one_line
from ryu_apps.plan.ids import Owner
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import Failures, TunnelPlanner
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.scheme import Scheme, joined
from ryu_apps.plan.scheme_names import Source, scheme_sources


@cache
def all_schemes() -> Mapping[str, Scheme]:
    """Schemes by name: Armor's in the order of their names, then those of installed packages.

    Raises
    ------
    BadInputError
        One cannot be loaded, or takes a name or a number that is taken.
    """
    found: dict[str, Scheme] = {}
    for source in scheme_sources():
        found = _with(found, source)
    return MappingProxyType(found)


def _with(found: Mapping[str, Scheme], source: Source) -> dict[str, Scheme]:
    try:
        return joined(found, _load(source.name, source.place), {int(each): each.name for each in Owner})
    except BadInputError as error:
        raise BadInputError(f"{source.owner}: {error}") from error


def _load(name: str, place: str) -> Scheme:
    try:
        value = pkgutil.resolve_name(place)
    except BadInputError:
        raise
    except Exception as error:
        what = one_line(f"{type(error).__name__}: {error}")
        raise BadInputError(f"scheme {name!r} cannot be loaded ({what}); repair or uninstall it") from error
    if not isinstance(value, Scheme):
        raise BadInputError(f"scheme {name!r} is a {type(value).__name__}, not a ryu_apps.plan.scheme.Scheme")
    if value.name != name:
        raise BadInputError(f"scheme {name!r} calls itself {value.name!r}; give both one name")
    return value


def route_schemes() -> dict[str, Scheme]:
    """Those that plan from a topology alone, by name."""
    return {name: scheme for name, scheme in all_schemes().items() if scheme.tunnels is None}


def tunnel_schemes() -> dict[str, Scheme]:
    """Those that split traffic over tunnels, by name."""
    return {name: scheme for name, scheme in all_schemes().items() if scheme.tunnels is not None}


def find_scheme(name: str) -> Scheme:
    """Scheme by name.

    Raises
    ------
    BadInputError
        Unknown name, with the schemes listed; or as `all_schemes`.
    """
    return _find(name, all_schemes(), "scheme")


def find_route_scheme(name: str) -> Scheme:
    """Scheme by name that plans from a topology alone (`BadInputError` as `find_scheme`, and for one of tunnels)."""
    scheme = find_scheme(name)
    if scheme.tunnels is not None:
        raise BadInputError(
            f"scheme {name!r} needs tunnels and weights, which are not given here; use 'armor plan' or 'armor verify'"
        )
    return scheme


def find_tunnel_scheme(name: str) -> Scheme:
    """Scheme by name that splits traffic over tunnels (`BadInputError` as `find_scheme`)."""
    return _find(name, tunnel_schemes(), "tunnel scheme")


def plan_network(scheme: str, topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Plans of all switches, by datapath id (`BadInputError` as `find_route_scheme`)."""
    return find_route_scheme(scheme).plan(topology, options)


def plan_tunnels(
    scheme: str,
    topology: Topology,
    commodities: Iterable[TunnelCommodity],
    options: TunnelOptions | None = None,
    failures: Failures = (),
) -> dict[int, RulePlan]:
    """Plans of all switches by datapath id, as they are after the failures that the ingress switches know of.

    Raises
    ------
    BadInputError
        Unknown scheme, commodities that do not go together, or options that the scheme cannot use.
    PlanLimitError
        More tunnels than labels.
    """
    return TunnelPlanner(find_tunnel_scheme(scheme), topology, commodities, options or TunnelOptions()).plans(failures)


def _find(name: str, known: Mapping[str, Scheme], what: str) -> Scheme:
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise BadInputError(f"unknown {what} {name!r}; {hint}schemes: {', '.join(known)}")
    return known[name]
