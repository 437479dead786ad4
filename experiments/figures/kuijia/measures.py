"""Numbers of measured rows: losses by class of flows, convergence, and what te_solver's fluid gives for the same.

Losses are of volumes: what the flows of a class carry together, so that a flow of 0.1 Mbit/s counts for what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from experiments.campaign.draws import tunnel_traffic
from experiments.campaign.kinds.flows import FlowsRow
from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import Variant
from experiments.scenario.flow_values import FlowRecord

# A flow that carries less than this at the end has come to nothing, so it has no rate to converge to.
NOTHING_MBPS = 0.01
# Smaller flows have fewer than 86 packets a second, which come in clumps: undisturbed ones stray by more than the 10 %
# of the rule for convergence, larger ones do not (docs/decisions/kuijia-figures.md).
LEAST_STEADY_MBPS = 1.0
AFFECTED = ("victim", "direct")
UNAFFECTED = ("none",)
CLASSES = (*AFFECTED, "indirect", *UNAFFECTED)
# Figure 16 has flows of ten packets a second, so it takes means over all that follows these seconds after the failure.
SETTLED_S = 5.0


class Choice(NamedTuple):
    """Which trials an id looks at."""

    transport: str
    queues: str = tunnel_traffic.SINGLE
    topology: str = tunnel_traffic.GSCALE


class Class(NamedTuple):
    """Which flows: their class of Kuijia section 5.2, and their priority (None: any)."""

    kind: str
    priority: str | None = None


Measure = Callable[[FlowsRow], float | None]
Point = tuple[int, int]
"""Round and demand of a trial."""


def chosen(rows: Iterable[FlowsRow], choice: Choice, variant: Variant | None = None) -> list[FlowsRow]:
    """Rows of the chosen trials, of one variant or of all."""
    wanted = (choice.transport, choice.queues, choice.topology)
    return [
        row
        for row in rows
        if (row.parameters.transport, row.parameters.queues, row.topology) == wanted
        and (variant is None or row.variant == variant.name)
    ]


def flows_of(row: FlowsRow, which: Class) -> list[FlowRecord]:
    """Flow records of a class."""
    return [flow for flow in row.measured.flows if flow.kind == which.kind and which.priority in (None, flow.priority)]


def lost_percent(which: Class) -> Measure:
    """Loss of a class as the paper means it: throughput that is gone (TCP), datagrams that are (UDP); None without."""

    def measure(row: FlowsRow) -> float | None:
        flows = flows_of(row, which)
        if row.parameters.transport == "udp":
            known = [flow for flow in flows if flow.lost_percent_after is not None]
            sent = sum(flow.offered_mbps or 0.0 for flow in known)
            lost = sum((flow.offered_mbps or 0.0) * (flow.lost_percent_after or 0.0) for flow in known)
            return lost / sent if sent else None
        before = sum(flow.before_mbps for flow in flows)
        return 100.0 * (1 - sum(flow.after_mbps for flow in flows) / before) if before else None

    return measure


def fluid_lost_percent(which: Class) -> Measure:
    """The same by the fluid model."""

    def measure(row: FlowsRow) -> float | None:
        fluid = [row.measured.fluid[flow.name] for flow in flows_of(row, which)]
        before = sum(each.before_mbps for each in fluid)
        return 100.0 * (1 - sum(each.after_mbps for each in fluid) / before) if before else None

    return measure


def convergences_s(row: FlowsRow, kinds: Sequence[str] = CLASSES, least_mbps: float = 0.0) -> list[float]:
    """Convergence of each flow that has something in the end; the time watched where it never settled.

    Parameters
    ----------
    kinds
        Classes of flows that count.
    least_mbps
        Flows that offer less do not count.
    """
    watched_s = float(row.measured.windows_s.after_s)
    return [
        watched_s if flow.convergence_s is None else float(flow.convergence_s)
        for kind in kinds
        for flow in flows_of(row, Class(kind))
        if flow.after_mbps >= NOTHING_MBPS and (flow.offered_mbps or 0.0) >= least_mbps
    ]


def steady_convergences_s(row: FlowsRow) -> list[float]:
    """Convergence of each affected flow whose rate can be measured well."""
    return convergences_s(row, AFFECTED, LEAST_STEADY_MBPS)


def whole_convergence_s(row: FlowsRow) -> float | None:
    """Time until all flows of a trial have settled, small ones too: the paper's convergence time (section 5.2)."""
    return max(convergences_s(row), default=None)


def unaffected_convergence_s(row: FlowsRow) -> float | None:
    """Time until all flows have settled that the failure does not affect: noise alone."""
    return max(convergences_s(row, UNAFFECTED), default=None)


def steady_convergence_s(row: FlowsRow) -> float | None:
    """Time until all affected flows of a trial have settled whose rate can be measured well."""
    return max(steady_convergences_s(row), default=None)


def typical_convergence_s(row: FlowsRow) -> float | None:
    """Median over the affected flows of a trial whose rate can be measured well."""
    values = steady_convergences_s(row)
    return median(values) if values else None


def by_point(rows: Iterable[FlowsRow], measure: Measure) -> dict[Point, float]:
    """Value of every trial that has one, by round and demand."""
    found = {}
    for row in rows:
        value = measure(row)
        if value is not None and math.isfinite(value):
            found[row.round, row.parameters.demand_mbps or 0] = value
    return found


