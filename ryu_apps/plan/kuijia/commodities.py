"""What the plans are made from: pairs with their tunnels and splitting weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId, Topology
from te_solver.values import DEFAULT_PRIORITY

Path = tuple[Direction, ...]


@dataclass(frozen=True, slots=True)
class TunnelCommodity:
    """Traffic of one priority from one switch to another, its tunnels, and how it is split over them.

    Attributes
    ----------
    failure_weights : tuple of (LinkId, tuple of float)
        How victims are split over all tunnels once a link has failed; a link without an entry: by `weights`.

    Raises
    ------
    BadInputError
        No tunnels, a path that does not lead from `src` to `dst` or passes a switch twice, or weights that are not one
        number of at least 0 for each tunnel.
    """

    src: str
    dst: str
    paths: tuple[Path, ...]
    weights: tuple[float, ...]
    priority: int = DEFAULT_PRIORITY
    failure_weights: tuple[tuple[LinkId, tuple[float, ...]], ...] = ()

    def __post_init__(self) -> None:
        what = f"the traffic from {self.src!r} to {self.dst!r}"
        if not self.paths or len(self.paths) != len(self.weights):
            raise BadInputError(f"{what} has {len(self.paths)} tunnels and {len(self.weights)} weights; give as many")
        if not all(0 <= weight < float("inf") for weight in self.weights):
            raise BadInputError(f"{what} has weights {self.weights}; give numbers of at least 0")
        for path in self.paths:
            nodes = nodes_of(path)
            joined = all(first.dst == second.src for first, second in pairwise(path))
            if not path or not joined or (nodes[0], nodes[-1]) != (self.src, self.dst) or len(set(nodes)) < len(nodes):
                raise BadInputError(
                    f"{what} has the tunnel {' '.join(map(str, path))}; give simple paths between the two"
                )

    @property
    def pair(self) -> tuple[str, str]:
        """Both ends."""
        return self.src, self.dst

    @property
    def reverse(self) -> TunnelCommodity:
        """The way back: the same tunnels with the same weights."""
        paths = tuple(reverse_path(path) for path in self.paths)
        return replace(self, src=self.dst, dst=self.src, paths=paths)

    def victim_weights(self, topology: Topology, failures: Iterable[frozenset[LinkId]]) -> tuple[float, ...]:
        """How victims are split after these failures.

        Weights were solved for one failed link each: the first that fails a tunnel decides, if it failed alone.
        """
        if self.failure_weights:
            for links in failures:
                if self.down(topology, links):
                    return next((weights for link, weights in self.failure_weights if links == {link}), self.weights)
        return self.weights

    def down(self, topology: Topology, links: Iterable[LinkId]) -> frozenset[int]:
        """Tunnels that cross one of these links."""
        gone = {direction for link in links for direction in topology.directions(link)}
        return frozenset(number for number, path in enumerate(self.paths) if gone.intersection(path))


def nodes_of(path: Path) -> tuple[str, ...]:
    """Switches on a path, both ends included."""
    return (*(hop.src for hop in path[:1]), *(hop.dst for hop in path))


def reverse_path(path: Path) -> Path:
    """The same links in the other direction."""
    return tuple(Direction(hop.dst, hop.src, hop.key) for hop in reversed(path))


def with_ways_back(commodities: Iterable[TunnelCommodity]) -> tuple[TunnelCommodity, ...]:
    """The commodities, and the way back of each that has none of its own.

    Raises
    ------
    BadInputError
        Two commodities of one pair and priority.
    """
    given: dict[tuple[tuple[str, str], int], TunnelCommodity] = {}
    for each in commodities:
        if given.setdefault((each.pair, each.priority), each) is not each:
            raise BadInputError(
                f"the traffic from {each.src!r} to {each.dst!r} of priority {each.priority} stands twice; join the two"
            )
    backs = {(back.pair, back.priority): back for back in (each.reverse for each in given.values())}
    return (*given.values(), *(back for key, back in backs.items() if key not in given))


def label_key(path: Path) -> Path:
    """The path in the direction under which its number is filed (tunnel_field.py)."""
    return min(path, reverse_path(path))
