"""Which pairs talk and which links fail: the drawing rule of SD-FAST's set-up.

The paper (section IV): 60 source-destination pairs in five rounds of twelve at once, one link failure in each of the
twelve primary paths, the network still connected. Twelve different links cannot fail on Darkstrand without parting
it (31 links join 28 nodes: four can go), so links are shared between pairs. The rule here, for one round:

1. draw four links, all sets alike, until the network stays connected without them;
2. draw twelve pairs, all alike, among those not used in an earlier round whose primary path crosses exactly one of the
   four, and whose packets, there and back, come to know of at most two failed links, which is as many as tags name;
   the first eight of them among those whose first packet, there or back, backtracks at least one hop; when there are
   fewer than eight or twelve, or one of the four is on none of the twelve, draw the links again;
3. order the links by how many of the twelve primaries they hit; k failures are the first k links.

A pair counts as used in either direction. What three and four failures do to all pairs is x-multi's question
(docs/decisions/pairs-and-links-of-sd-fast.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from experiments.analysis.crankback import hops_back_of
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId, Topology
from te_solver.routes import NO_LINK, ResidualRoutes

PAIRS_A_ROUND = 12
MOST_FAILURES = 4
MOST_MET = 2
# Pairs of a round whose first packet backtracks, there or back; of pairs drawn without this rule a third does not.
BACKTRACKING_PAIRS = 8
_MOST_TRIES = 20_000

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Draw:
    """Pairs of a round, and its links in the order in which they fail: k failures are the first k."""

    pairs: tuple[Pair, ...]
    links: tuple[LinkId, ...]


def primary_paths(topology: Topology) -> dict[Pair, tuple[Direction, ...]]:
    """Links of the shortest path of every ordered pair, in node order; pairs that nothing joins are left out."""
    routes = ResidualRoutes(topology)
    names = topology.node_names
    found = {(source, target): path(routes, source, target) for source in names for target in names if source != target}
    return {pair: links for pair, links in found.items() if links}


def path(
    routes: ResidualRoutes, source: str, destination: str, failed: frozenset[LinkId] = frozenset()
) -> tuple[Direction, ...]:
    """Shortest path without the failed links; empty when there is none."""
    table, order = routes.next_links(failed), routes.topology.index_of
    node, found = source, []
    while node != destination:
        link = int(table[order[node], order[destination]])
        if link == NO_LINK:
            return ()
        found.append(routes.links[link].direction)
        node = routes.links[link].dst
    return tuple(found)


def draw_rounds(topology: Topology, rounds: int, seed: int) -> tuple[Draw, ...]:
    """Draw the rounds of a campaign; the first rounds are the same however many follow.

    Parameters
    ----------
    seed
        Of the random generator.

    Raises
    ------
    BadInputError
        The topology has no such sets of links and pairs.
    """
    generator = np.random.default_rng(seed)
    crossed = {
        pair: frozenset(topology.link_id(each) for each in links) for pair, links in primary_paths(topology).items()
    }
    routes = ResidualRoutes(topology)
    draws = []
    for _ in range(rounds):
        draws.append(_draw(routes, crossed, generator))
        used = {end for pair in draws[-1].pairs for end in (pair, pair[::-1])}
        crossed = {pair: links for pair, links in crossed.items() if pair not in used}
    return tuple(draws)


def _draw(routes: ResidualRoutes, crossed: dict[Pair, frozenset[LinkId]], generator: np.random.Generator) -> Draw:
    topology = routes.topology
    ids = topology.link_ids
    for _ in range(_MOST_TRIES if len(ids) >= MOST_FAILURES else 0):
        links = frozenset(ids[number] for number in generator.choice(len(ids), MOST_FAILURES, replace=False))
        if not topology.is_connected(links):
            continue
        hit = [pair for pair, on_path in crossed.items() if len(on_path & links) == 1]
        able = [pair for pair in hit if _most_met(routes, pair, links) <= MOST_MET]
        backtracking = [pair for pair in able if any(hops_back(topology, pair, links))]
        first = _choose_pairs(backtracking, generator, (), BACKTRACKING_PAIRS)
        if len(first) < BACKTRACKING_PAIRS:
            continue
        pairs = _choose_pairs(able, generator, first, PAIRS_A_ROUND)
        hits = Counter(link for pair in pairs for link in crossed[pair] & links)
        if len(pairs) == PAIRS_A_ROUND and len(hits) == MOST_FAILURES:
            return Draw(pairs, tuple(sorted(links, key=lambda link: (-hits[link], ids.index(link)))))
    raise BadInputError(
        f"no {MOST_FAILURES} links of {topology.name!r} leave it connected and hit the primary paths of "
        f"{PAIRS_A_ROUND} unused pairs; choose a larger or better meshed topology, or fewer rounds"
    )


def _most_met(routes: ResidualRoutes, pair: Pair, links: frozenset[LinkId]) -> int:
    """Most failed links that a packet of the pair, there or back, comes to know of, however many fail."""
    sizes = range(MOST_MET + 1, len(links) + 1)  # of fewer links it cannot know more
    sets = [frozenset(some) for size in sizes for some in combinations(sorted(links), size)]
    return max(links_met(routes, way, failed) for failed in sets for way in (pair, pair[::-1]))


def hops_back(topology: Topology, pair: Pair, links: Iterable[LinkId]) -> tuple[int, int]:
    """Hops that the first packet of a pair backtracks from the failed links on its primary path, out and back."""
    hops, failed = hops_back_of(topology), tuple(links)
    out, back = (max((hops.get((*ends, link), 0) for link in failed), default=0) for ends in (pair, pair[::-1]))
    return out, back


def _choose_pairs(
    candidates: list[Pair], generator: np.random.Generator, first: tuple[Pair, ...], count: int
) -> tuple[Pair, ...]:
    """The first pairs, then others drawn one by one, none another's reverse; fewer than asked when none are left."""
    chosen: dict[Pair, None] = dict.fromkeys(first)
    for number in generator.permutation(len(candidates)):
        pair = candidates[number]
        if pair[::-1] not in chosen:
            chosen[pair] = None
        if len(chosen) == count:
            break
    return tuple(chosen)


@lru_cache(maxsize=4)
def _routes(topology: Topology) -> ResidualRoutes:
    """They keep the trees of every set of failed links that was asked about."""
    return ResidualRoutes(topology)


def most_sharing(topology: Topology, pairs: tuple[Pair, ...], failed: frozenset[LinkId] = frozenset()) -> int:
    """How many pairs the fullest link direction carries, on shortest paths without the failed links."""
    routes = _routes(topology)
    return max(Counter(link for pair in pairs for link in path(routes, *pair, failed)).values(), default=0)


def links_met(routes: ResidualRoutes, pair: Pair, failed: frozenset[LinkId]) -> int:
    """How many failed links a packet meets that learns of each where it stands, and goes on by what it knows.

    Recovery without a controller promises delivery up to as many as the tags name (`MOST_MET`).
    """
    source, destination = pair
    order, ids = routes.topology.index_of, routes.topology.link_ids
    known: frozenset[LinkId] = frozenset()
    node = source
    while node != destination:
        number = int(routes.next_links(known)[order[node], order[destination]])
        if number == NO_LINK:
            break
        link = ids[routes.link_number[number]]
        if link in failed:
            known |= {link}
        else:
            node = routes.links[number].dst
    return len(known)
