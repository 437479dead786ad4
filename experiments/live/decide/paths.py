"""Paths of pairs under sets of failed links, as the plan's own rows send packets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from experiments.live.decide.document import PlannedPaths, Walk
from mininet_topos.topology import Direction, LinkId
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.walk import Network

Failed = frozenset[LinkId]
NetworkWhile = Callable[[Failed], Network]
"""The network while links are down, with no rows but those that then stand."""

# As in `experiments.verify.streams`: rows that still change then belong to no plan that settles.
_MOST_PACKETS = 32
MOST_SETS = 400


def planned_paths(network_while: NetworkWhile, pair: tuple[str, str], failed: Failed) -> PlannedPaths:
    """Walks of a pair's first packet after a failure and of a packet once the path has settled."""
    network = network_while(failed)
    hosts = hosts_of(network.topology)
    packet = Packet(ipv4_src=hosts[pair[0]].ipv4, ipv4_dst=hosts[pair[1]].ipv4)
    walks: list[Walk] = []
    held = None
    while held != network.rows and len(walks) < _MOST_PACKETS:
        held = {node: dict(rows) for node, rows in network.rows.items()}
        walks.append(_walk(network, pair[0], packet))
    return PlannedPaths(in_order(network, failed), walks[0], walks[-1])


def in_order(network: Network, failed: Failed) -> tuple[str, ...]:
    """Names of links in the topology's order."""
    return tuple(str(link) for link in network.topology.link_ids if link in failed)


def paths_of_pair(
    network_while: NetworkWhile, pair: tuple[str, str], wanted: Iterable[Failed], most_failed: int = 2
) -> tuple[PlannedPaths, ...]:
    """Paths under every set of failed links that can change them, smallest first.

    A set matters when each of its links lies on a walk that a packet takes while the others are down. Sets of up to
    `most_failed` links are followed, `MOST_SETS` in all.

    Parameters
    ----------
    wanted
        Sets that are in the result in any case.
    """
    found: dict[Failed, PlannedPaths] = {}
    for failed in (frozenset[LinkId](), *wanted):
        found.setdefault(failed, planned_paths(network_while, pair, failed))
    frontier = [frozenset[LinkId]()]
    for _ in range(most_failed):
        reached = dict.fromkeys(one | {link} for one in frontier for link in _links_of(network_while, found[one]))
        new = [failed for failed in reached if failed not in found][: max(0, MOST_SETS - len(found))]
        found |= {failed: planned_paths(network_while, pair, failed) for failed in new}
        frontier = [failed for failed in reached if failed in found]
    return tuple(sorted(found.values(), key=lambda paths: len(paths.failed)))


def _links_of(network_while: NetworkWhile, paths: PlannedPaths) -> Iterator[LinkId]:
    topology = network_while(frozenset()).topology
    for name in dict.fromkeys((*paths.first.links, *paths.settled.links)):
        yield topology.parse_link(name)


def _walk(network: Network, source: str, packet: Packet) -> Walk:
    result = network.send(source, packet)
    links = []
    for hop in result.hops[1:]:
        back = network.ports.direction_at[hop.node, hop.in_port]
        links.append(str(network.topology.link_id(Direction(back.dst, back.src, back.key))))
    return Walk(result.outcome, result.path, tuple(links))
