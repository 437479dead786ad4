"""Every single link failure of one allocation at once: rescaling, Kuijia and precomputed weights, without a solver.

The same model as `fluid.py`, `responses.py` and `outcome.py` for one priority class, written as kernels that look only
at what a failure touches. The second linear program is skipped where the original weights already deliver all that has
a survivor, or where no survivor has room; else it is solved exactly (tiny_program.py) with a proof.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from te_solver.compiled import kernel
from te_solver.network import BoolArray, FloatArray, IntArray
from te_solver.tiny_program import solve_tiny
from te_solver.values import Problem, TunnelSet

# Columns of the result, one row a failed link; volumes in Mbit/s.
SENT, VICTIM, REROUTABLE, RESCALING, KUIJIA, PRECOMPUTED, PIVOTS, GAP = range(8)
COLUMNS = 8
NO_PROGRAM, NOT_SOLVED = -1.0, -2.0
# Shares below this are rounding.
ROUNDING = 1e-9


class Paths(NamedTuple):
    """Tunnels for the kernels, with who crosses which link and which arc."""

    pair_starts: IntArray
    owner: IntArray
    arc_starts: IntArray
    arcs: IntArray
    link_first: IntArray
    link_tunnels: IntArray
    arc_first: IntArray
    arc_tunnels: IntArray
    capacity_mbps: FloatArray


class Work(NamedTuple):
    """Working arrays of one failure, clean between failures."""

    down: BoolArray
    met: BoolArray
    victims: FloatArray
    moved: FloatArray
    load: FloatArray
    extra: FloatArray
    row: IntArray
    demands: IntArray
    tunnels: IntArray
    touched: IntArray
    seen: BoolArray


def to_paths(tunnels: TunnelSet) -> Paths:
    """Arrays of a tunnel set for the kernels; they depend on no demand and can be kept."""
    link = tunnels.network.link_of[tunnels.arcs]
    link_first, link_tunnels = _grouped(link, tunnels.tunnel_of_entry, len(tunnels.network.topology.link_ids))
    arc_first, arc_tunnels = _grouped(tunnels.arcs, tunnels.tunnel_of_entry, len(tunnels.network.links))
    return Paths(
        tunnels.pair_starts,
        tunnels.pair_of,
        tunnels.arc_starts,
        tunnels.arcs,
        link_first,
        link_tunnels,
        arc_first,
        arc_tunnels,
        tunnels.network.capacity_mbps,
    )


def fail_every_link(problem: Problem, rates_mbps: FloatArray, paths: Paths | None = None) -> FloatArray:
    """Effect of every single link failure, both directions of a link at once.

    Parameters
    ----------
    problem
        Demands of one priority.
    rates_mbps : float array, shape (tunnels,)
        Traffic before the failure; keeps to the capacities.
    paths
        `to_paths` of the tunnels, when it is at hand.

    Returns
    -------
    float array, shape (links, COLUMNS)
        Sent in all, by victims, by victims with a survivor; delivered in all under rescaling; delivered of the victims
        under Kuijia and under precomputed weights; pivots of the second program (`NO_PROGRAM`: not
        needed; `NOT_SOLVED`: given up) and the distance from its answer to the bound that its multipliers prove.
    """
    return failure_rows(paths or to_paths(problem.tunnels), rates_mbps)


def _grouped(group: IntArray, member: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    order = np.argsort(group, kind="stable")
    return np.searchsorted(group[order], np.arange(groups + 1)).astype(np.int64), member[order]


@kernel
def failure_rows(paths: Paths, rates: FloatArray) -> FloatArray:
    """One row of `COLUMNS` for every link."""
    work = empty_work(paths, rates)
    links = len(paths.link_first) - 1
    result = np.zeros((links, COLUMNS))
    sent = rates.sum()
    for link in range(links):
        result[link, SENT] = sent
        fail_link(paths, rates, work, link, result[link])
    return result


@kernel
def empty_work(paths: Paths, rates: FloatArray) -> Work:
    """Working arrays with nothing failed, which hold the loads before it."""
    tunnels, demands, arcs = len(paths.owner), len(paths.pair_starts) - 1, len(paths.capacity_mbps)
    work = Work(
        np.zeros(tunnels, np.bool_),
        np.zeros(demands, np.bool_),
        np.zeros(demands),
        np.zeros(tunnels),
        np.zeros(arcs),
        np.zeros(arcs),
        np.full(arcs, -1, np.int64),
        np.empty(demands, np.int64),
        np.empty(tunnels, np.int64),
        np.empty(arcs, np.int64),
        np.zeros(tunnels, np.bool_),
    )
    for tunnel in range(tunnels):
        for place in range(paths.arc_starts[tunnel], paths.arc_starts[tunnel + 1]):
            work.load[paths.arcs[place]] += rates[tunnel]
    return work


@kernel
def fail_link(paths: Paths, rates: FloatArray, work: Work, link: int, row: FloatArray) -> None:
    """Fill one row and clean up."""
    affected = fail_tunnels(paths, rates, work, link, -1.0)
    victim, reroutable, movers = move(paths, rates, work, affected, row[SENT])
    arcs = load_moved(paths, work, movers)
    row[VICTIM], row[REROUTABLE], row[PIVOTS] = victim, reroutable, NO_PROGRAM
    row[RESCALING] = row[SENT] - victim + reroutable - lost_by_all(paths, rates, work, arcs)
    row[KUIJIA] = delivered_low(paths, work, movers)
    row[PRECOMPUTED] = row[KUIJIA]
    if row[KUIJIA] < reroutable - ROUNDING * row[SENT]:
        second_program(paths, work, movers, row)
    for number in range(movers):
        work.moved[work.tunnels[number]] = 0.0
    for number in range(arcs):
        work.extra[work.touched[number]] = 0.0
    fail_tunnels(paths, rates, work, link, 1.0)


@kernel
def fail_tunnels(paths: Paths, rates: FloatArray, work: Work, link: int, sign: float) -> int:
    """Take the tunnels of a link out (sign -1) or put them back (1); the number of demands they belong to."""
    affected = 0
    for place in range(paths.link_first[link], paths.link_first[link + 1]):
        tunnel = paths.link_tunnels[place]
        demand = paths.owner[tunnel]
        work.down[tunnel] = sign < 0
        if work.met[demand] != (sign < 0):
            work.met[demand] = sign < 0
            work.victims[demand] = 0.0
            work.demands[affected] = demand
            affected += 1
        if sign < 0:
            work.victims[demand] += rates[tunnel]
        for entry in range(paths.arc_starts[tunnel], paths.arc_starts[tunnel + 1]):
            work.load[paths.arcs[entry]] += sign * rates[tunnel]
    return affected


@kernel
def move(paths: Paths, rates: FloatArray, work: Work, affected: int, sent: float) -> tuple[float, float, int]:
    """Split the victims over the survivors by weight; volume of victims, of those with a survivor, tunnels used."""
    victim, reroutable, movers = 0.0, 0.0, 0
    for number in range(affected):
        demand = work.demands[number]
        volume = work.victims[demand]
        victim += volume
        if volume <= ROUNDING * ROUNDING * sent:
            continue
        weight, survivors = 0.0, 0
        for tunnel in range(paths.pair_starts[demand], paths.pair_starts[demand + 1]):
            if not work.down[tunnel]:
                weight += rates[tunnel]
                survivors += 1
        if survivors > 0:
            reroutable += volume
        for tunnel in range(paths.pair_starts[demand], paths.pair_starts[demand + 1]):
            if not work.down[tunnel]:
                work.moved[tunnel] = volume * (rates[tunnel] / weight if weight > 0.0 else 1.0 / survivors)
                work.tunnels[movers] = tunnel
                movers += 1
    return victim, reroutable, movers


@kernel
def load_moved(paths: Paths, work: Work, movers: int) -> int:
    """Add the moved traffic up over the arcs; the number of arcs touched."""
    arcs = 0
    for number in range(movers):
        tunnel = work.tunnels[number]
        if work.moved[tunnel] <= 0.0:
            continue
        for place in range(paths.arc_starts[tunnel], paths.arc_starts[tunnel + 1]):
            arc = paths.arcs[place]
            if work.extra[arc] == 0.0:
                work.touched[arcs] = arc
                arcs += 1
            work.extra[arc] += work.moved[tunnel]
    return arcs


@kernel
def lost_by_all(paths: Paths, rates: FloatArray, work: Work, arcs: int) -> float:
    """What is lost when moved and aboriginal traffic share a queue: only tunnels over a congested arc lose any."""
    lost, seen = 0.0, 0
    for number in range(arcs):
        arc = work.touched[number]
        if work.load[arc] + work.extra[arc] <= paths.capacity_mbps[arc]:
            continue
        for place in range(paths.arc_first[arc], paths.arc_first[arc + 1]):
            tunnel = paths.arc_tunnels[place]
            rate = rates[tunnel] + work.moved[tunnel]
            if work.down[tunnel] or work.seen[tunnel] or rate <= 0.0:
                continue
            work.seen[tunnel] = True
            seen += 1
            share = 1.0
            for entry in range(paths.arc_starts[tunnel], paths.arc_starts[tunnel + 1]):
                over = paths.arcs[entry]
                load = work.load[over] + work.extra[over]
                if load > paths.capacity_mbps[over]:
                    share = min(share, paths.capacity_mbps[over] / load)
            lost += rate * (1.0 - share)
    if seen > 0:
        work.seen[:] = False
    return lost


@kernel
def delivered_low(paths: Paths, work: Work, movers: int) -> float:
    """What moved traffic delivers in the victim queue."""
    delivered = 0.0
    for number in range(movers):
        tunnel = work.tunnels[number]
        share = 1.0
        for place in range(paths.arc_starts[tunnel], paths.arc_starts[tunnel + 1]):
            arc = paths.arcs[place]
            left = max(0.0, paths.capacity_mbps[arc] - work.load[arc])
            if work.extra[arc] > left:
                share = min(share, left / work.extra[arc])
        delivered += work.moved[tunnel] * share
    return delivered


@kernel
def room(paths: Paths, work: Work, tunnel: int) -> float:
    """Capacity that aboriginal traffic leaves along a tunnel."""
    least = np.inf
    for place in range(paths.arc_starts[tunnel], paths.arc_starts[tunnel + 1]):
        arc = paths.arcs[place]
        least = min(least, paths.capacity_mbps[arc] - work.load[arc])
    return least


@kernel
def number_rows(paths: Paths, work: Work, movers: int, rows: int) -> int:
    """Give every arc of the remaining survivors a row; the number of rows then."""
    for number in range(movers):
        tunnel = work.tunnels[number]
        for place in range(paths.arc_starts[tunnel], paths.arc_starts[tunnel + 1]):
            if work.row[paths.arcs[place]] < 0:
                work.row[paths.arcs[place]] = rows
                rows += 1
    return rows


@kernel
def fill_tableau(paths: Paths, work: Work, columns: int, tableau: FloatArray, scale: float) -> None:
    """One column a survivor with room: its demand's row, then the rows of its arcs."""
    demand, row = -1, -1
    last = tableau.shape[0] - 1
    for column in range(columns):
        tunnel = work.tunnels[column]
        if paths.owner[tunnel] != demand:
            demand = paths.owner[tunnel]
            row += 1
            tableau[row, columns] = work.victims[demand] / scale
        tableau[row, column] = 1.0
        tableau[last, column] = -1.0
        for place in range(paths.arc_starts[tunnel], paths.arc_starts[tunnel + 1]):
            arc = paths.arcs[place]
            tableau[work.row[arc], column] = 1.0
            tableau[work.row[arc], columns] = max(0.0, paths.capacity_mbps[arc] - work.load[arc]) / scale


