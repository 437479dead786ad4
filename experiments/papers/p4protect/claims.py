"""What P4-Protect claims, judged from rows: nothing lost, costs, goodput, jitter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.campaign.statistics import Estimate, mean_interval, median_interval
from experiments.campaign.values import Arm, Json
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, Exactly, Within, judge
from experiments.papers.kuijia.trials import own_rows
from experiments.papers.p4protect import setup

Value = Callable[[Json], float]
MEAN_RATIO, MEAN_SPARE, DEVIATION_RATIO = 2 / 3, 0.08, 1.0
GOODPUT_WITHIN = 10.0
QUARTILES = "median over rounds, and quartiles instead of the interval"
# Ratios by which the paper's Figure 6 gives its processing times, in per cent of plain forwarding.
PAPER_COST = {setup.UNPROTECTED.name: 127.0, setup.PROTECTED.name: 166.0}
PAPER_RECEIVING_COST = 127.0


def good_rows(rows: Sequence[Json], figure_id: str, arm: Arm, case: Json) -> list[Json]:
    """Good rows of an arm whose parameters are those of a case."""
    return [
        row
        for row in own_rows(rows, figure_id)
        if row.get("status", "ok") == "ok"
        and row["arm"] == arm.name
        and all(row["parameters"][key] == wanted for key, wanted in case.items())
    ]


def values(rows: Sequence[Json], figure_id: str, arm: Arm, case: Json, value: Value) -> list[float]:
    """A value of every good row of an arm in a case, round by round."""
    return [value(row) for row in good_rows(rows, figure_id, arm, case)]


def field_of(name: str) -> Value:
    """Reader of a field of rows."""
    return lambda row: float(row[name])


def mean_of(rows: Sequence[Json], figure_id: str, arm: Arm, case: Json, value: Value) -> Estimate | None:
    """Mean over rounds with its 95 % interval; None without rows."""
    found = values(rows, figure_id, arm, case, value)
    return mean_interval(found) if found else None


def median_of(rows: Sequence[Json], figure_id: str, arm: Arm, case: Json, value: Value) -> Estimate | None:
    """Median over rounds with its quartiles, for costs: a round that others disturbed does not move it."""
    found = values(rows, figure_id, arm, case, value)
    return median_interval(found) if found else None


def ratio_of(
    rows: Sequence[Json], figure_id: str, arms: tuple[Arm, Arm], case: Json, value: Value, scale: float = 1.0
) -> Estimate | None:
    """Median over rounds of one arm's value by the other's in the same round; None without rounds that have both."""
    by_round = [{row["round"]: value(row) for row in good_rows(rows, figure_id, arm, case)} for arm in arms]
    both = sorted(by_round[0].keys() & by_round[1].keys())
    found = [scale * by_round[0][number] / by_round[1][number] for number in both if by_round[1][number]]
    return median_interval(found) if found else None


def loss(rows: Sequence[Json]) -> list[ClaimResult]:
    """Exactly nothing is lost or comes twice; without protection about rate x outage is lost."""
    sums = {}
    for name in ("lost", "duplicated", "reordered"):
        found = values(rows, setup.LOSS, setup.PROTECTED, {}, field_of(name))
        sums[name] = Estimate(sum(found), None, None) if found else None
    outage_s = sum(seconds for path, _, seconds in setup.LOSS_CUTS if path == "p1")
    control = ratio_of_outage(rows, outage_s)
    results = [
        judge(
            Claim(f"packets {name}, 1+1, each path cut in turn, all rounds", "packets", 0.0, Exactly(0.0)), sums[name]
        )
        for name in ("lost", "duplicated")
    ]
    results.append(
        judge(Claim("packets reordered, 1+1, each path cut in turn, all rounds", "packets"), sums["reordered"])
    )
    wanted = Claim(
        "packets lost without protection, by rate x outage of its path",
        "ratio",
        "about 1",
        Within(0.8, 1.2),
        neutral=1.0,
    )
    return [*results, judge(wanted, control)]


def ratio_of_outage(rows: Sequence[Json], outage_s: float) -> Estimate | None:
    """Losses of the unprotected stream by what its path's outage amounts to."""
    found = values(
        rows, setup.LOSS, setup.PLAIN, {}, lambda row: row["lost"] / (row["parameters"]["rate_pps"] * outage_s)
    )
    return mean_interval(found) if found else None


