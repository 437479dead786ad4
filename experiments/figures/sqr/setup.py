"""Set-up of SQR's trials: numbered UDP frames between two hosts while a path fails silently.

The paper detects within 30 us in hardware; here the node is notified after a chosen time, and the window covers it.
Rates and times are scaled, packets are counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments.campaign.values import Variant
from experiments.charts.canvas import PALETTE

PAPER = "sqr"
RECOVERY, SQR = Variant("recovery"), Variant("sqr")
PLAIN, IN_SEND = Variant("plain"), Variant("sqr-in-send")
LABELS = {
    RECOVERY.name: "recovery alone",
    SQR.name: "SQR",
    PLAIN.name: "plain forwarding",
    IN_SEND.name: "SQR, failures seen by sending",
}
COLOURS: Mapping[Variant, str] = {
    RECOVERY: PALETTE[7],
    SQR: PALETTE[0],
    PLAIN: PALETTE[1],
    IN_SEND: PALETTE[6],
}
FIG9, FIG13, LATENCY = "sqr-fig9", "sqr-fig13", "sqr-latency"

RATE_PPS, SECONDS, FAILURE_AT_S, FRAME_BYTES = 20_000, 1.0, 0.3, 256
DETECTION_MS = (1.0, 5.0, 20.0, 50.0, 100.0)
SPARE_MS = 60.0  # of delta above the time after which a failure is reported: to break a path takes some of it
WINDOWS, APART_S = 8, 0.05  # of a buffer trial: failures notified, and time around each
BUFFER_RATES_PPS, BUFFER_DELTAS_MS = (10_000, 20_000), (10.0, 30.0, 100.0)
COST_BYTES = (64, 1400)
