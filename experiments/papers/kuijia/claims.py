"""What Kuijia's paper says of its measurements, held to rows; bands are those fixed before anything was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from experiments.campaign.statistics import Estimate, mean_interval, median_interval
from experiments.campaign.values import Arm, Json
from experiments.campaign.verdicts import (
    AtLeast,
    AtMost,
    Band,
    Claim,
    ClaimResult,
    Within,
    around,
    judge,
    judge_difference,
)
from experiments.papers.kuijia import testbed
from experiments.papers.kuijia.measures import (
    Choice,
    Class,
    Measure,
    Point,
    busiest_directions,
    by_demand,
    by_point,
    chosen,
    difference,
    growth,
    lost_percent,
    staying_change,
    typical_convergence_s,
    whole_convergence_s,
)

TCP, UDP = Choice("tcp"), Choice("udp")
CLASSES_TCP = Choice("tcp", testbed.FOUR)
DIRECT, VICTIM, INDIRECT = Class("direct"), Class("victim"), Class("indirect")
LOW_DIRECT, LOW_VICTIM = Class("direct", "low"), Class("victim", "low")
HIGH_DIRECT, HIGH_VICTIM = Class("direct", "high"), Class("victim", "high")
ABOVE_CAPACITY_MBPS = 1000
FIGURE1 = Choice("tcp", topology=testbed.FIGURE1)
ABORIGINAL, VICTIMS = ("f3", "f4"), ("f1", "f2")
GROWS, ABOVE = "grows with demand", "in this order"

Values = Mapping[Point, float]


def points(rows: Sequence[Json], choice: Choice, arm: Arm, measure: Measure) -> Values:
    """A measure of every trial of an arm."""
    return by_point(chosen(rows, choice, arm), measure)


def both(rows: Sequence[Json], choice: Choice, measure: Measure) -> tuple[Values, Values]:
    """A measure under Kuijia and under rescaling."""
    kuijia, rescaling = (points(rows, choice, arm, measure) for arm in testbed.ARMS)
    return kuijia, rescaling


def mean_of(values: Values) -> Estimate | None:
    """Mean over trials; None without any."""
    return mean_interval(list(values.values())) if values else None


def fig10(rows: Sequence[Json]) -> list[ClaimResult]:
    """TCP loss of directly affected flows: about 0 with Kuijia at every demand; rescaling's grows."""
    name = "loss of directly affected TCP flows"
    kuijia, rescaling = both(rows, TCP, lost_percent(DIRECT))
    estimates = by_demand(kuijia) or dict.fromkeys(testbed.QUICK_DEMANDS_MBPS)
    at_every_demand = [
        judge(
            Claim(f"{name}, Kuijia, {demand} Mbit/s", "%", "about 0", AtMost(3.0)),
            estimate,
        )
        for demand, estimate in estimates.items()
    ]
    return [
        *at_every_demand,
        judge_difference(f"growth of the {name}, rescaling", "points", GROWS, growth(rescaling)),
        judge_difference(f"{name}, rescaling less Kuijia", "points", ABOVE, difference(rescaling, kuijia)),
    ]


def fig11(rows: Sequence[Json]) -> list[ClaimResult]:
    """UDP loss of directly affected flows: below 2 % with Kuijia at nearly all points."""
    name = "loss of directly affected UDP flows"
    kuijia, rescaling = both(rows, UDP, lost_percent(DIRECT))
    share = 100.0 * sum(value <= 2.0 for value in kuijia.values()) / len(kuijia) if kuijia else None
    small = Claim(f"points with at most 2 % {name}, Kuijia", "%", "almost all", AtLeast(90))
    return [
        judge(small, None if share is None else Estimate(share, None, None)),
        judge_difference(f"growth of the {name}, rescaling", "points", GROWS, growth(rescaling)),
        judge_difference(f"{name}, rescaling less Kuijia", "points", ABOVE, difference(rescaling, kuijia)),
    ]


