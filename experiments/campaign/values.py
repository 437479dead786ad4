"""Vocabulary of a campaign: what a trial is, before anything runs.

A campaign is a list of trials. A trial is one measurement with all that decides it; trials that share a topology, an
arm, a round and a capacity share one emulated network, which is their session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# "mixed": pings and UDP at once; "download": wget of a file; "flow": fast pings and nothing else;
# "flows": TCP or UDP over chosen tunnels; "demoted": UDP that fills links under SD-FAST; "ingress": when ingress
# switches have their new rows after a cut; "verify": decided by the interpreter, no network; "cost": what a packet
# costs a switch; "sweep": traffic engineering and what is computed; "control": a load of packet-ins on a controller;
# "paths": between two hosts and two nodes without switches; "lossless": probes under SD-FAST, with SQR or without;
# "in_band": packets to the controller and back over links that data fills.
KINDS = (
    "mixed",
    "download",
    "flow",
    "flows",
    "verify",
    "cost",
    "sweep",
    "control",
    "ingress",
    "demoted",
    "paths",
    "lossless",
    "in_band",
)

# A download that takes longer is not finished; downloads of today's trials take about 4 s without a failure.
GIVE_UP_S = 20.0

# Schemes whose recovery waits for the controller: the delay of the control link decides, so their names show it.
CONTROLLED_SCHEMES = ("cbc", "restoration", "ffg_restoration")


@dataclass(frozen=True, slots=True)
class Arm:
    """What is compared: a scheme, and how it is run. `control_delay_ms` is one way."""

    scheme: str
    mode: str = "none"
    planner: str = "tree"
    control_delay_ms: float = 0.0

    @property
    def name(self) -> str:
        """Short name, as it stands in tables.

        Examples
        --------
        >>> Arm("sdfast", "agent", "pair").name, Arm("cbc", control_delay_ms=5).name, Arm("cb").name
        ('sdfast-agent-pair', 'cbc-5ms', 'cb')
        """
        if self.mode != "none":
            return f"{self.scheme}-{self.mode}-{self.planner}"
        if self.scheme in CONTROLLED_SCHEMES:
            return f"{self.scheme}-{self.control_delay_ms:g}ms"
        return self.scheme


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent. `udp_mbps` is offered by each pair; `capacity_mbps` is that of every link, None when not shaped."""

    pings: bool
    ping_interval_ms: float
    udp_mbps: float | None
    download_bytes: int | None
    capacity_mbps: float | None


@dataclass(frozen=True, slots=True)
class Timing:
    """Lengths of the three windows: before the cut, until everybody should have converged, and after that."""

    before_s: float
    transient_s: float
    converged_s: float

    @property
    def total_s(self) -> float:
        """Length of all windows together."""
        return self.before_s + self.transient_s + self.converged_s


@dataclass(frozen=True, slots=True)
class SessionKey:
    """What trials must have in common to run on one emulated network; `network` names what else its rules come from."""

    topology: str
    arm: Arm | None
    round: int
    capacity_mbps: float | None
    network: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """One measurement: `links` are all cut at once (none when `failures` is 0), `pairs` are measured at once."""

    trial_id: str
    kind: str
    topology: str
    arm: Arm | None
    round: int
    failures: int
    links: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    load: Load | None
    timing: Timing | None
    seed: int
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def session_key(self) -> SessionKey:
        """The network that this trial needs."""
        capacity_mbps = self.load.capacity_mbps if self.load else None
        return SessionKey(self.topology, self.arm, self.round, capacity_mbps, self.parameters.get("network", ""))

    def to_json(self) -> Json:
        """JSON value from which the trial can be told apart from any other."""
        shown = {
            "trial": self.trial_id,
            "kind": self.kind,
            "topology": self.topology,
            "arm": None if self.arm is None else {"name": self.arm.name, **asdict(self.arm)},
            "round": self.round,
            "failures": self.failures,
            "links": list(self.links),
            "pairs": [list(pair) for pair in self.pairs],
            "load": None if self.load is None else asdict(self.load),
            "timing": None if self.timing is None else asdict(self.timing),
            "seed": self.seed,
        }
        return {**shown, "parameters": dict(self.parameters)} if self.parameters else shown


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """What was asked for; `rounds` None means as many as the figure's set-up has."""

    quick: bool
    seed: int
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class LaboratorySettings:
    """What all emulated networks of a campaign share.

    `work` is a folder for raw files, removed at the end; `bfd_interval_ms` is what calibration chose; `say` is told
    what is going on.
    """

    work: Path
    quick: bool
    bfd_interval_ms: int
    say: Callable[[str], None]
