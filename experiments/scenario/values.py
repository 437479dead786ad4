"""Scenarios as values: what runs, what traffic it carries, what breaks and when."""

from __future__ import annotations

from dataclasses import dataclass, field

from experiments.scenario.tunnel_values import Expected, FlowWish, Rerun, TunnelConfiguration
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.choices import NO_MODE, uses_agent
from ryu_apps.plan.protection import Protection
from ryu_apps.pmt.rules import PolicyMapTable

OUT_OF_BAND, IN_BAND = CONTROL_WAYS = ("out_of_band", "in_band")

PROBE_KINDS = ("probe", "ping")
LOAD_KINDS = ("iperf3-tcp", "iperf3-udp")
PROGRAM_KINDS = PROBE_KINDS + LOAD_KINDS
DATAGRAMS = "datagrams"
TRAFFIC_KINDS = (*PROGRAM_KINDS, DATAGRAMS)

LINK_KINDS = ("silent", "one-way", "carrier", "flap")
NODE_KINDS = ("node",)
CONTROLLER_KINDS = ("controller",)
KILL_TARGETS = ("agent", "ovs-vswitchd", "ovsdb-server", "controller")
KILL_KIND = "kill"
FAILURE_KINDS = LINK_KINDS + NODE_KINDS + CONTROLLER_KINDS + (KILL_KIND,)