def victims(choice: Choice) -> Callable[[Sequence[Json]], list[ClaimResult]]:
    """Figures 12 (TCP) and 13 (UDP): victims lose more with Kuijia, and the more the larger the demand."""

    def claims(rows: Sequence[Json]) -> list[ClaimResult]:
        kuijia, rescaling = both(rows, choice, lost_percent(VICTIM))
        name = f"loss of {choice.transport.upper()} victims"
        return [
            judge_difference(f"{name}, Kuijia less rescaling", "points", ABOVE, difference(kuijia, rescaling)),
            judge_difference(f"growth of the {name}, Kuijia", "points", GROWS, growth(kuijia)),
            judge_difference(f"growth of the {name}, rescaling", "points", GROWS, growth(rescaling)),
        ]

    return claims


def table4(rows: Sequence[Json]) -> list[ClaimResult]:
    """TCP convergence: below 1 s with Kuijia, above 10 s with rescaling once demand exceeds capacity."""
    kuijia, rescaling = both(rows, TCP, typical_convergence_s)
    whole = {arm: points(rows, TCP, arm, whole_convergence_s) for arm in testbed.ARMS}
    above = [value for (_, demand), value in whole[testbed.RESCALING].items() if demand > ABOVE_CAPACITY_MBPS]
    name = "TCP convergence of affected flows"
    results = [
        judge(Claim(f"{name}, median flow, Kuijia", "s", "below 1", AtMost(1.0)), _median(list(kuijia.values()))),
        judge_difference(f"{name}, median flow, rescaling less Kuijia", "s", ABOVE, difference(rescaling, kuijia)),
        judge(Claim(f"{name}, all flows, rescaling above capacity", "s", "over 10", AtLeast(10.0)), _median(above)),
    ]
    for arm in testbed.ARMS:
        values = list(whole[arm].values())
        claim = Claim(f"{name}, all flows, {testbed.ARM_NAMES[arm.name]}", "s")
        results.append(judge(claim, _median(values)))
    return results


def _median(values: Sequence[float]) -> Estimate | None:
    return median_interval(values) if values else None


def fig14(rows: Sequence[Json]) -> list[ClaimResult]:
    """Low-priority flows: rescaling hurts directly affected ones, Kuijia victims only."""
    kuijia, rescaling = both(rows, CLASSES_TCP, lost_percent(LOW_DIRECT))
    hit, _ = both(rows, CLASSES_TCP, lost_percent(LOW_VICTIM))
    name = "loss of directly affected low-priority flows"
    return [
        judge_difference(f"{name}, rescaling less Kuijia", "points", ABOVE, difference(rescaling, kuijia)),
        judge_difference(f"growth of the {name}, rescaling", "points", GROWS, growth(rescaling)),
        judge_difference(
            "loss of low-priority flows under Kuijia, victims less directly affected",
            "points",
            ABOVE,
            difference(hit, kuijia),
        ),
        judge(Claim(f"{name}, Kuijia", "%", "none"), mean_of(kuijia)),
    ]


def fig16(rows: Sequence[Json]) -> list[ClaimResult]:
    """Traffic over a link by priority: high unchanged in both; low directly affected traffic cut by rescaling alone."""
    directions = busiest_directions(chosen(rows, CLASSES_TCP))
    results = []
    changes: dict[Arm, Values] = {}
    for arm in testbed.ARMS:
        title = testbed.ARM_NAMES[arm.name]
        for which in (HIGH_DIRECT, HIGH_VICTIM):
            claim = Claim(
                f"change of high-priority {which.kind} traffic of flows over the link, {title}",
                "%",
                "unchanged",
                Within(-2.0, 2.0),
            )
            results.append(judge(claim, mean_of(_change(rows, arm, directions, which))))
        changes[arm] = _change(rows, arm, directions, LOW_DIRECT)
    name = "low-priority directly affected traffic that stays on the link"
    paper = 100.0 * (631.937 / 697.263 - 1)
    results += [
        judge_difference(
            f"change of {name}, Kuijia less rescaling",
            "points",
            ABOVE,
            difference(changes[testbed.KUIJIA], changes[testbed.RESCALING]),
        ),
        judge(Claim(f"change of {name}, rescaling", "%", round(paper, 1)), mean_of(changes[testbed.RESCALING])),
        judge(Claim(f"change of {name}, Kuijia", "%", "none"), mean_of(changes[testbed.KUIJIA])),
    ]
    return results


