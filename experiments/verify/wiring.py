"""Ports, far ends and failed ports as array look-ups over node positions, port numbers and link numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.verify.growable_arrays import Bools, Ints
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, Topology

NONE = -1


class Wiring:
    """How switches are joined, and in which condition failures leave each of them.

    A *context* is a switch together with its failed ports. Contexts 0..n-1 are the healthy switches.

    Attributes
    ----------
    far_node, far_port, link_at : int array, shape (nodes, ports)
        What is at the other end of (node, port), and the number of the link; -1 where no link is.
    context_node : list of int
    context_down : list of frozenset of int
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        order, ports = topology.index_of, assign_ports(topology)
        numbers = {link_id: number for number, link_id in enumerate(topology.link_ids)}
        self.n_nodes = len(order)
        self.n_ports = 1 + max([HOST_PORT, *ports.port_of.values()])
        self.far_node, self.far_port, self.link_at = (
            np.full((self.n_nodes, self.n_ports), NONE, dtype=np.int64) for _ in range(3)
        )
        self.ends: list[list[tuple[int, int]]] = [[] for _ in numbers]
        for (name, port), direction in ports.direction_at.items():
            node, number = order[name], numbers[topology.link_id(direction)]
            self.far_node[node, port] = order[direction.dst]
            self.far_port[node, port] = ports.port_of[Direction(direction.dst, direction.src, direction.key)]
            self.link_at[node, port] = number
            self.ends[number].append((node, port))
        self.context_node = list(range(self.n_nodes))
        self.context_down: list[frozenset[int]] = [frozenset()] * self.n_nodes
        self._context_ids = {(node, down): node for node, down in enumerate(self.context_down)}
        self._live = np.zeros((0, self.n_ports), dtype=bool)

    def contexts(self, failed_sets: Sequence[Sequence[int]]) -> Ints:
        """Context of every switch under every set of failed links, shape (sets, nodes)."""
        found = np.tile(np.arange(self.n_nodes), (len(failed_sets), 1))
        for row, failed in zip(found, failed_sets, strict=True):
            down: dict[int, frozenset[int]] = {}
            for number in failed:
                for node, port in self.ends[number]:
                    down[node] = down.get(node, frozenset()) | {port}
            for node, ports in down.items():
                row[node] = self._context(node, ports)
        return found

    def context_node_of(self, contexts: Ints) -> Ints:
        """Switch of every context."""
        return np.array(self.context_node)[contexts]

    def link_ports(self, node: int) -> frozenset[int]:
        """Ports of a switch that carry a link."""
        return frozenset(np.flatnonzero(self.link_at[node] != NONE).tolist())

    @property
    def live(self) -> Bools:
        """Whether each port of each context is live, shape (contexts, ports); the host port always is."""
        known = len(self._live)
        if known < len(self.context_node):
            added = self.link_at[self.context_node[known:]] != NONE
            added[:, HOST_PORT] = True
            for row, down in zip(added, self.context_down[known:], strict=True):
                row[list(down)] = False
            self._live = np.concatenate([self._live, added])
        return self._live

    def has_link(self, contexts: Ints) -> Bools:
        """Whether each context has a live link."""
        found: Bools = self.live[contexts].sum(axis=-1) > 1  # its host port always lives
        return found

    def _context(self, node: int, down: frozenset[int]) -> int:
        key = node, down
        if key not in self._context_ids:
            self._context_ids[key] = len(self.context_node)
            self.context_node.append(node)
            self.context_down.append(down)
        return self._context_ids[key]


def bits(mask: int) -> list[int]:
    """Positions of the set bits of a mask, ascending.

    Examples
    --------
    >>> bits(0b10010)
    [1, 4]
    """
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found
