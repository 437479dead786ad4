"""Set-up of SQR's trials: numbered UDP frames between two hosts while a path dies silently, on the bench of two paths.

The paper detects within 30 us in hardware; here failures are told after a chosen time, and the window covers it. Rates
and times are scaled, packets are counted.
"""

from __future__ import annotations

from experiments.campaign.values import Arm, CampaignPlan, Trial
from experiments.papers.p4protect.setup import trials

PAPER = "sqr"
RECOVERY, SQR = Arm("recovery"), Arm("sqr")
PLAIN, IN_SEND = Arm("plain"), Arm("sqr-in-send")
LABELS = {
    RECOVERY.name: "recovery alone",
    SQR.name: "SQR",
    PLAIN.name: "plain forwarding",
    IN_SEND.name: "SQR, failures seen by sending",
}
FIG9, FIG13, LATENCY = "sqr-fig9", "sqr-fig13", "sqr-latency"

RATE_PPS, SECONDS, CUT_AT_S, FRAME_BYTES = 20_000, 1.0, 0.3, 256
DETECTION_MS = (1.0, 5.0, 20.0, 50.0, 100.0)
SPARE_MS = 60.0  # of delta above the time after which a failure is told: to break a path takes some of it
WINDOWS, APART_S = 8, 0.05  # of a buffer trial: failures told, and time around each
BUFFER_RATES_PPS, BUFFER_DELTAS_MS = (10_000, 20_000), (10.0, 30.0, 100.0)
COST_BYTES = (64, 1400)


def fig9_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """A silent cut that is told after a while, with SQR and without."""
    return trials(plan, FIG9, [{"detection_ms": each} for each in DETECTION_MS], (RECOVERY, SQR))


def fig13_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """What a window holds when a failure is told in the middle of a stream."""
    cases = [{"rate_pps": rate, "delta_ms": delta} for rate in BUFFER_RATES_PPS for delta in BUFFER_DELTAS_MS]
    return trials(plan, FIG13, cases, (SQR,))


def cost_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Frames as fast as one processor takes them all the way."""
    return trials(plan, LATENCY, [{"frame_bytes": size} for size in COST_BYTES], (PLAIN, SQR, IN_SEND))
