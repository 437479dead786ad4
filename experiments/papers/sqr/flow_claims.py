"""What SQR claims of TCP flows, judged from rows: no time-outs, completion times near those without failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import Arm, Json
from experiments.campaign.verdicts import AtLeast, AtMost, Claim, ClaimResult, Exactly, judge, judge_order
from experiments.papers.p4protect.claims import field_of, mean_of, values
from experiments.papers.sqr import flow_measures as measures
from experiments.papers.sqr import flow_setup as setup
from experiments.workloads.sizes_core import DATA_MINING, WEB_SEARCH

NEAR_PERCENT, ORDERS, TIMES = 80.0, 1.5, 10.0
PAPER_ABOVE_PERCENT = 90.0
PAPER_ADDED = round(200 / 760, 2)
WHY_ORDERS = (
    "the second after which a SYN is repeated is not scaled, route failure times are: 2 orders lie between it and the "
    f"{setup.MODEL.dead_ms:g} ms of SB' here, 3.1 in the paper"
)
PAIRS = ((setup.SB, setup.SB_SQR), (setup.LRR, setup.LRR_SQR))


def fig3(rows: Sequence[Json]) -> list[ClaimResult]:
    """Flows that a failure hit end when a timer of TCP lets them."""
    own = measures.rows_of(rows, setup.SB, figure_id=setup.ALONE)
    by_round = [
        [measures.nearest_cluster(hit.completion_ms) for hit in measures.hits_of(row) if hit.retransmits] for row in own
    ]
    shares = [100 * sum(each is not None for each in found) / len(found) for found in by_round if found]
    name = f"hit flows whose completion time is within {setup.NEAR_SHARE:.0%} of a timer's"
    claim = Claim(name, "%", "clusters at 10 ms, 100 ms, 1 s", AtLeast(NEAR_PERCENT))
    results = [judge(claim, mean_interval(shares) if shares else None)]
    counts = Counter(each for found in by_round for each in found)
    for cluster, centre_ms in setup.CLUSTERS_MS.items():
        share = Estimate(100 * counts[cluster] / counts.total(), None, None) if counts else None
        results.append(judge(Claim(f"hit flows that waited for {cluster}, {centre_ms:g} ms", "%"), share))
    return results


def fig7(rows: Sequence[Json]) -> list[ClaimResult]:
    """No time-out with SQR, and a congestion window that does not shrink."""
    timeouts = values(rows, setup.STREAM, setup.SB_SQR, {}, field_of("timeouts"))
    total = Estimate(sum(timeouts), None, None) if timeouts else None
    results = [judge(Claim("time-outs with SQR, all rounds", "time-outs", 0.0, Exactly(0.0)), total)]
    for arm in (setup.NO_FAILURE, setup.SB, setup.SB_SQR):
        label = setup.LABELS[arm.name]
        for field, name, unit in (
            ("retransmits", "segments sent again", "segments"),
            ("stalled_ms", "longest time without progress around the cut", "ms"),
        ):
            found = mean_of(rows, setup.STREAM, arm, {}, field_of(field))
            results.append(judge(Claim(f"{name}, {label}", unit), found))
        kept = mean_of(rows, setup.STREAM, arm, {}, _window_kept)
        results.append(judge(Claim(f"smallest congestion window after the cut, {label}", "% of that at the cut"), kept))
    return results


def _window_kept(row: Json) -> float:
    return 100.0 * float(row["smallest_cwnd"]) / float(row["cwnd_at_cut"])


def fig8(rows: Sequence[Json]) -> list[ClaimResult]:
    """A flow that was under way sees a gap of a little more than the route failure time."""
    own = measures.rows_of(rows, setup.SB_SQR)
    found = measures.recoveries_ms(own)
    outages = [float(each) for row in own for each in row["outages_ms"]]
    failure = mean_interval(outages) if outages else None
    results = [
        judge_order(
            "recovery time of flows that were under way",
            "ms",
            # Every flow has a failure of its own, as every outage is one.
            {"route failure time": failure, "recovery time": mean_interval(found) if found else None},
        )
    ]
    above = None
    if found and failure is not None:
        above = Estimate(100 * sum(each > failure.value for each in found) / len(found), None, None)
    results.append(judge(Claim("recovery times above the route failure time", "%", PAPER_ABOVE_PERCENT), above))
    return results


def fig10(rows: Sequence[Json]) -> list[ClaimResult]:
    """With SB' and SQR a hit flow takes little longer than the same flow without failures."""
    calm, own = measures.rows_of(rows, setup.NO_FAILURE), measures.rows_of(rows, setup.SB_SQR)
    added = measures.added_ms(own, calm)
    dead_ms = {number: measures.outage_ms(row for row in own if row["round"] == number) for number in added}
    shares = {number: [each / dead_ms[number] for each in found] for number, found in added.items()}
    name = "added to the completion time of hit flows, median, SB' + SQR"
    claim = Claim(name, "route failure times", PAPER_ADDED, AtMost(1.0))
    alone = measures.added_ms(measures.rows_of(rows, setup.SB), calm)
    return [
        judge(claim, measures.mean_of_rounds(shares, 0.5)),
        judge(Claim("the same in milliseconds", "ms"), measures.mean_of_rounds(added, 0.5)),
        judge(Claim("the same, SB' alone", "ms"), measures.mean_of_rounds(alone, 0.5)),
    ]


