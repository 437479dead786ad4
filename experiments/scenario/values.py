"""Scenarios as values: what runs, what traffic it carries, what breaks and when."""

from __future__ import annotations

from dataclasses import dataclass, field

from dataplane.model.marking import EVERY_PACKET, Marking
from dataplane.model.switch import Backstop
from experiments.scenario.failure import Failure
from experiments.scenario.stream import Traffic
from experiments.scenario.tunnel_values import Expected, Rerun, TunnelConfiguration, WantedFlow
from mininet_topos.topology import Topology
from ryu_apps.plan.choices import DEFAULT_NOTIFICATION, NO_MODE, uses_agent
from ryu_apps.plan.damping import DEFAULT_WAIT_S
from ryu_apps.plan.protection import Protection
from ryu_apps.pmt.rules import PolicyMapTable

OUT_OF_BAND, IN_BAND = CONTROL_WAYS = ("out_of_band", "in_band")


@dataclass(frozen=True, slots=True)
class Replay:
    """What scheme sqr keeps: packets of these links, `slots` at most at each end.

    `margin` packets before the first failed sending are retransmitted, or those of the last `delta_ms` when the failure
    is notified; all wait for `reconfiguration_ms`, in which rows for them come (None: 0, with agents 300).
    Only `marked` packets are kept. `backstop` says when a switch whose rings hold too much keeps nothing more.
    """

    links: tuple[str, ...]
    slots: int = 8192
    delta_ms: float = 50.0
    margin: int = 64
    reconfiguration_ms: float | None = None
    marked: Marking = EVERY_PACKET
    backstop: Backstop | None = None


@dataclass(frozen=True, slots=True)
class Variation:
    """One run of a scenario: the scheme and how it is planned; `mode` is "none" for a scheme that has but one.

    `protection` are the protected flows of scheme protect, `replay` is what scheme sqr keeps; None with the others.
    `variant` names a run of its own beside that of its scheme, one of the scenario's controls.
    """

    scheme: str
    mode: str
    planner: str = "tree"
    routes: str = "spt"
    metric: str = "hops"
    max_failures: int | None = None
    protection: Protection | None = None
    replay: Replay | None = None
    variant: str = ""
    notification: str = DEFAULT_NOTIFICATION

    @property
    def uses_agent(self) -> bool:
        """Whether agents beside the switches end the backtracking."""
        return uses_agent(self.mode)

    @property
    def name(self) -> str:
        """Short name, also a folder name: "sdfast-learned", "ffg", "sqr-small-ring"."""
        return "-".join(
            [self.scheme, *([] if self.mode == NO_MODE else [self.mode]), *([self.variant] if self.variant else [])]
        )


@dataclass(frozen=True, slots=True)
class Control:
    """A run that must lose packets, or what the scenario breaks was not met at all.

    Attributes
    ----------
    scheme, variant
        Whose run; `variant` names one that the control adds, with `replay` in place of the scheme's own settings.
    packets
        It loses at least so many.
    outage_percent : (float, float) or None
        It loses between so much and so much of what is sent while delivery is not promised.
    """

    scheme: str
    variant: str = ""
    replay: Replay | None = None
    packets: int | None = None
    outage_percent: tuple[float, float] | None = None

    @property
    def run(self) -> str:
        """ "shortest", "sqr small-ring"."""
        return f"{self.scheme} {self.variant}".strip()


@dataclass(frozen=True)
class Scenario:
    """A whole experiment.

    Attributes
    ----------
    topology_name
        What the file says; `topology` is what that means.
    bfd_interval_ms
        None: the machine's own limit, found by the doctor's probe.
    control_delay_ms
        One-way delay of every control link; 0: none is added.
    settle_s
        Time with probes running and nothing broken before the run's zero.
    delay_ms, jitter_ms
        One delay and jitter for all links, which `topology` has taken over; None: those of the topology.
    link_delays
        Whether links are delayed; None: where the kernel can do it.
    tunnels
        How schemes of tunnels are planned.
    queues
        Set-up of priority queues of every link port; None: none, or with schemes of tunnels "single".
    flows, aggregates : tuple of WantedFlow, str or None
        Flows to measure, or the transport of those that are made from the demands: two for each tunnel.
    rerun
        A run of traffic engineering while the flows run.
    capacity_mbps
        One capacity for all links, which `topology` has taken over; None: those of the topology.
    pmt
        Message classes that the controller and the switches serve (PSO).
    control_at
        Switch that the controller is attached to, when control runs over the data links; None: it has links of its own.
    controls
        Runs that must lose.
    tls
        OpenFlow and the switches' databases use TLS.
    """

    topology_name: str
    topology: Topology
    variations: tuple[Variation, ...]
    traffic: tuple[Traffic, ...]
    failures: tuple[Failure, ...]
    duration_s: float
    seed: int = 1
    bfd_interval_ms: int | None = None
    wait_to_restore_s: float = DEFAULT_WAIT_S
    default_capacity_mbps: float | None = None
    settle_s: float = 2.0
    control_delay_ms: float = 0.0
    delay_ms: float | None = None
    jitter_ms: float | None = None
    link_delays: bool | None = None
    tunnels: TunnelConfiguration = field(default_factory=TunnelConfiguration)
    queues: str | None = None
    flows: tuple[WantedFlow, ...] = ()
    aggregates: str | None = None
    expected: tuple[Expected, ...] = ()
    rerun: Rerun | None = None
    capacity_mbps: float | None = None
    pmt: PolicyMapTable | None = None
    control_at: str | None = None
    controls: tuple[Control, ...] = ()
    tls: bool = False

    @property
    def measures_flows(self) -> bool:
        """Whether throughput of flows is measured, in place of single packets."""
        return bool(self.flows or self.aggregates)