def _change(rows: Sequence[Json], arm: Arm, directions: Mapping[int, str], which: Class) -> Values:
    """Change (%) of the traffic of a class that crosses its round's link after the failure, since before it."""

    def measure(row: Json) -> float | None:
        return staying_change(row, directions[row["round"]], which) if row["round"] in directions else None

    return points(rows, CLASSES_TCP, arm, measure)


def indirect(rows: Sequence[Json]) -> list[ClaimResult]:
    """Indirectly affected flows: less than 1 % with rescaling, almost nothing with Kuijia."""
    results = []
    for choice in (TCP, UDP):
        kuijia, rescaling = both(rows, choice, lost_percent(INDIRECT))
        for values, title, paper, band in (
            (rescaling, "rescaling", "below 1", AtMost(1.0)),
            (kuijia, "Kuijia", "almost none", AtMost(0.5)),
        ):
            name = f"loss of indirectly affected {choice.transport.upper()} flows, {title}"
            results.append(judge(Claim(name, "%", paper, band), mean_of(values)))
    return results


def table2(rows: Sequence[Json]) -> list[ClaimResult]:
    """800, 800 and 400 + 400 Mbit/s: Kuijia leaves f3 and f4 whole, victims get the spare 200 a tunnel."""
    whole = _kept_whole(rows, "table2")
    spare = [
        judge(
            Claim(f"{name} after the failure, Kuijia", "Mbit/s", 200.0, around(200.0, 20.0)),
            figure1_rate(rows, "table2", testbed.KUIJIA, name, "after"),
        )
        for name in VICTIMS
    ]
    return [*whole, *spare, *_degraded(rows, "table2", (*ABORIGINAL, *VICTIMS))]


def table3(rows: Sequence[Json]) -> list[ClaimResult]:
    """1000, 1000 and 500 + 500 Mbit/s: rescaling leaves f3 and f4 about 470; Kuijia all, and victims nothing."""
    shared = [
        judge(
            Claim(f"{name} after the failure, rescaling", "Mbit/s", 470.0, around(470.0, 47.0)),
            figure1_rate(rows, "table3", testbed.RESCALING, name, "after"),
        )
        for name in ABORIGINAL
    ]
    nothing = [
        judge(
            Claim(f"{name} after the failure, Kuijia", "Mbit/s", 0.0, AtMost(50.0)),
            figure1_rate(rows, "table3", testbed.KUIJIA, name, "after"),
        )
        for name in VICTIMS
    ]
    return [*_kept_whole(rows, "table3"), *nothing, *shared]


def _kept_whole(rows: Sequence[Json], table: str) -> list[ClaimResult]:
    return [_changed(rows, table, testbed.KUIJIA, name, "not affected", Within(-10.0, 10.0)) for name in ABORIGINAL]


def _degraded(rows: Sequence[Json], table: str, names: Sequence[str]) -> list[ClaimResult]:
    """Less by 1 % at least: a smaller change is within what TCP's rate does by itself, and its sign is chance."""
    return [_changed(rows, table, testbed.RESCALING, name, "degrades", AtMost(-1.0)) for name in names]


def _changed(rows: Sequence[Json], table: str, arm: Arm, name: str, paper: str, band: Band) -> ClaimResult:
    values = [
        100.0 * (after / before - 1)
        for before, after in zip(*(_rates(rows, table, arm, name, when) for when in ("before", "after")), strict=True)
        if before
    ]
    claim = Claim(f"change of {name}, {testbed.ARM_NAMES[arm.name]}", "%", paper, band)
    return judge(claim, mean_interval(values) if values else None)


def figure1_rate(rows: Sequence[Json], table: str, arm: Arm, name: str, when: str) -> Estimate | None:
    """Throughput of one of f1 to f4, in the paper's Mbit/s."""
    values = _rates(rows, table, arm, name, when)
    return mean_interval(values) if values else None


def _rates(rows: Sequence[Json], table: str, arm: Arm, name: str, when: str) -> list[float]:
    return [
        testbed.SCALE * flow[f"{when}_mbps"]
        for row in chosen(rows, FIGURE1, arm)
        if row["parameters"].get("table") == table
        for flow in row["flows"]
        if flow["name"] == name
    ]
