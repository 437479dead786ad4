"""Ways of control packets: a tree towards the controller, and one bypass around each of its links."""

from __future__ import annotations

from dataclasses import dataclass

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId, Topology
from te_solver.routes import NO_LINK, ResidualRoutes

Path = tuple[Direction, ...]


@dataclass(frozen=True)
class ControlWays:
    """Ways between the controller's switch (the root) and all others.

    Attributes
    ----------
    parent
        First link towards the root, of every other switch.
    order
        Switches, nearest to the root first; a switch comes after its parent.
    members
        Switches whose way to the root leads through this one, itself first.
    up
        Where the link to a switch's parent can be passed by: from the switch to the root without that link.
    down : dict of (str, str) to Path
        (switch, member): from the switch's parent to the member without the link between parent and switch.
    """

    root: str
    parent: dict[str, Direction]
    order: tuple[str, ...]
    members: dict[str, tuple[str, ...]]
    up: dict[str, Path]
    down: dict[tuple[str, str], Path]

    def children(self, node: str) -> tuple[str, ...]:
        """Switches whose parent this one is."""
        return tuple(each for each in self.order if each in self.parent and self.parent[each].dst == node)


def control_ways(topology: Topology, root: str) -> ControlWays:
    """Shortest ways to and from the root: by delay where all delays are known, else by hops.

    Parameters
    ----------
    topology
        Connected.
    root
        The controller's switch.

    Raises
    ------
    BadInputError
        No such switch.
    """
    if root not in topology.index_of:
        raise BadInputError(f"the controller cannot be attached to {root!r}: {topology.name!r} has no such switch")
    timed = all(link.delay_ms is not None for link in topology.links)
    routes = _Routes(topology, ResidualRoutes(topology, metric="delay" if timed else "hops"))
    paths = {node: routes.path(node, root) for node in topology.node_names}
    parent = {node: path[0] for node, path in paths.items() if path}
    order = tuple(sorted(topology.node_names, key=lambda node: (len(paths[node]), topology.index_of[node])))
    members: dict[str, list[str]] = {node: [node] for node in order}
    for node, path in paths.items():
        for hop in path:
            members[hop.dst].append(node)
    up: dict[str, Path] = {}
    down: dict[tuple[str, str], Path] = {}
    for node, hop in parent.items():
        link = topology.link_id(hop)
        if way := routes.path(node, root, link):
            up[node] = way
            down |= {(node, member): routes.path(hop.dst, member, link) for member in members[node]}
    return ControlWays(root, parent, order, {node: tuple(each) for node, each in members.items()}, up, down)


@dataclass(frozen=True)
class _Routes:
    topology: Topology
    residual: ResidualRoutes

    def path(self, source: str, target: str, without: LinkId | None = None) -> Path:
        """Shortest path; empty at the target itself, and where there is none."""
        chosen = self.residual.next_links(frozenset() if without is None else frozenset({without}))
        index, goal, hops, node = self.topology.index_of, self.topology.index_of[target], [], source
        while node != target:
            link = int(chosen[index[node], goal])
            if link == NO_LINK:
                return ()
            hops.append(self.residual.links[link].direction)
            node = hops[-1].dst
        return tuple(hops)


def reverse(hop: Direction) -> Direction:
    """The same link the other way."""
    return Direction(hop.dst, hop.src, hop.key)