@dataclass(frozen=True, slots=True)
class Traffic:
    """One stream between two hosts.

    Probes carry stamps both ways; datagrams are numbered, go one way and are counted by their receiver; of TCP's load
    is known what was sent again.

    Attributes
    ----------
    source, destination : str
        Node names; host k is attached to node k.
    kind : str
        One of `TRAFFIC_KINDS`.
    interval_ms : float
        Time between packets of a probe or ping; not used by the load kinds.
    rate_mbps : float or None
        Offered rate of iperf3-udp, and of iperf3-tcp (None: as much as goes); None for the rest.
    rate_pps : float or None
        Packets a second of datagrams, at most; None for the rest.
    size_bytes : int or None
        IP payload of a probe or ping (None: 64), UDP payload of datagrams (None: 200).
    start_s, stop_s : float, float or None
        Seconds after the run's zero; None means until the run ends.
    """

    source: str
    destination: str
    kind: str = "probe"
    interval_ms: float = 2.0
    rate_mbps: float | None = None
    rate_pps: float | None = None
    size_bytes: int | None = None
    start_s: float = 0.0
    stop_s: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that breaks, and when it is repaired.

    Attributes
    ----------
    kind : str
        One of `FAILURE_KINDS`.
    link : LinkId or None
        The link, for the link kinds.
    node : str or None
        The node that fails; the switch whose process is killed; the sending end of a one-way cut.
    process : str or None
        One of `KILL_TARGETS`, for kind "kill".
    at_s, repair_at_s : float, float or None
        Seconds after the run's zero; None is never repaired. A killed process is restarted by its supervisor.
    times, period_s : int, float or None
        Number of cuts of a flap and the time from one cut to the next; the link is down half of each period.
    line : int
        Line of the scenario file, for messages.
    """

    kind: str
    at_s: float
    link: LinkId | None = None
    node: str | None = None
    process: str | None = None
    repair_at_s: float | None = None
    times: int = 1
    period_s: float | None = None
    line: int = field(default=0, compare=False)

    @property
    def what(self) -> str:
        """Name of the broken thing: "s2-s4", "s2", "controller", "agent of s4"."""
        if self.kind == KILL_KIND:
            return str(self.process) if self.node is None else f"{self.process} of {self.node}"
        if self.link is not None:
            return f"{self.link}" if self.kind != "one-way" else f"{self.link} from {self.node}"
        return self.node if self.node is not None else "controller"

    @property
    def end_s(self) -> float | None:
        """When the thing works again; None when never."""
        if self.kind == "flap" and self.period_s is not None:
            return self.at_s + (self.times - 0.5) * self.period_s
        if self.kind == KILL_KIND:
            return self.at_s
        return self.repair_at_s


@dataclass(frozen=True, slots=True)
class Replay:
    """What scheme sqr keeps: packets of these links, `slots` at most at each end.

    `margin` packets before the first failed sending are sent again, or those of the last `delta_ms` when the failure
    is told; all wait for `reconfiguration_ms`, in which rows for them come (None: 0, with agents 300).
    """

    links: tuple[str, ...]
    slots: int = 8192
    delta_ms: float = 50.0
    margin: int = 64
    reconfiguration_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Variation:
    """One run of a scenario: the scheme and how it is planned; `mode` is "none" for a scheme that has but one.

    `protection` are the protected flows of scheme protect, `replay` is what scheme sqr keeps; None with the others.
    `arm` names a run of its own beside that of its scheme, one of the scenario's controls.
    """

    scheme: str
    mode: str
    planner: str = "tree"
    routes: str = "spt"
    metric: str = "hops"
    max_failures: int | None = None
    protection: Protection | None = None
    replay: Replay | None = None
    arm: str = ""

    @property
    def uses_agent(self) -> bool:
        """Whether agents beside the switches end the backtracking."""
        return uses_agent(self.mode)

    @property
    def name(self) -> str:
        """Short name, also a folder name: "sdfast-learned", "ffg", "sqr-small-ring"."""
        return "-".join(
            [self.scheme, *([] if self.mode == NO_MODE else [self.mode]), *([self.arm] if self.arm else [])]
        )


@dataclass(frozen=True, slots=True)
class Control:
    """A run that must lose packets, or what the scenario breaks was not met at all.

    Attributes
    ----------
    scheme, arm : str
        Whose run; `arm` names one that the control adds, with `replay` in place of the scheme's own settings.
    replay : Replay or None
    packets : int or None
        It loses at least so many.
    outage_percent : (float, float) or None
        It loses between so much and so much of what is sent while delivery is not promised.
    """

    scheme: str
    arm: str = ""
    replay: Replay | None = None
    packets: int | None = None
    outage_percent: tuple[float, float] | None = None

    @property
    def run(self) -> str:
        """ "shortest", "sqr small-ring"."""
        return f"{self.scheme} {self.arm}".strip()


@dataclass(frozen=True)
class Scenario:
    """A whole experiment.

    Attributes
    ----------
    topology_name : str
        What the file says; `topology` is what that means.
    bfd_interval_ms : int or None
        None: the machine's own limit, found by the doctor's probe.
    control_delay_ms : float
        One-way delay of every control link; 0: none is added.
    settle_s : float
        Time with probes running and nothing broken before the run's zero.
    delay_ms, jitter_ms : float or None
        One delay and jitter for all links, which `topology` has taken over; None: those of the topology.
    link_delays : bool or None
        Whether links are delayed; None: where the kernel can do it.
    tunnels : TunnelConfiguration
        How schemes of tunnels are planned.
    queues : str or None
        Set-up of priority queues of every link port; None: none, or with schemes of tunnels "single".
    flows, aggregates : tuple of FlowWish, str or None
        Flows to measure, or the transport of those that are made from the demands: two for each tunnel.
    expected : tuple of Expected
    rerun : Rerun or None
        A run of traffic engineering while the flows run.
    capacity_mbps : float or None
        One capacity for all links, which `topology` has taken over; None: those of the topology.
    pmt : PolicyMapTable or None
        Message classes that the controller and the switches serve (PSO).
    control_at : str or None
        Switch that the controller is attached to, when control runs over the data links; None: it has links of its own.
    controls : tuple of Control
        Runs that must lose.
    """

    topology_name: str
    topology: Topology
    variations: tuple[Variation, ...]
    traffic: tuple[Traffic, ...]
    failures: tuple[Failure, ...]
    duration_s: float
    seed: int = 1
    bfd_interval_ms: int | None = None
    wait_to_restore_s: float = 5.0
    default_capacity_mbps: float | None = None
    settle_s: float = 2.0
    control_delay_ms: float = 0.0
    delay_ms: float | None = None
    jitter_ms: float | None = None
    link_delays: bool | None = None
    tunnels: TunnelConfiguration = field(default_factory=TunnelConfiguration)
    queues: str | None = None
    flows: tuple[FlowWish, ...] = ()
    aggregates: str | None = None
    expected: tuple[Expected, ...] = ()
    rerun: Rerun | None = None
    capacity_mbps: float | None = None
    pmt: PolicyMapTable | None = None
    control_at: str | None = None
    controls: tuple[Control, ...] = ()

    @property
    def measures_flows(self) -> bool:
        """Whether throughput of flows is measured, in place of single packets."""
        return bool(self.flows or self.aggregates)
