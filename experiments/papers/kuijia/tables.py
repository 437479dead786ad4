"""Tables of Kuijia's measured ids, each value beside what the fluid model gives for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from experiments.campaign.statistics import Estimate, median_interval
from experiments.campaign.values import Json
from experiments.papers.figure import Table
from experiments.papers.kuijia import claims, testbed
from experiments.papers.kuijia.measures import (
    Choice,
    Class,
    Crossing,
    busiest_directions,
    by_demand,
    by_point,
    chosen,
    convergences_s,
    crossing,
    demands_of,
    flows_of,
    fluid_lost_percent,
    lost_percent,
    typical_convergence_s,
    whole_convergence_s,
)

MakeTable = Callable[[Sequence[Json]], Table]


def loss_table(cases: Mapping[str, tuple[Choice, Class]]) -> MakeTable:
    """Mean loss by flows and demand, for both schemes.

    Parameters
    ----------
    cases : mapping of str to (Choice, Class)
        What the first column calls them.
    """

    def table(rows: Sequence[Json]) -> Table:
        found = []
        for title, (choice, which) in cases.items():
            own = chosen(rows, choice)
            values = {
                (arm, fluid): by_demand(by_point(chosen(own, choice, arm), measure(which)))
                for arm in testbed.ARMS
                for fluid, measure in ((False, lost_percent), (True, fluid_lost_percent))
            }
            for demand in demands_of(own):
                cells = (_cell(values[arm, fluid].get(demand)) for arm in testbed.ARMS for fluid in (False, True))
                here = [row for row in own if row["parameters"]["demand_mbps"] == demand]
                flows = sum(len(flows_of(row, which)) for row in here) / max(1, len(here))
                found.append((title, str(demand), *cells, f"{flows:.0f}", str(len(here))))
        return Table(("flows", "Mbit/s a pair", *_PAIRED, "flows a trial", "trials"), tuple(found))

    return table


_PAIRED = tuple(f"{testbed.ARM_NAMES[arm.name]}: {what}" for arm in testbed.ARMS for what in ("lost %", "fluid %"))


def convergence_table(rows: Sequence[Json]) -> Table:
    """Convergence (s) by demand: median flow with quartiles of all flows, and until all have settled."""
    found = []
    own = chosen(rows, claims.TCP)
    for demand in demands_of(own):
        for arm in testbed.ARMS:
            here = [row for row in chosen(own, claims.TCP, arm) if row["parameters"]["demand_mbps"] == demand]
            values = [value for row in here for value in convergences_s(row)]
            if values:
                middle = median_interval(values)
                whole = [value for row in here if (value := whole_convergence_s(row)) is not None]
                typical = [value for row in here if (value := typical_convergence_s(row)) is not None]
                found.append(
                    (
                        testbed.ARM_NAMES[arm.name],
                        str(demand),
                        f"{sum(typical) / len(typical):.2f}",
                        f"{middle.low:.2f}",
                        f"{middle.high:.2f}",
                        f"{sum(whole) / len(whole):.2f}",
                        str(len(values)),
                        str(len(here)),
                    )
                )
    header = ("scheme", "Mbit/s a pair", "median flow s", "1st quartile", "3rd quartile", "all flows s")
    return Table((*header, "flows", "trials"), tuple(found))


def figure1_table(table: str) -> MakeTable:
    """Throughput of f1 to f4 in the paper's Mbit/s, before and after, beside the fluid model."""

    def make(rows: Sequence[Json]) -> Table:
        found = []
        for arm in testbed.ARMS:
            here = [row for row in chosen(rows, claims.FIGURE1, arm) if row["parameters"].get("table") == table]
            if not here:
                continue
            for name in (*claims.VICTIMS, *claims.ABORIGINAL):
                before, after = (claims.figure1_rate(rows, table, arm, name, when) for when in ("before", "after"))
                fluid = testbed.SCALE * here[0]["fluid"][name]["after_mbps"]
                cells = (_cell(before, 0), _cell(after, 0), f"{fluid:.0f}", str(len(here)))
                found.append((f"{name}, {testbed.ARM_NAMES[arm.name]}", *cells))
        return Table(("flow", "before Mbit/s", "after Mbit/s", "fluid after Mbit/s", "trials"), tuple(found))

    return make


GROUPS = {
    "high, stays": (claims.HIGH_DIRECT, Class("indirect", "high"), Class("none", "high")),
    "high, victims": (claims.HIGH_VICTIM,),
    "low, stays": (claims.LOW_DIRECT, Class("indirect", "low"), Class("none", "low")),
    "low, victims": (claims.LOW_VICTIM,),
}


def crossing_table(rows: Sequence[Json]) -> Table:
    """Traffic of flows over the busiest link by priority, in the paper's Mbit/s; means over rounds."""
    own = chosen(rows, claims.CLASSES_TCP)
    directions = busiest_directions(own)
    found = []
    for demand in demands_of(own):
        for arm in testbed.ARMS:
            here = [row for row in chosen(own, claims.CLASSES_TCP, arm) if row["parameters"]["demand_mbps"] == demand]
            for title, which in GROUPS.items():
                measured, fluid = (group_mean(here, directions, which, fluid=fluid) for fluid in (False, True))
                if measured is not None and fluid is not None:
                    cells = (measured.before_mbps, measured.after_mbps, fluid.after_mbps)
                    name = f"{title}, {testbed.ARM_NAMES[arm.name]}"
                    found.append((name, str(demand), *(f"{cell:.1f}" for cell in cells)))
    header = ("traffic over the link", "Mbit/s a pair", "before Mbit/s", "after Mbit/s", "fluid after Mbit/s")
    return Table(header, tuple(found))


def group_mean(
    rows: Sequence[Json], directions: Mapping[int, str], which: Sequence[Class], *, fluid: bool = False
) -> Crossing | None:
    """Mean over trials of a group's traffic over its round's link; None without a trial."""
    found = [crossing(row, directions[row["round"]], which, fluid=fluid) for row in rows if row["round"] in directions]
    if not found:
        return None
    sums = (sum(each.before_mbps for each in found), sum(each.after_mbps for each in found))
    return Crossing(*(total / len(found) for total in sums))


def _cell(estimate: Estimate | None, digits: int = 2) -> str:
    return "" if estimate is None else f"{estimate.value:.{digits}f}"
