"""Vocabulary of traffic engineering: demands, tunnels, allocations, flows.

Sizes are thousands to millions, so sets of tunnels and allocations are arrays; `Tunnel` is the view of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mininet_topos.topology import Direction
from te_solver.network import Network

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Kuijia section 4.3: queue 0 control, 1-4 high, 5 high victims, 6 low, 7 low victims.
DEFAULT_PRIORITY = 1
HIGH_VICTIM, LOW, LOW_VICTIM = 5, 6, 7
DEMAND_PRIORITIES = (1, 2, 3, 4, LOW)


def sums(group: IntArray, values: FloatArray, groups: int) -> FloatArray:
    """Sum of `values` in every group, shape (groups,)."""
    return np.bincount(group, values, minlength=groups).astype(np.float64, copy=False)


def victim_priority(priority: int) -> int:
    """Queue of rescaled traffic whose own queue is `priority` (Kuijia section 4.3)."""
    return HIGH_VICTIM if priority < HIGH_VICTIM else LOW_VICTIM


@dataclass(frozen=True, slots=True)
class Demand:
    """Traffic that one node offers to another; `priority` is its queue, 1 (first) to 4, or 6 for background."""

    src: str
    dst: str
    demand_mbps: float
    priority: int = DEFAULT_PRIORITY


@dataclass(frozen=True, slots=True)
class Tunnel:
    """One path of a demand's pair, as the directions walked."""

    src: str
    dst: str
    links: tuple[Direction, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes passed, both ends included."""
        return (self.src, *(link.dst for link in self.links))


@dataclass(frozen=True, eq=False)
class TunnelSet:
    """Tunnels of a list of pairs, grouped by pair, shortest first.

    Attributes
    ----------
    network
        What the tunnels run over.
    pairs : int array, shape (pairs, 2)
        Source and destination as node positions.
    pair_starts : int array, shape (pairs + 1,)
        Tunnels `pair_starts[p]` to `pair_starts[p + 1]` belong to pair p.
    arc_starts : int array, shape (tunnels + 1,)
        `arcs[arc_starts[t]:arc_starts[t + 1]]` is tunnel t.
    arcs
        Positions in `network.links`.
    disjoint : int array, shape (pairs,)
        How many tunnels of the pair share no physical link with each other (the first ones).
    """

    network: Network
    pairs: IntArray
    pair_starts: IntArray
    arc_starts: IntArray
    arcs: IntArray
    disjoint: IntArray

    def __len__(self) -> int:
        return len(self.arc_starts) - 1

    def __getitem__(self, tunnel: int) -> Tunnel:
        links = tuple(self.network.links[arc].direction for arc in self.arcs_of(tunnel))
        names = self.network.node_names
        src, dst = self.pairs[self.pair_of[tunnel]]
        return Tunnel(names[src], names[dst], links)

    def __iter__(self) -> Iterator[Tunnel]:
        return (self[tunnel] for tunnel in range(len(self)))

    def arcs_of(self, tunnel: int) -> IntArray:
        """Arcs of one tunnel, in walking order."""
        return self.arcs[self.arc_starts[tunnel] : self.arc_starts[tunnel + 1]]

    @cached_property
    def pair_of(self) -> IntArray:
        """Pair of every tunnel."""
        return np.repeat(np.arange(len(self.pairs)), np.diff(self.pair_starts))

    @cached_property
    def tunnel_of_entry(self) -> IntArray:
        """Tunnel of every entry of `arcs`."""
        return np.repeat(np.arange(len(self)), np.diff(self.arc_starts))

    def arc_loads(self, rates_mbps: FloatArray) -> FloatArray:
        """Load of every arc, shape (arcs,), when tunnel t carries `rates_mbps[t]`."""
        return sums(self.arcs, rates_mbps[self.tunnel_of_entry], len(self.network.links))

    def over_tunnels(self, of_arcs: FloatArray) -> FloatArray:
        """Sum of an arc quantity along every tunnel, shape (tunnels,)."""
        return sums(self.tunnel_of_entry, of_arcs[self.arcs], len(self))

    def least_along(self, of_arcs: FloatArray) -> FloatArray:
        """Smallest value of an arc quantity along every tunnel, shape (tunnels,)."""
        if not len(self):
            return np.zeros(0)
        least: FloatArray = np.minimum.reduceat(of_arcs[self.arcs], self.arc_starts[:-1])
        return least

    def down(self, failed_arcs: BoolArray) -> BoolArray:
        """Which tunnels cross a failed arc, shape (tunnels,)."""
        return self.over_tunnels(failed_arcs.astype(np.float64)) > 0


@dataclass(frozen=True, eq=False)
class Problem:
    """Demands and the tunnels that may carry them: one commodity a demand, with its own copy of the pair's tunnels.

    Attributes
    ----------
    tunnels
        Pair p of the set is demand p.
    """

    tunnels: TunnelSet
    demands: tuple[Demand, ...]

    @cached_property
    def demands_mbps(self) -> FloatArray:
        """Offered volume of every demand."""
        return np.array([demand.demand_mbps for demand in self.demands], dtype=np.float64)

    @cached_property
    def priorities(self) -> IntArray:
        """Queue of every demand."""
        return np.array([demand.priority for demand in self.demands], dtype=np.int64)

    @property
    def network(self) -> Network:
        """What the tunnels run over."""
        return self.tunnels.network

    def with_volumes(self, volumes_mbps: FloatArray) -> Problem:
        """The same problem with other volumes, shape (demands,)."""
        pairs = zip(self.demands, volumes_mbps.tolist(), strict=True)
        return Problem(self.tunnels, tuple(Demand(d.src, d.dst, mbps, d.priority) for d, mbps in pairs))

    def per_demand(self, of_tunnels: FloatArray) -> FloatArray:
        """Sum of a tunnel quantity over every demand's tunnels, shape (demands,)."""
        return sums(self.tunnels.pair_of, of_tunnels, len(self.demands))


@dataclass(frozen=True, eq=False)
class Allocation:
    """What traffic engineering gives every tunnel, with a bound that proves how good it is.

    Attributes
    ----------
    tunnel_mbps : float array, shape (tunnels,)
        Never negative; loads keep to the capacities and sums to the demands.
    objective
        "throughput", "max-min" or "min-max-utilisation".
    base_point
        "centre" or "vertex": which of the many best allocations this is.
    value, bound
        What the allocation reaches, and what none can pass (Mbit/s; a utilisation for min-max-utilisation).
    solved_by
        "cvxpy", "fast", or both where classes were solved one after another; empty: nobody said.
    """

    problem: Problem
    tunnel_mbps: FloatArray
    objective: str
    base_point: str
    value: float
    bound: float
    solved_by: str = ""

    @property
    def gap(self) -> float:
        """Distance from value to bound, relative to the bound (absolute below 1)."""
        return abs(self.bound - self.value) / max(1.0, abs(self.bound))

    @property
    def demand_mbps(self) -> FloatArray:
        """What every demand gets, shape (demands,)."""
        return self.problem.per_demand(self.tunnel_mbps)

    @cached_property
    def splitting_weights(self) -> FloatArray:
        """Fraction of its demand's traffic on every tunnel; sums to 1, equal where the demand gets nothing."""
        got = self.demand_mbps[self.problem.tunnels.pair_of]
        count = np.diff(self.problem.tunnels.pair_starts)[self.problem.tunnels.pair_of]
        weights: FloatArray = np.where(got > 0, self.tunnel_mbps / np.where(got > 0, got, 1.0), 1.0 / count)
        return weights

    @property
    def arc_loads_mbps(self) -> FloatArray:
        """Load of every arc, shape (arcs,)."""
        return self.problem.tunnels.arc_loads(self.tunnel_mbps)
