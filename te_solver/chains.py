"""A sparser basis for arc rows: differences along chains of arcs that lead through nodes with two links.

A simple path that enters a node with exactly two links, and does not end there, leaves by the other link. So the rows
of the two arcs differ only for paths that begin or end at the node: the difference has few entries. With T the map from
arc rows to differences (unimodular), loads are sums along chains, and prices come back through T's transpose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from te_solver.compiled import kernel
from te_solver.network import FloatArray, Graph, IntArray

NO_ARC = -1


class Chains(NamedTuple):
    """For every arc the one before and after it in its chain (or `NO_ARC`); arcs with one before, in chain order."""

    before: IntArray
    after: IntArray
    followers: IntArray


class Columns(NamedTuple):
    """Tunnels as signed entries over the difference rows; tunnel t has those from `starts[t]` to `starts[t + 1]`."""

    starts: IntArray
    row: NDArray[np.int32]
    sign: FloatArray


def find_chains(graph: Graph) -> Chains:
    """Chains of a graph; a ring of such nodes is cut open where its lowest arc is."""
    arcs = len(graph.src)
    before, after = np.full(arcs, NO_ARC, np.int64), np.full(arcs, NO_ARC, np.int64)
    for arc in range(arcs):
        node = graph.dst[arc]
        leaving = graph.order[graph.first[node] : graph.first[node + 1]]
        if len(leaving) == 2:
            onward = int(leaving[1] if leaving[0] == graph.reverse[arc] else leaving[0])
            after[arc], before[onward] = onward, arc
    _cut_rings(before, after)
    followers = []
    for head in np.flatnonzero(before == NO_ARC).tolist():
        arc = int(after[head])
        while arc != NO_ARC:
            followers.append(arc)
            arc = int(after[arc])
    return Chains(before, after, np.array(followers, dtype=np.int64))


def _cut_rings(before: IntArray, after: IntArray) -> None:
    reached = np.zeros(len(before), dtype=bool)
    for start in [*np.flatnonzero(before == NO_ARC).tolist(), *range(len(before))]:
        if reached[start]:
            continue
        if before[start] != NO_ARC:
            after[before[start]] = NO_ARC
            before[start] = NO_ARC
        arc = start
        while arc != NO_ARC:
            reached[arc] = True
            arc = int(after[arc])


@kernel
def to_columns(arc_starts: IntArray, arcs: IntArray, chains: Chains) -> Columns:
    """Entries of every tunnel: +1 where it enters a chain, -1 where it leaves one before its end."""
    tunnels = len(arc_starts) - 1
    row, sign = np.empty(len(arcs) + tunnels, np.int32), np.empty(len(arcs) + tunnels)
    starts = np.zeros(tunnels + 1, np.int64)
    entries = 0
    for tunnel in range(tunnels):
        first, last = arc_starts[tunnel], arc_starts[tunnel + 1]
        for place in range(first, last):
            arc = arcs[place]
            if chains.before[arc] == NO_ARC or place == first:
                row[entries], sign[entries] = arc, 1.0
                entries += 1
        onward = chains.after[arcs[last - 1]]
        if onward != NO_ARC:
            row[entries], sign[entries] = onward, -1.0
            entries += 1
        starts[tunnel + 1] = entries
    return Columns(starts, row[:entries].copy(), sign[:entries].copy())


@kernel
def along_chains(chains: Chains, differences: FloatArray) -> FloatArray:
    """Arc values from differences: sums along every chain."""
    values: FloatArray = differences.copy()
    for arc in chains.followers:
        values[arc] += values[chains.before[arc]]
    return values


@kernel
def against_chains(chains: Chains, prices: FloatArray) -> FloatArray:
    """Prices of difference rows that charge every path what arc prices do: sums from every chain's end."""
    values: FloatArray = prices.copy()
    for place in range(len(chains.followers) - 1, -1, -1):
        arc = chains.followers[place]
        values[chains.before[arc]] += values[arc]
    return values


def differences(chains: Chains, values: FloatArray) -> FloatArray:
    """T times arc values: each less the one before it."""
    result: FloatArray = values.copy()
    result[chains.followers] -= values[chains.before[chains.followers]]
    return result


def arc_prices(chains: Chains, prices: FloatArray) -> FloatArray:
    """T's transpose times difference prices: each less the one after it."""
    result: FloatArray = prices.copy()
    result[chains.before[chains.followers]] -= prices[chains.followers]
    return result
