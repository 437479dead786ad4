"""Set-up of PSO's trials: loads, links and buffers, scaled from section 5.2 of the paper.

A control link of 2 Mbit/s stands for the paper's 100 Mbit/s, which 53,000 packet-ins a second would have to fill: Ryu's
processor ends at a few thousand. A packet-in has 220 bytes as an IP packet, as in the paper. An emulated switch keeps
the packet, and a flow-mod lets it go, so that the way to the controller is the one that fills; a real Open
vSwitch keeps none, and its packet-ins are answered by packet-outs of the same size. Buffers shrink with the link: a
kernel would give a connection up to 4 MB, 16 s of this link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.campaign.values import Arm, CampaignPlan, Trial
from experiments.ofload.load_core import FRAME_BYTES
from experiments.ofload.packets_core import packet_in_bytes

FIFO, PSO = Arm("fifo"), Arm("pso")
ARMS = (FIFO, PSO)
LABELS = {FIFO.name: "FIFO (stock Ryu)", PSO.name: "PSO"}

LINK, CPU, IN_BAND, MISBEHAVING = "link-bound", "cpu-bound", "in-band", "misbehaving"
REAL = "real-switch"  # link-bound too, with Open vSwitch raising the packet-ins
TOPOLOGY = {
    LINK: "out-of-band",
    REAL: "out-of-band",
    CPU: "out-of-band",
    IN_BAND: "in-band",
    MISBEHAVING: "out-of-band",
}
PMT = {
    LINK: "examples/pmt/out_of_band.yaml",
    REAL: "examples/pmt/out_of_band.yaml",
    CPU: "examples/pmt/out_of_band.yaml",
    IN_BAND: "examples/pmt/in_band.yaml",
    MISBEHAVING: "examples/pmt/out_of_band.yaml",
}

LINK_MBPS = 2.0
WIRE_BYTES = packet_in_bytes(FRAME_BYTES) + 32 + 20 + 14  # a packet-in on the wire: with TCP, IP and Ethernet 234
HIGH_PPS = 100.0  # of the high-priority flow, whatever the load is: 101 kbit/s for the paper's 1000
LINK_QUEUE_PKTS, SWITCH_QUEUE_PKTS, SEND_BUFFER_BYTES = 100, 100, 16384
SECONDS, QUICK_SECONDS, WARM_UP_S, PATIENCE_S = 5.0, 3.0, 1.0, 2.0
HOME_CLASS = "dscp 56"  # of the home connection with example 1: CS7
CPU_SWITCHES = 4
CONTROL_NL = 0.2  # share of the shared link that control takes in-band; data fills the load up
DATA_BYTES = 1000  # payload of a data packet
BURST_PKTS = 32

LINK_NLS = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2)
REAL_NLS = (0.2, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2)
CPU_NLS = (0.2, 0.6, 0.9, 1.1, 1.2)
IN_BAND_NLS = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.2)
BURST_NLS = (0.4, 0.6, 0.8)
BEHAVIOURS = ("none", "flood", "malformed", "endless", "connections", "stall")
WORDS = {
    "none": "nobody misbehaves",
    "flood": "floods packet-ins",
    "malformed": "malformed messages",
    "endless": "lists without end",
    "connections": "100 connections",
    "stall": "reads nothing",
}
MISBEHAVING_SWITCHES, MISBEHAVING_NL = 4, 0.3
QUICK_REPETITIONS, REPETITIONS = 2, 10
FULL_LOAD_PPS = LINK_MBPS * 1e6 / 8 / WIRE_BYTES
ROW_VERSION = 1


def repetitions(plan: CampaignPlan) -> int:
    """How often every point is measured."""
    return plan.rounds or (QUICK_REPETITIONS if plan.quick else REPETITIONS)


def load_trials(plan: CampaignPlan, regime: str, nls: Sequence[float], **more: Any) -> tuple[Trial, ...]:
    """Trials over the normalised load, both arms for each point one after the other.

    Parameters
    ----------
    plan : CampaignPlan
    regime : str
        `LINK`, `CPU` or `IN_BAND`.
    nls : sequence of float
        Normalised loads.
    more : parameters
        What else tells these trials from others of the regime, as burst_pkts=32.
    """
    return tuple(
        _trial(plan, regime, number, arm, {"nl": nl, **more}) for number, nl, arm in _in_turn(repetitions(plan), nls)
    )


def misbehaving_trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Trials with one switch that misbehaves, in every way, both arms one after the other."""
    return tuple(
        _trial(plan, MISBEHAVING, number, arm, {"nl": MISBEHAVING_NL, "behaviour": behaviour})
        for number, behaviour, arm in _in_turn(repetitions(plan), BEHAVIOURS)
    )


def _in_turn(times: int, points: Sequence[Any]) -> Iterator[tuple[int, Any, Arm]]:
    """(number of the round, point, arm): a round is one point of one repetition, so that its arms follow each other.

    Who is first changes from point to point.
    """
    number = 0
    for _ in range(times):
        for point in points:
            number += 1
            for arm in ARMS if number % 2 else reversed(ARMS):
                yield number, point, arm


def _trial(plan: CampaignPlan, regime: str, number: int, arm: Arm, parameters: dict[str, Any]) -> Trial:
    name = "-".join(str(value) for value in parameters.values())
    seconds = QUICK_SECONDS if plan.quick else SECONDS
    decided = {"version": ROW_VERSION, "regime": regime, "seconds": seconds, **parameters}
    return control_trial(plan, f"{regime}/{name}", TOPOLOGY[regime], number, arm, decided)


def control_trial(
    plan: CampaignPlan, name: str, topology: str, number: int, arm: Arm, parameters: dict[str, Any]
) -> Trial:
    """A trial of kind "control": one load on one controller.

    Parameters
    ----------
    plan : CampaignPlan
    name, topology : str
    number : int
        Of the round; arms of a round have the same arrivals.
    arm : Arm
    parameters : dict
        All that decides the trial besides.
    """
    return Trial(
        trial_id=f"pso/{name}/{number}/{arm.name}",
        kind="control",
        topology=topology,
        arm=arm,
        round=number,
        failures=0,
        links=(),
        pairs=(),
        load=None,
        timing=None,
        seed=1000 * plan.seed + number,
        parameters=parameters,
    )
