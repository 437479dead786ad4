"""Set-up of SQR's trials with TCP: short flows one after another, or one long flow, while a path fails.

Between two hosts, two nodes and two paths; the paper's times are taken 13 times as long, since a path that is down for
760 us is shorter than other pauses of a busy machine. So SB' repairs the path after 10 ms instead of 0.76, LRR leads
around it as soon as the failure is detected, after 0.4 ms instead of 0.03, and the least retransmission time-out is
52 ms instead of 4. What is not scaled: the round-trip time (0.1 to 0.2 ms, as there), initial windows, and the second
after which Linux repeats a SYN. A failure comes every 150 ms on average: every 15 route failure times, there 26.
"""

from __future__ import annotations

from dataclasses import asdict

from experiments.campaign.kinds.paths import BreakingParameters, FlowsParameters, StreamParameters
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.figures.p4protect.setup import two_path_trials
from experiments.figures.sqr import setup
from experiments.testbed.workloads.decide.breaking import FailureModel
from experiments.testbed.workloads.decide.sizes import DATA_MINING, WEB_SEARCH

PAPER = setup.PAPER
ALONE, FLOWS, STREAM = "sqr-fig3", "sqr-flows", "sqr-fig7"
FIG8, FIG10, FIG11, FIG12 = "sqr-fig8", "sqr-fig10", "sqr-fig11", "sqr-fig12"

NO_FAILURE, SB, SB_SQR = Variant("no-failure"), Variant("sb"), Variant("sb-sqr")
LRR, LRR_SQR = Variant("lrr"), Variant("lrr-sqr")
LABELS = {
    NO_FAILURE.name: "no failure",
    SB.name: "SB' alone",
    SB_SQR.name: "SB' + SQR",
    LRR.name: "LRR alone",
    LRR_SQR.name: "LRR + SQR",
}
TRANSFERS = "transfers"
ALL_VARIANTS = (NO_FAILURE, SB, SB_SQR, LRR, LRR_SQR)

SCALE = 13
MODEL = FailureModel(interval_ms=150.0, detection_ms=0.4, down_ms=10.0, bound_ms=4.0, spare_ms=0.5)
RTO_MIN_MS = 52.0
BREAKING = BreakingParameters(**asdict(MODEL), rto_min_ms=RTO_MIN_MS)
LIMIT_BYTES = 100_000
PAUSE_MS = 2.0  # mean between flows
SECONDS, QUICK_SECONDS = 20.0, 10.0
# Background: transfers in both directions, of a size and at a rate, with pauses.
BACKGROUND_BYTES, BACKGROUND_MBPS, BACKGROUND_PAUSE_MS = 1_000_000, 200.0, 160.0

# Linux sends a loss probe first: two round trips and two ticks of its clock (4 ms) after the last segment, at a tick.
PROBE_MS = 10.0
SYN_MS = 1000.0
CLUSTERS_MS = {
    "a loss probe": PROBE_MS,
    "a time-out": PROBE_MS + RTO_MIN_MS,
    "two time-outs": PROBE_MS + 3 * RTO_MIN_MS,
    "a SYN retransmitted": SYN_MS,
    "a SYN retransmitted twice": 2 * SYN_MS,
}
NEAR_SHARE = 0.25  # of a cluster's time

SIZE_RANGES = ((0, 10_000), (10_000, 50_000), (50_000, LIMIT_BYTES))
TAIL_SHARE = 0.99  # of hit flows
ALL_TAIL_SHARE = 0.999  # of all flows

STREAM_SECONDS, STREAM_FAILURE_S, SAMPLE_MS, WINDOW_MS = 4.0, 2.0, 2.0, 400.0
STREAM_MBPS, STREAM_QUEUE_PACKETS = 200.0, 1000


def flow_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Both workloads with background traffic, recovery alone and with SQR, and without failures."""
    both = (flows_parameters(plan, FLOWS, table.name, TRANSFERS) for table in (WEB_SEARCH, DATA_MINING))
    return two_path_trials(plan, {f"{own.workload}-{own.seconds}-{own.beside}": own for own in both}, ALL_VARIANTS)


def flows_parameters(plan: CampaignPlan, what: str, workload: str, beside: str) -> FlowsParameters:
    """Parameters of short flows; `beside` is `TRANSFERS` or "nothing"."""
    background = BACKGROUND_BYTES, BACKGROUND_MBPS, BACKGROUND_PAUSE_MS
    return FlowsParameters(what, workload, _seconds(plan), beside, LIMIT_BYTES, PAUSE_MS, *background, BREAKING)


def stream_parameters(what: str, *, loss_probes: bool = True) -> StreamParameters:
    """Parameters of one long flow whose path fails once."""
    times = STREAM_SECONDS, STREAM_FAILURE_S, SAMPLE_MS, WINDOW_MS
    return StreamParameters(what, *times, STREAM_MBPS, STREAM_QUEUE_PACKETS, BREAKING, loss_probes)


def _seconds(plan: CampaignPlan) -> float:
    return QUICK_SECONDS if plan.quick else SECONDS
