"""Which switch fails, and which pairs talk meanwhile: the drawing rule of node failures.

For one round: draw a switch that no earlier round had, whose loss leaves the others connected; then up to twelve pairs,
all alike, whose primary path leads through it, and whose packets, there and back, come to know of at most two failed
links, which is as many as tags name. When there are fewer than four such pairs, draw the switch again.
"""

from __future__ import annotations

import numpy as np

from experiments.campaign.draws.paths import MOST_MET, PAIRS_A_ROUND, Draw, Pair, links_met, primary_paths
from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId, Topology
from te_solver.routes import ResidualRoutes

FEWEST_PAIRS = 4


def draw_nodes(topology: Topology, rounds: int, seed: int) -> tuple[Draw, ...]:
    """Draw the rounds of a campaign: links of a switch, all of which fail, and pairs; first rounds do not change.

    Raises
    ------
    BadInputError
        The topology has too few such switches.
    """
    generator = np.random.default_rng(seed)
    names = [topology.node_names[number] for number in generator.permutation(len(topology.node_names))]
    draws: list[Draw] = []
    for node in names:
        links = tuple(link for link in topology.link_ids if node in (link.a, link.b))
        pairs = _pairs_through(topology, node, links) if _leaves_the_others_joined(topology, node, links) else []
        if len(pairs) >= FEWEST_PAIRS and len(draws) < rounds:
            order = generator.permutation(len(pairs))
            draws.append(Draw(tuple(pairs[number] for number in order[:PAIRS_A_ROUND]), links))
    if len(draws) < rounds:
        raise BadInputError(f"{topology.name!r} has {len(draws)} switches that can fail so; choose fewer rounds")
    return tuple(draws)


def _leaves_the_others_joined(topology: Topology, node: str, links: tuple[LinkId, ...]) -> bool:
    parts = topology.components(frozenset(links))
    return len({part for name, part in parts.items() if name != node}) == 1


def _pairs_through(topology: Topology, node: str, links: tuple[LinkId, ...]) -> list[Pair]:
    """Pairs, each in one direction, that meet the failed switch and at most as many of its links as tags name."""
    routes, failed = ResidualRoutes(topology), frozenset(links)
    return [
        pair
        for pair, path in primary_paths(topology).items()
        if pair[0] < pair[1]
        and node not in pair
        and any(topology.link_id(each) in failed for each in path)
        and all(1 <= links_met(routes, way, failed) <= MOST_MET for way in (pair, pair[::-1]))
    ]
