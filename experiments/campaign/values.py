"""Vocabulary of a campaign: what a trial is, before anything runs.

A campaign is a list of trials. A trial is one measurement with all that decides it; trials that share a topology, an
variant, a round and a capacity share one emulated network, which is their session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from experiments.campaign.parameters import Parameters
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import FLOOD, NO_MODE, uses_agent

Json = dict[str, Any]
ParametersT = TypeVar("ParametersT", bound=Parameters)

# A download that takes longer is not finished, unless its trial says otherwise.
GIVE_UP_S = 20.0


@dataclass(frozen=True, slots=True)
class Variant:
    """What is compared: a scheme, and how it is run.

    `control_delay_ms` is one way; None where it decides nothing, because no controller takes part in the recovery.
    `notification` is named explicitly, whatever the default of plans is; schemes without modes have none.
    """

    scheme: str
    mode: str = NO_MODE
    planner: str = "tree"
    control_delay_ms: float | None = None
    notification: str = FLOOD

    @property
    def uses_agent(self) -> bool:
        """Whether agents beside the switches end the backtracking."""
        return uses_agent(self.mode)

    @property
    def name(self) -> str:
        """Short name, as it stands in tables.

        Examples
        --------
        >>> Variant("sdfast", "agent", "pair").name, Variant("cbc", control_delay_ms=5).name, Variant("cb").name
        ('sdfast-agent-pair', 'cbc-5ms', 'cb')
        >>> Variant("sdfast", "learned", notification="off").name
        'sdfast-learned-tree-off'
        """
        if self.mode != NO_MODE:
            notified = "" if self.notification == FLOOD else f"-{self.notification}"
            return f"{self.scheme}-{self.mode}-{self.planner}{notified}"
        if self.control_delay_ms is not None:
            return f"{self.scheme}-{self.control_delay_ms:g}ms"
        return self.scheme

    def to_json(self) -> Json:
        """Name and fields; no delay is 0 ms, and schemes without modes notify nobody."""
        fields = asdict(self)
        if self.mode == NO_MODE:
            del fields["notification"]
        return {"name": self.name, **fields, "control_delay_ms": self.control_delay_ms or 0.0}


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
    """Lengths of the three windows: before the failure, until everybody should have converged, and after that."""

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
    variant: Variant | None
    round: int
    capacity_mbps: float | None
    network: str = ""


_NONE = Parameters()


@dataclass(frozen=True, slots=True)
class Trial:
    """One measurement: `links` all fail at once (none when `failures` is 0), `pairs` are measured at once.

    Attributes
    ----------
    kind
        Name of a kind (experiments/campaign/kinds).
    parameters
        What decides its outcome besides, as its kind has it.
    """

    trial_id: str
    kind: str
    topology: str
    variant: Variant | None
    round: int
    failures: int
    links: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    load: Load | None
    timing: Timing | None
    seed: int
    parameters: Parameters = _NONE

    @property
    def session_key(self) -> SessionKey:
        """The network that this trial needs."""
        capacity_mbps = self.load.capacity_mbps if self.load else None
        return SessionKey(self.topology, self.variant, self.round, capacity_mbps, self.parameters.session)

    def to_json(self) -> Json:
        """JSON value from which the trial differs from any other."""
        shown = {
            "trial": self.trial_id,
            "kind": self.kind,
            "topology": self.topology,
            "variant": None if self.variant is None else self.variant.to_json(),
            "round": self.round,
            "failures": self.failures,
            "links": list(self.links),
            "pairs": [list(pair) for pair in self.pairs],
            "load": None if self.load is None else asdict(self.load),
            "timing": None if self.timing is None else asdict(self.timing),
            "seed": self.seed,
        }
        own = self.parameters.to_json()
        return {**shown, "parameters": own} if own else shown


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """What was asked for; `rounds` None means as many as the figure's set-up has."""

    quick: bool
    seed: int
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class TestbedSettings:
    """What all emulated networks of a campaign share.

    `work` is a folder for raw files, removed at the end; `bfd_interval_ms` is what calibration chose; `say` gets
    what is going on.
    """

    work: Path
    quick: bool
    bfd_interval_ms: int
    say: Callable[[str], None]


def parameters_of(trial: Trial, kind: type[ParametersT]) -> ParametersT:
    """Parameters of a trial, which must be of some type.

    Raises
    ------
    BadInputError
        They are of another.
    """
    if not isinstance(trial.parameters, kind):
        has = type(trial.parameters).__name__
        raise BadInputError(f"trial {trial.trial_id!r} has {has}, not {kind.__name__}; look at what makes it")
    return trial.parameters