def fig11(rows: Sequence[Json]) -> list[ClaimResult]:
    """Of hit flows of the web search workload the slowest are faster by orders of magnitude."""
    results = []
    for alone, helped in PAIRS:
        for sizes in setup.SIZE_RANGES:
            both = [measures.by_round(measures.rows_of(rows, arm, WEB_SEARCH.name), sizes) for arm in (alone, helped)]
            orders = measures.orders_apart(both[0], both[1], setup.TAIL_SHARE)
            name = f"99th percentile of hit flows {range_name(sizes)}, {setup.LABELS[helped.name]} lower by"
            result = judge(Claim(name, "orders", "3 to 4", AtLeast(ORDERS)), orders)
            results.append(result.with_note(WHY_ORDERS) if orders is not None else result)
    return results


def range_name(sizes_bytes: tuple[int, int]) -> str:
    """Words for a range of sizes.

    Examples
    --------
    >>> range_name((0, 10_000)), range_name((10_000, 50_000))
    ('up to 10 kB', '10 to 50 kB')
    """
    low, high = (each // 1000 for each in sizes_bytes)
    return f"{low} to {high} kB" if low else f"up to {high} kB"


def fig12(rows: Sequence[Json]) -> list[ClaimResult]:
    """Of all flows, also those that no failure hit, the slowest are ten times faster at the least."""
    results = []
    for table in (WEB_SEARCH, DATA_MINING):
        for alone, helped in PAIRS:
            claim = Claim(
                f"99.9th percentile of all flows, {table.title}, {setup.LABELS[alone.name]} against with SQR",
                "times",
                "10 to 1000",
                AtLeast(TIMES),
                neutral=1.0,
            )
            results.append(judge(claim, times_apart(rows, (alone, helped), table.name)))
    return results


def times_apart(rows: Sequence[Json], arms: tuple[Arm, Arm], workload: str) -> Estimate | None:
    """How many times longer the tail of all flows is without SQR, geometric mean over rounds."""
    both = [
        {row["round"]: measures.completions_ms(row) for row in measures.rows_of(rows, arm, workload)} for arm in arms
    ]
    orders = measures.orders_apart(both[0], both[1], setup.ALL_TAIL_SHARE)
    if orders is None:
        return None
    value, low, high = orders
    return Estimate(10**value, None if low is None else 10**low, None if high is None else 10**high)
