"""PSO's Figure 10: K log2(n m) as the paper computes it, and what classifying a packet-in takes beside it."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import AtMost, Claim, ClaimResult, Exactly, judge
from experiments.papers.figure import Table
from experiments.papers.kuijia.trials import computed_trial, own_rows
from ryu_apps.pmt.delay import matching_delay_us

ID = "pso-fig10"
RULES = (5, 16, 32, 64)
FLOWS = tuple(2**power for power in range(10))
FIRST, LAST = "first", "last"
MOST_US, PAPER_US = 300.0, 46.0
RESULT_VERSION = 1
HEADER = ("rules", "formula, 1 flow, us", "formula, 512 flows, us", "first rule decides, us", "last rule decides, us")


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial for each number of rules."""
    return tuple(
        computed_trial(ID, f"rules-{n_rules}", "policy-map-table", plan, {"version": RESULT_VERSION, "rules": n_rules})
        for n_rules in RULES
    )


def formula_us(n_flows: int, n_rules: int) -> float:
    """The paper's K log2(n m)."""
    return matching_delay_us(n_flows, n_rules)


def table_text(n_rules: int) -> str:
    """A Policy Map Table of so many rules: the shipped example's, with more services of their own queue.

    Parameters
    ----------
    n_rules : int
        At least 4.
    """
    services = [
        f"  - {{traffic_type: 2, ip_proto: 17, udp_dst: {20000 + number}, action: queue_id:1}}"
        for number in range(n_rules - 3)
    ]
    lines = [
        "rules:",
        "  - {traffic_type: 1, action: queue_id:0}",
        *services,
        "  - {traffic_type: 2, action: queue_id:2}",
        "  - {traffic_type: 3, action: queue_id:3}",
    ]
    return "\n".join(lines)


def time_us(rows: Sequence[Json], n_rules: int, kind: str) -> Estimate | None:
    """Measured time of one classification, mean over batches with its 95 % interval."""
    for row in own_rows(rows, ID):
        if row["parameters"]["rules"] == n_rules:
            return mean_interval(row["batches_us"][kind])
    return None


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """The paper's numbers exactly, and the measured times beside them."""
    small = Claim("K log2(n m), one flow and five rules", "us", PAPER_US, Exactly(PAPER_US))
    wide = Claim("K log2(n m), 64 rules, below 512 flows", "us", "less than 300", AtMost(MOST_US))
    found = [
        judge(small, _exact(float(round(formula_us(1, 5))))),
        judge(wide, _exact(formula_us(511, 64))),
    ]
    return found + [
        judge(
            Claim(f"classifying a packet-in, {n_rules} rules, the {kind} decides", "us"), time_us(rows, n_rules, kind)
        )
        for n_rules in RULES
        for kind in (FIRST, LAST)
    ]


def table(rows: Sequence[Json]) -> Table:
    """Formula and measured times for every number of rules."""
    lines = []
    for n_rules in RULES:
        times = [time_us(rows, n_rules, kind) for kind in (FIRST, LAST)]
        measured = ["-" if found is None else f"{found.value:.1f}" for found in times]
        computed = [f"{formula_us(n_flows, n_rules):.0f}" for n_flows in (1, 512)]
        lines.append((str(n_rules), *computed, *measured))
    return Table(HEADER, tuple(lines))


def _exact(value: float) -> Estimate:
    return Estimate(value, None, None)
