"""A topology as arrays: arcs (directed links) by number, with capacities that are all known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mininet_topos.errors import BadInputError
from mininet_topos.topology import MAX_MBPS, MIN_CAPACITY_MBPS, FailureScenario, Link, Topology
from te_solver.routes import link_cost

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Delay counts first and hops break ties, both as exact integers: microseconds times this, plus one a hop.


class Graph(NamedTuple):
    """Arrays that the searches run on; arcs leaving node v are `order[first[v]:first[v + 1]]`."""

    first: IntArray
    order: IntArray
    src: IntArray
    dst: IntArray
    link: IntArray
    reverse: IntArray
    cost: IntArray


@dataclass(frozen=True, eq=False)
class Network:
    """A topology with a capacity for every arc.

    Attributes
    ----------
    capacity_mbps : float array, shape (arcs,)
        In the order of `topology.links`; 0 closes an arc.
    """

    topology: Topology
    capacity_mbps: FloatArray

    @property
    def links(self) -> tuple[Link, ...]:
        """Directed links; an arc is a position in here."""
        return self.topology.links

    @property
    def node_names(self) -> tuple[str, ...]:
        """Nodes; a node number is a position in here."""
        return self.topology.node_names

    @cached_property
    def link_of(self) -> IntArray:
        """Physical link (position in `topology.link_ids`) of every arc."""
        numbers = {link_id: number for number, link_id in enumerate(self.topology.link_ids)}
        ids = (self.topology.link_id(link.direction) for link in self.links)
        return np.array([numbers[link_id] for link_id in ids], dtype=np.int64)

    @cached_property
    def arcs_of_link(self) -> IntArray:
        """The two arcs of every physical link, shape (links, 2), the one from the lower end first."""
        arc = {link.direction: number for number, link in enumerate(self.links)}
        pairs = [[arc[direction] for direction in self.topology.directions(link)] for link in self.topology.link_ids]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def graph(self, metric: str = "hops") -> Graph:
        """Arrays for path searches.

        Parameters
        ----------
        metric : {"hops", "delay"}
            Cost of an arc: 1, or its delay with hops as the tie-break.

        Raises
        ------
        BadInputError
            Unknown metric, or metric "delay" with a link whose delay is unknown.
        """
        order_of = self.topology.index_of
        src = np.array([order_of[link.src] for link in self.links], dtype=np.int64)
        dst = np.array([order_of[link.dst] for link in self.links], dtype=np.int64)
        key = np.array([link.key for link in self.links], dtype=np.int64)
        order = np.lexsort((key, dst, src))
        first = np.searchsorted(src[order], np.arange(len(order_of) + 1))
        pairs = self.arcs_of_link
        reverse = np.empty(len(src), dtype=np.int64)
        reverse[pairs[:, 0]], reverse[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
        cost = np.array([link_cost(link, metric) for link in self.links], dtype=np.int64)
        return Graph(first.astype(np.int64), order.astype(np.int64), src, dst, self.link_of, reverse, cost)

    def failed_arcs(self, scenario: FailureScenario) -> BoolArray:
        """Which arcs a failure leaves without traffic, shape (arcs,)."""
        gone = scenario.failed_directions(self.topology)
        return np.array([link.direction in gone for link in self.links], dtype=bool)


def to_network(topology: Topology, default_capacity_mbps: float | None = None) -> Network:
    """Network of a topology.

    Parameters
    ----------
    default_capacity_mbps
        Capacity of the links whose own is unknown.

    Raises
    ------
    BadInputError
        A link without capacity and no default, a default that is no number above 0, or no links at all.
    """
    if default_capacity_mbps is not None and not MIN_CAPACITY_MBPS <= default_capacity_mbps <= MAX_MBPS:
        raise BadInputError(
            f"the default capacity is {default_capacity_mbps} Mbit/s; give a number above 0, from "
            f"{MIN_CAPACITY_MBPS:g} to {MAX_MBPS:g}"
        )
    if not topology.links:
        raise BadInputError(f"topology {topology.name!r} has no links, so nothing can be sent; give it at least one")
    unknown = [link for link in topology.links if link.capacity_mbps is None]
    if unknown and default_capacity_mbps is None:
        raise BadInputError(
            f"link {unknown[0].direction} of {topology.name!r} has no capacity_mbps ({len(unknown)} directions have "
            "none); give --default-capacity-mbps, or a capacity in the file"
        )
    values = [default_capacity_mbps if link.capacity_mbps is None else link.capacity_mbps for link in topology.links]
    return Network(topology, np.array(values, dtype=np.float64))