def cost(rows: Sequence[Json]) -> list[ClaimResult]:
    """Processing time of both ends, in per cent of plain forwarding, by the kernel's own counters and end to end."""
    results: list[ClaimResult] = []
    for size in setup.FRAME_BYTES:
        case = {"frame_bytes": size}
        for arm in (setup.UNPROTECTED, setup.PROTECTED):
            arms = (arm, setup.PLAIN)
            sending = ratio_of(rows, setup.COST, arms, case, lambda row: row["first_node_ns"], 100.0)
            text = f"program at the sending end, {setup.LABELS[arm.name]}, {size} bytes"
            results.append(judge(Claim(text, "% of plain", PAPER_COST[arm.name], neutral=100.0), sending))
        arms = (setup.PROTECTED, setup.PLAIN)
        receiving = ratio_of(rows, setup.COST, arms, case, lambda row: row["second_node_ns"], 100.0)
        text = f"program at the receiving end, a copy, {size} bytes"
        results.append(judge(Claim(text, "% of plain", PAPER_RECEIVING_COST, neutral=100.0), receiving))
        whole = ratio_of(rows, setup.COST, arms, case, lambda row: row["whole_ns"], 100.0)
        results.append(
            judge(Claim(f"whole way on one processor, 1+1, {size} bytes", "% of plain", neutral=100.0), whole)
        )
    return [result.with_note(QUARTILES) for result in results]


def goodput(rows: Sequence[Json]) -> list[ClaimResult]:
    """Protected TCP is as fast as plain TCP, within 10 %, and nothing is sent twice."""
    results = []
    for flows in setup.FLOWS:
        case = {"flows": flows}
        for arm in (setup.UNPROTECTED, setup.PROTECTED):
            change = ratio_of(rows, setup.GOODPUT, (arm, setup.PLAIN), case, lambda row: row["goodput_mbps"], 100.0)
            less = None if change is None else _less(change, 100.0)
            name = f"TCP goodput, {setup.LABELS[arm.name]} against plain, {flows} flow{'s' if flows > 1 else ''}"
            band = Within(-GOODPUT_WITHIN, GOODPUT_WITHIN)
            results.append(judge(Claim(name, "%", 0.0, band), less))
    return [result.with_note(QUARTILES) for result in results]


def _less(estimate: Estimate, amount: float) -> Estimate:
    value, low, high = estimate
    return Estimate(value - amount, None if low is None else low - amount, None if high is None else high - amount)


def jitter(rows: Sequence[Json]) -> list[ClaimResult]:
    """The first of two copies arrives earlier, and at less different times."""
    mean = pooled(rows, lambda row: row["mean_ms"] - setup.BASE_DELAY_MS)
    deviation = pooled(rows, lambda row: row["deviation_ms"])
    band = Within(MEAN_RATIO - MEAN_SPARE, MEAN_RATIO + MEAN_SPARE)
    return [
        judge(Claim("mean extra delay, 1+1 against plain", "ratio", "about half", band, neutral=1.0), mean),
        judge(
            Claim("deviation of delays, 1+1 against plain", "ratio", "about half", AtMost(DEVIATION_RATIO), 1.0),
            deviation,
        ),
    ]


def pooled(rows: Sequence[Json], value: Value) -> Estimate | None:
    """Protected by plain, over all rounds and jitters but none; the paths' own delay is taken off the mean."""
    found: list[float] = []
    for jitter_ms in setup.JITTERS_MS[1:]:
        arms = (setup.PROTECTED, setup.PLAIN)
        estimate = values(rows, setup.JITTER, arms[1], {"jitter_ms": jitter_ms}, value)
        protected = values(rows, setup.JITTER, arms[0], {"jitter_ms": jitter_ms}, value)
        found += [one / other for one, other in zip(protected, estimate, strict=False) if other]
    return mean_interval(found) if found else None