@kernel
def proven_gap(program: FloatArray, multipliers: FloatArray, optimum: float) -> float:
    """Distance from the optimum found to the bound of its multipliers, over the program as it was."""
    rows, columns = program.shape[0] - 1, program.shape[1] - 1
    bound = 0.0
    for row in range(rows):
        bound += program[row, columns] * multipliers[row]
    for column in range(columns):
        worth, most = 1.0, np.inf
        for row in range(rows):
            if program[row, column] > 0.0:
                worth -= multipliers[row]
                most = min(most, program[row, columns])
        bound += max(0.0, worth) * most
    return abs(bound - optimum)


@kernel
def second_program(paths: Paths, work: Work, movers: int, row: FloatArray) -> None:
    """Best split of the victims over what aboriginal traffic leaves (Kuijia section 4.2)."""
    scale = row[REROUTABLE]
    columns, demands, last = 0, 0, -1
    # Survivors without room drop out; `tunnels` is grouped by demand already.
    kept = np.empty(movers, np.int64)
    for number in range(movers):
        tunnel = work.tunnels[number]
        if room(paths, work, tunnel) > ROUNDING * scale:
            kept[columns] = tunnel
            columns += 1
            if paths.owner[tunnel] != last:
                last = paths.owner[tunnel]
                demands += 1
    if columns == 0:
        return
    every = work.tunnels[:movers].copy()
    work.tunnels[:columns] = kept[:columns]
    rows = number_rows(paths, work, columns, demands)
    tableau = np.zeros((rows + 1, columns + 1))
    fill_tableau(paths, work, columns, tableau, scale)
    program, multipliers = tableau.copy(), np.empty(rows)
    pivots = solve_tiny(tableau, multipliers)
    row[PIVOTS] = pivots if pivots >= 0 else NOT_SOLVED
    if pivots >= 0:
        row[PRECOMPUTED] = tableau[rows, columns] * scale
        row[GAP] = proven_gap(program, multipliers, tableau[rows, columns])
    for column in range(columns):
        tunnel = work.tunnels[column]
        for place in range(paths.arc_starts[tunnel], paths.arc_starts[tunnel + 1]):
            work.row[paths.arcs[place]] = -1
    work.tunnels[:movers] = every
