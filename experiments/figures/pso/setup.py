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

from experiments.campaign.kinds import control
from experiments.campaign.kinds.control import ControlParameters, LinkParameters
from experiments.campaign.parameters import Parameters
from experiments.campaign.values import CampaignPlan, Trial, Variant

FIFO, PSO = Variant("fifo"), Variant("pso")
VARIANTS = (FIFO, PSO)
LABELS = {FIFO.name: "FIFO (stock Ryu)", PSO.name: "PSO"}

LINK, REAL, CPU, IN_BAND = control.LINK, control.REAL, control.CPU, control.IN_BAND
MISBEHAVING = control.MISBEHAVING
TOPOLOGY = {
    LINK: "out-of-band",
    REAL: "line",
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
HIGH_PPS = 100.0  # of the high-priority flow, whatever the load is: 101 kbit/s for the paper's 1000
LINK_QUEUE_PKTS, SWITCH_QUEUE_PKTS, SEND_BUFFER_BYTES = 100, 100, 16384
SECONDS, QUICK_SECONDS, WARM_UP_S, PATIENCE_S = 5.0, 3.0, 1.0, 2.0
LINE = "examples/pso_line.json"  # four switches between two hosts
MAIN_CLASS = "dscp 56"  # of the main connection with example 1: CS7
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
RETRANSMIT_NLS, RETRANSMIT_AFTER_S = (0.9, 1.0, 1.1, 1.2), 0.2  # the paper names no timeout; TCP's least one in Linux
QUICK_REPETITIONS, REPETITIONS = 2, 10
PAPER_REPETITIONS = 50  # "Each simulation is run 50 times using a different [...] seeds" (section 5)
PAPER_REGIMES = (LINK, REAL, IN_BAND)
LINK_PARAMETERS = LinkParameters(
    LINK_MBPS, LINK_QUEUE_PKTS, SWITCH_QUEUE_PKTS, SEND_BUFFER_BYTES, WARM_UP_S, PATIENCE_S
)
_OF_REGIME: dict[str, dict[str, Any]] = {
    LINK: {"high_pps": HIGH_PPS},
    REAL: {"high_pps": HIGH_PPS, "line": LINE},
    CPU: {"high_pps": HIGH_PPS, "switches": CPU_SWITCHES},
    IN_BAND: {"control_nl": CONTROL_NL, "data_bytes": DATA_BYTES},
    MISBEHAVING: {"high_pps": HIGH_PPS, "switches": MISBEHAVING_SWITCHES},
}


def repetitions(plan: CampaignPlan, regime: str) -> int:
    """How often every point is measured, each time with another seed: as often as in the paper what the paper has."""
    if plan.rounds or plan.quick:
        return plan.rounds or QUICK_REPETITIONS
    return PAPER_REPETITIONS if regime in PAPER_REGIMES else REPETITIONS


def load_trials(plan: CampaignPlan, regime: str, nls: Sequence[float], **more: Any) -> tuple[Trial, ...]:
    """Trials over the normalised load, both variants for each point one after the other.

    Parameters
    ----------
    regime
        `LINK`, `CPU` or `IN_BAND`.
    nls
        Normalised loads.
    more : parameters
        What else tells these trials from others of the regime, as burst_pkts=32.
    """
    return tuple(
        _trial(plan, regime, number, variant, {"nl": nl, **more})
        for number, nl, variant in _in_turn(repetitions(plan, regime), nls)
    )


def _in_turn(times: int, points: Sequence[Any]) -> Iterator[tuple[int, Any, Variant]]:
    """(number of the round, point, variant): a round is one point of one repetition; its variants follow each other.

    Who is first changes from point to point.
    """
    number = 0
    for _ in range(times):
        for point in points:
            number += 1
            for variant in VARIANTS if number % 2 else reversed(VARIANTS):
                yield number, point, variant


def _trial(plan: CampaignPlan, regime: str, number: int, variant: Variant, parameters: dict[str, Any]) -> Trial:
    name = "-".join(str(value) for value in parameters.values())
    pmt = PMT[regime] if variant == PSO else None
    own = ControlParameters(regime, seconds_of(plan), LINK_PARAMETERS, pmt, **_OF_REGIME[regime], **parameters)
    return control_trial(plan, f"{regime}/{name}", TOPOLOGY[regime], number, variant, parameters=own)


def seconds_of(plan: CampaignPlan) -> float:
    """How long a load is measured."""
    return QUICK_SECONDS if plan.quick else SECONDS


def control_trial(
    plan: CampaignPlan, name: str, topology: str, number: int, variant: Variant, *, parameters: Parameters
) -> Trial:
    """A trial of kind "control": one load on one controller.

    Parameters
    ----------
    number
        Of the round; variants of a round have the same arrivals.
    parameters
        All that decides the trial besides.
    """
    return Trial(
        trial_id=f"pso/{name}/{number}/{variant.name}",
        kind="control",
        topology=topology,
        variant=variant,
        round=number,
        failures=0,
        links=(),
        pairs=(),
        load=None,
        timing=None,
        seed=1000 * plan.seed + number,
        parameters=parameters,
    )
