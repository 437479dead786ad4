"""Set-up of `x-in-band`: OpenFlow and data share the links of an emulated network, as in PSO's Figure 9 but for real.

Four switches in a ring, the controller at s1. The host at s3 sends packets that its switch asks the controller about,
two links away, of a high and of a low class; each comes back by the controller's answer. Beside them it sends data to
h1, over the same two links. Everything that a real switch does is there: its TCP, its queues, its connections.
"""

from __future__ import annotations

from pathlib import Path

from experiments.campaign.values import Arm, CampaignPlan, Trial
from mininet_topos.emulation.queues_core import QueueSetup

ID, KIND, TOPOLOGY = "x-in-band", "in_band", "ring:4"
FIFO, PSO = Arm("in-band-fifo"), Arm("in-band-pso")
ARMS = (FIFO, PSO)
LABELS = {FIFO.name: "FIFO", PSO.name: "PSO"}
PMT = Path(__file__).resolve().parents[3] / "examples" / "pmt" / "in_band_service.yaml"
# Everything but BFD waits in one queue, as long as each of PSO's, and drops its oldest packet as those do.
FIFO_QUEUES = QueueSetup("one queue", 2, default_queue=1)
CONTROLLER_AT, ASKING, TARGET = "s1", "s3", "s1"
CAPACITY_MBPS, BFD_MS = 2.0, 100
PROBE_PPS, WAIT_S, WARM_S = 50.0, 2.0, 1.0
DATA_BYTES, HEADER_BYTES = 1200, 42  # UDP payload; Ethernet, IPv4 and UDP in front of it
DATA_SHARES, QUICK_SHARES = (0.3, 0.6, 0.9, 1.2), (0.6, 1.2)
OVERLOAD = 1.2
ROUNDS, QUICK_ROUNDS = 5, 2
SECONDS, QUICK_SECONDS = 5.0, 4.0
VERSION = 1


def data_pps(share: float) -> float:
    """Data packets a second that offer this share of a link."""
    return share * CAPACITY_MBPS * 1e6 / 8 / (DATA_BYTES + HEADER_BYTES)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Every load by both arms, which take turns in going first; an arm keeps its network for a round."""
    rounds = plan.rounds or (QUICK_ROUNDS if plan.quick else ROUNDS)
    shares = QUICK_SHARES if plan.quick else DATA_SHARES
    return tuple(
        _trial(plan, number, arm, share)
        for number in range(1, rounds + 1)
        for arm in (ARMS if number % 2 else ARMS[::-1])
        for share in shares
    )


def _trial(plan: CampaignPlan, number: int, arm: Arm, share: float) -> Trial:
    return Trial(
        trial_id=f"{ID}/r{number}/{share:g}/{arm.name}",
        kind=KIND,
        topology=TOPOLOGY,
        arm=arm,
        round=number,
        failures=0,
        links=(),
        pairs=((ASKING, TARGET),),
        load=None,
        timing=None,
        seed=plan.seed + number,
        parameters={
            "version": VERSION,
            "data_share": share,
            "seconds": QUICK_SECONDS if plan.quick else SECONDS,
        },
    )