def demands_of(rows: Iterable[FlowsRow]) -> list[int]:
    """Demands of rows, in order."""
    return sorted({row.parameters.demand_mbps or 0 for row in rows})


def by_demand(values: Mapping[Point, float]) -> dict[int, Estimate]:
    """Mean over rounds at each demand."""
    groups: dict[int, list[float]] = {}
    for (_, demand), value in sorted(values.items()):
        groups.setdefault(demand, []).append(value)
    return {demand: mean_interval(group) for demand, group in sorted(groups.items())}


def by_rounds(values: Mapping[Point, float]) -> Estimate | None:
    """Mean over rounds of the mean over demands; points of a round share pairs and links, and are one observation."""
    groups: dict[int, list[float]] = {}
    for (number, _), value in sorted(values.items()):
        groups.setdefault(number, []).append(value)
    return mean_interval([_mean(group) for group in groups.values()]) if groups else None


def difference(larger: Mapping[Point, float], smaller: Mapping[Point, float]) -> Estimate | None:
    """Mean over rounds of the differences between trials that share pairs, link and demand; None without any.

    One round gives no interval, however many demands it has: they share what was drawn.
    """
    return by_rounds({point: larger[point] - smaller[point] for point in larger.keys() & smaller.keys()})


def growth(values: Mapping[Point, float]) -> Estimate | None:
    """Value at the largest demand less that at the smallest, over rounds; None with fewer than two demands."""
    demands = sorted({demand for _, demand in values})
    if len(demands) < 2:
        return None
    first, last = demands[0], demands[-1]
    rounds = [number for number, demand in values if demand == first and (number, last) in values]
    steps = [values[number, last] - values[number, first] for number in rounds]
    return mean_interval(steps) if steps else None


class Crossing(NamedTuple):
    """Traffic of one kind over one link, in the paper's Mbit/s."""

    before_mbps: float
    after_mbps: float


def busiest_directions(rows: Iterable[FlowsRow]) -> dict[int, str]:
    """Directed link that Figure 16 looks at, by round: that on which most victims join traffic that stays.

    By what flows offer, not by what was measured, and by all trials of a round, which share pairs and failed link.
    """
    weights: dict[int, dict[str, float]] = {}
    for row in rows:
        weight = weights.setdefault(row.round, {})
        joined, stays = (_offered(row, kind) for kind in ("victim", "direct"))
        for name in joined.keys() & stays.keys():
            weight[name] = weight.get(name, 0.0) + joined[name]
    return {number: max(sorted(weight), key=lambda name: weight[name]) for number, weight in weights.items() if weight}


def _offered(row: FlowsRow, kind: str) -> dict[str, float]:
    """What flows of a class offer to every directed link after the failure."""
    found: dict[str, float] = {}
    for flow in flows_of(row, Class(kind)):
        for name in row.measured.paths[flow.name].after:
            found[name] = found.get(name, 0.0) + (flow.offered_mbps or 0.0)
    return found


def crossing(row: FlowsRow, direction: str, which: Sequence[Class], *, fluid: bool = False) -> Crossing:
    """What flows of some classes carry over a link before the failure and after it, at their receivers."""
    sums = [0.0, 0.0]
    for each in which:
        for flow in flows_of(row, each):
            rates = fluid_rates(row, flow) if fluid else long_rates(row, flow)
            for place, (when, mbps) in enumerate(zip(("before", "after"), rates, strict=True)):
                if direction in getattr(row.measured.paths[flow.name], when):
                    sums[place] += row.parameters.scale * mbps
    return Crossing(*sums)


def staying_change(row: FlowsRow, direction: str, which: Class) -> float | None:
    """Change (%) of what the flows of a class that cross a link after the failure carry, since before it."""
    flows = [flow for flow in flows_of(row, which) if direction in row.measured.paths[flow.name].after]
    before, after = (sum(rates) for rates in zip((0.0, 0.0), *(long_rates(row, flow) for flow in flows), strict=True))
    return 100.0 * (after / before - 1) if before else None


def fluid_rates(row: FlowsRow, flow: FlowRecord) -> tuple[float, float]:
    """What the fluid delivers of a flow, before and after the failure (Mbit/s)."""
    rates = row.measured.fluid[flow.name]
    return rates.before_mbps, rates.after_mbps


def long_rates(row: FlowsRow, flow: FlowRecord) -> tuple[float, float]:
    """Mean rates of a flow over the window before the failure, and from `SETTLED_S` after it to the end (Mbit/s)."""
    stamped = list(zip(seconds_of(flow), flow.samples_mbps, strict=True))
    before = [mbps for second, mbps in stamped if -row.measured.windows_s.before_s <= second < 0]
    after = [mbps for second, mbps in stamped if second >= SETTLED_S]
    return _mean(before), _mean(after)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def seconds_of(flow: FlowRecord) -> list[float]:
    """Seconds of a flow's samples after the failure, at the middle of each."""
    first_s = flow.start_ms / 1000.0
    return [first_s + 0.1 * (number + 0.5) for number in range(len(flow.samples_mbps))]
