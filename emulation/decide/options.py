"""What a user may choose about an emulated network, checked when it is chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from emulation.decide.control_classes import shared_queue_setup
from emulation.decide.queues import QueueSetup
from mininet_topos.errors import BadInputError
from ryu_apps.pmt.rules import PolicyMapTable

BFD_CANDIDATES_MS = (5, 20, 50, 100)  # tried in this order when the interval is left to the machine
BFD_MULT = 3
DATAPATHS = ("auto", "kernel", "netdev")
MIN_MTU_BYTES, MAX_MTU_BYTES = 1500, 9000
MAX_CONTROL_DELAY_MS = 10_000.0


@dataclass(frozen=True)
class EmulationOptions:
    """How a topology is emulated.

    Parameters
    ----------
    bfd_interval_ms
        Transmit and receive interval of BFD; a link is declared down after three of them. None: the
        first of 5, 20, 50 and 100 ms that shows no flap on the network itself.
    bfd_probe_s
        How long each candidate interval is watched when `bfd_interval_ms` is None.
    datapath : "auto", "kernel" or "netdev"
        Open vSwitch datapath; "auto" takes the kernel's when the kernel has one.
    shared_ovs
        One pair of Open vSwitch daemons for all switches, as in plain Mininet, instead of a pair each.
    default_capacity_mbps
        Capacity of links that the topology gives none; None leaves those unshaped.
    capacity_scale
        Emulated capacity = capacity x scale, since a machine cannot emulate 28 links of 10 Gbit/s.
    shape
        Whether link capacity and delay are emulated at all.
    link_delays
        Whether the delay and jitter of links are emulated: True, by netem, or by Armor's own delay line where the
        kernel has no netem; None, by netem alone; False, not at all.
    control_rate_mbps, control_delay_ms
        Rate and one-way delay of every control link; None (for the delay also 0) leaves it as fast as it is.
        The delay is netem's where the kernel has it, else that of Armor's own delay line.
    mtu_bytes
        MTU of switch ports; above the hosts' 1500, so that tagged and labelled frames fit.
    supervise
        Restart daemons, agents and the controller when they fail.
    queues
        Strict priority queues of every link port (decide.queues; `queue_setup` makes them from classes of traffic).
        None: one queue beside that of control packets.
    queues_by_controller
        Whether a port has those queues only once a controller has written their rows to the switch's database. Without
        it the queues are there, and tried, from the start; rows of a controller that say otherwise change them.
    seed
        Of the jitter of the delay line.
    pmt
        Message classes of PSO: every switch has a controller connection a class, with its own mark, and control links
        with a rate serve the marks by strict priority at both ends. Databases of switches listen on the control link.
    in_band_at
        In-band control: the switch that the controller is attached to. The control packets of all switches then run
        over the links, which serve the classes of `pmt` before data; without `pmt` they wait as data does. None:
        control links of their own.
    tls
        OpenFlow and the switches' databases on control links with TLS, by a test authority made for the run.
    disk_mb
        Size of a file system of its own for databases, sockets and logs, which can be filled up (needs a folder that
        the network makes). None: they are on the machine's.
    realtime
        Run ovs-vswitchd with real-time priority, so that a busy machine does not fake failures (28 switches, BFD
        every 5 ms, eight busy loops on four cores: 121 flaps in 6 s without it, none with it). Where the system
        refuses it, the run goes on without, and warns.

    Raises
    ------
    BadInputError
        A value is out of range; the message names it.
    """

    bfd_interval_ms: int | None = None
    bfd_probe_s: float = 10.0
    datapath: str = "auto"
    shared_ovs: bool = False
    default_capacity_mbps: float | None = None
    capacity_scale: float = 1.0
    shape: bool = True
    link_delays: bool | None = None
    control_rate_mbps: float | None = None
    control_delay_ms: float | None = None
    mtu_bytes: int = 1600
    supervise: bool = True
    realtime: bool = True
    queues: QueueSetup | None = None
    queues_by_controller: bool = False
    pmt: PolicyMapTable | None = None
    in_band_at: str | None = None
    tls: bool = False
    disk_mb: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if self.bfd_interval_ms is not None and not 1 <= self.bfd_interval_ms <= 10_000:
            raise BadInputError(f"bfd_interval_ms is {self.bfd_interval_ms}; use 1..10000, or leave it out")
        if self.datapath not in DATAPATHS:
            raise BadInputError(f"datapath is {self.datapath!r}; use one of {', '.join(DATAPATHS)}")
        if not MIN_MTU_BYTES <= self.mtu_bytes <= MAX_MTU_BYTES:
            raise BadInputError(f"mtu_bytes is {self.mtu_bytes}; use {MIN_MTU_BYTES}..{MAX_MTU_BYTES}")
        if self.link_delays and not self.shape:
            raise BadInputError("link_delays are asked for but shape is off; leave one of the two out")
        if self.queues_by_controller and self.queues is None:
            raise BadInputError("queues_by_controller without queues: give the marks of packets for them in queues")
        if self.queues is not None and not self.shape:
            raise BadInputError(f"queues are {self.queues.name!r} but shape is off, so nothing would wait in them")
        _check_positive("bfd_probe_s", self.bfd_probe_s)
        _check_positive("capacity_scale", self.capacity_scale)
        _check_positive("default_capacity_mbps", self.default_capacity_mbps)
        _check_positive("control_rate_mbps", self.control_rate_mbps)
        if self.control_delay_ms is not None and not 0 <= self.control_delay_ms <= MAX_CONTROL_DELAY_MS:
            raise BadInputError(
                f"control_delay_ms is {self.control_delay_ms}; use 0..{MAX_CONTROL_DELAY_MS:g}, or leave it out"
            )
        if self.in_band_at is not None:
            self._check_in_band()

    def _check_in_band(self) -> None:
        for name, value in (("control_rate_mbps", self.control_rate_mbps), ("control_delay_ms", self.control_delay_ms)):
            if value:
                raise BadInputError(f"{name} is {value}, but in-band control has no control links; leave it out")
        if self.shared_ovs:
            raise BadInputError("in-band control needs daemons for each switch; leave shared_ovs out")
        if self.queues is not None and self.pmt is not None:
            raise BadInputError(
                f"queues are {self.queues.name!r} and in-band control has classes (pmt), which also need the queues of "
                "the links; leave one of the two out"
            )

    @property
    def link_queues(self) -> QueueSetup | None:
        """Strict priority queues of every link port: `queues`, or with in-band control the classes of `pmt`."""
        if self.in_band_at is None:
            return self.queues
        if self.pmt is not None and self.pmt.rules:
            return shared_queue_setup(self.pmt)
        return None if self.queues is None else replace(self.queues, control_is_bfd=True)


def _check_positive(name: str, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise BadInputError(f"{name} is {value}; give a number above 0, or leave it out")
