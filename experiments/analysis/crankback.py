"""Which pair and which failed link make a packet backtrack, and how far: arithmetic on the trees of the planner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId, Topology
from te_solver.routes import NO_LINK, IntArray, ResidualRoutes


@dataclass(frozen=True, slots=True)
class CrankbackCase:
    """A pair, a failed link of its primary path, and what the first packets do.

    Attributes
    ----------
    primary
        Path while nothing is broken.
    first_walk
        Way of the first packet that meets the failure: to the failure, back, and on.
    new_path
        Way once every switch on the primary knows what its packets found out; it never backtracks. Notified
        switches may know a shorter one.
    hops_back
        Links that the first packet crosses backwards.
    """

    source: str
    destination: str
    link: LinkId
    primary: tuple[Direction, ...]
    first_walk: tuple[Direction, ...]
    new_path: tuple[Direction, ...]
    hops_back: int


def crankback_cases(topology: Topology, routes: str = "spt", metric: str = "hops") -> Iterator[CrankbackCase]:
    """Yield every (ordered pair, link of its primary path) that stays connected without the link, in node order."""
    residual = ResidualRoutes(topology, routes, metric)
    base = residual.next_links()
    for source in topology.node_names:
        for destination in topology.node_names:
            if source == destination:
                continue
            primary = _path(residual, base, source, destination)
            for place, direction in enumerate(primary or ()):
                case = _case(residual, (source, destination), primary or (), place, topology.link_id(direction))
                if case is not None:
                    yield case


@lru_cache(maxsize=4)
def hops_back_of(topology: Topology) -> Mapping[tuple[str, str, LinkId], int]:
    """Hops that the first packet of (source, destination) backtracks from each link of its primary path."""
    return {(case.source, case.destination, case.link): case.hops_back for case in crankback_cases(topology)}


def longest_crankback(topology: Topology, routes: str = "spt", metric: str = "hops") -> CrankbackCase:
    """The case with the longest crankback; among equals the first in node order.

    Raises
    ------
    BadInputError
        No link can fail without parting the pair that uses it.
    """
    best = max(crankback_cases(topology, routes, metric), key=lambda case: case.hops_back, default=None)
    if best is None:
        raise BadInputError(f"every link of {topology.name!r} is a bridge, so no pair can recover; choose a meshed one")
    return best


def find_case(
    topology: Topology, source: str, destination: str, link: LinkId | None, routes: str = "spt", *, metric: str = "hops"
) -> CrankbackCase:
    """The case of a given pair; the link with the longest crankback when none is given.

    Raises
    ------
    BadInputError
        The link is not on the primary path, or the pair cannot recover.
    """
    cases = [
        case
        for case in crankback_cases(topology, routes, metric)
        if (case.source, case.destination) == (source, destination) and link in (None, case.link)
    ]
    if not cases:
        what = "any link of its primary path" if link is None else f"{link}"
        raise BadInputError(
            f"{source} to {destination} cannot lose {what} and stay connected on another path; "
            "choose another pair, or a link of its primary path that is no bridge"
        )
    return max(cases, key=lambda case: case.hops_back)


def _case(
    residual: ResidualRoutes, pair: tuple[str, str], primary: tuple[Direction, ...], place: int, link: LinkId
) -> CrankbackCase | None:
    table = residual.next_links(frozenset([link]))
    onward = _path(residual, table, primary[place].src, pair[1])
    new_path = _path(residual, table, pair[0], pair[1])
    if onward is None or new_path is None:
        return None
    backward = [Direction(hop.dst, hop.src, hop.key) for hop in reversed(primary[:place])]
    hops_back = sum(1 for _ in _common_start(backward, onward))
    return CrankbackCase(
        source=pair[0],
        destination=pair[1],
        link=link,
        primary=primary,
        first_walk=primary[:place] + onward,
        new_path=_shortcut(primary[:place] + onward, hops_back, place),
        hops_back=hops_back,
    )


def _shortcut(walk: tuple[Direction, ...], hops_back: int, place: int) -> tuple[Direction, ...]:
    """The walk without its way to the failure and back."""
    return walk[: place - hops_back] + walk[place + hops_back :]


def _common_start(first: list[Direction], second: tuple[Direction, ...]) -> Iterator[Direction]:
    for one, other in zip(first, second, strict=False):
        if one != other:
            return
        yield one


def _path(residual: ResidualRoutes, table: IntArray, source: str, destination: str) -> tuple[Direction, ...] | None:
    """Path along a table of next links; None when there is none."""
    order = residual.topology.index_of
    target, node, path = order[destination], source, []
    while node != destination:
        number = int(table[order[node], target])
        if number == NO_LINK:
            return None
        path.append(residual.links[number].direction)
        node = path[-1].dst
    return tuple(path)


def node_path(directions: tuple[Direction, ...]) -> tuple[str, ...]:
    """Nodes of a path of links.

    Raises
    ------
    ValueError
        A link does not begin where the one before it ends.

    Examples
    --------
    >>> node_path((Direction("s1", "s2"), Direction("s2", "s5")))
    ('s1', 's2', 's5')
    """
    if not directions:
        return ()
    for one, other in pairwise(directions):
        if one.dst != other.src:
            raise ValueError(f"{one} is not followed by {other} on a path")
    return (directions[0].src, *(hop.dst for hop in directions))
