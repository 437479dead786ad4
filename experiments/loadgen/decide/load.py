"""What is sent when: classes of packets, and a schedule of arrivals that no answer can delay (open loop)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mininet_topos.errors import BadInputError

ARRIVALS = ("poisson", "constant")
MAX_ARRIVALS = 5_000_000
SMALLEST_FRAME_BYTES, LARGEST_FRAME_BYTES = 60, 1514
FRAME_BYTES = 126  # a packet-in of it is an IP packet of 220 bytes, as in PSO's paper
MAX_SWITCHES = 500

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PacketClass:
    """Packets of one priority: UDP to a port by which a Policy Map Table can tell them."""

    name: str
    udp_dst: int


# PSO's evaluation gives packets to UDP port 20000 priority (section 5.2); whatever else there is goes elsewhere.
HIGH, LOW = PacketClass("high", 20000), PacketClass("low", 10000)
CLASSES = (HIGH, LOW)


@dataclass(frozen=True, slots=True)
class Load:
    """What is offered to a controller.

    Attributes
    ----------
    switches
        Emulated switches.
    rate_pps
        Packet-ins a second of all switches and classes together.
    seconds
        Length of the measured window.
    arrivals
        "poisson" (independent, exponential gaps) or "constant" (equal gaps).
    high_share
        Share of packets of class "high", 0 to 1.
    warm_up_s
        Load before the measured window, whose packets do not count.
    frame_bytes
        Length of each packet inside its packet-in.
    buffered
        Whether switches keep packets and name them by buffer id, or send them whole, as Open vSwitch does.

    Raises
    ------
    BadInputError
        A value that makes no load.
    """

    switches: int
    rate_pps: float
    seconds: float
    arrivals: str = ARRIVALS[0]
    high_share: float = 0.1
    seed: int = 1
    warm_up_s: float = 0.5
    frame_bytes: int = FRAME_BYTES
    buffered: bool = False

    def __post_init__(self) -> None:
        bounds = (
            ("switches", self.switches, 1, MAX_SWITCHES),
            ("high_share", self.high_share, 0, 1),
            ("warm_up_s", self.warm_up_s, 0, 3600),
            ("frame_bytes", self.frame_bytes, SMALLEST_FRAME_BYTES, LARGEST_FRAME_BYTES),
        )
        for name, value, low, high in bounds:
            if not low <= value <= high:
                raise BadInputError(f"{name} is {value}; use {low} to {high}")
        for name, value in (("rate_pps", self.rate_pps), ("seconds", self.seconds)):
            if not 0 < value < float("inf"):
                raise BadInputError(f"{name} is {value}; use a number above 0")
        if self.arrivals not in ARRIVALS:
            raise BadInputError(f"arrivals {self.arrivals!r} are not known; use {' or '.join(ARRIVALS)}")
        if self.rate_pps * self.total_s > MAX_ARRIVALS:
            raise BadInputError(
                f"{self.rate_pps:g} packet-ins a second for {self.total_s:g} s are more than {MAX_ARRIVALS:,}; "
                "lower the rate or the time"
            )

    @property
    def total_s(self) -> float:
        """Warm-up and measured window together."""
        return self.warm_up_s + self.seconds


@dataclass(frozen=True, eq=False)
class Schedule:
    """Arrivals in order of time; a packet's place in the arrays is its serial number.

    Attributes
    ----------
    due_s : array of float, shape (n,)
        When it arrives at its switch, seconds after the start.
    class_ids : array of int, shape (n,)
        Index into `CLASSES`.
    switches : array of int, shape (n,)
        Index of its switch.
    warm_up_s, seconds
        The measured window is [warm_up_s, warm_up_s + seconds).
    """

    due_s: Floats
    class_ids: Integers
    switches: Integers
    warm_up_s: float
    seconds: float

    def __len__(self) -> int:
        return len(self.due_s)


def make_schedule(load: Load) -> Schedule:
    """Arrivals of a load; the same load gives the same arrivals.

    Poisson arrivals are as many uniform instants as a Poisson law says, which is the same process; classes and
    switches are drawn at random. Constant arrivals have equal gaps, spread each class evenly, and take switches in
    turn.
    """
    rng = np.random.default_rng(load.seed)
    if load.arrivals == "poisson":
        n = int(rng.poisson(load.rate_pps * load.total_s))
        due_s: Floats = np.sort(rng.uniform(0.0, load.total_s, n))
        is_high = rng.random(n) < load.high_share
        switches = rng.integers(load.switches, size=n)
    else:
        n = int(load.rate_pps * load.total_s)
        due_s = (np.arange(n, dtype=np.float64) + 0.5) / load.rate_pps
        # The small term keeps shares such as 0.1 from losing a packet to binary fractions.
        reached = np.floor((np.arange(n + 1)) * load.high_share + 1e-9)
        is_high = np.diff(reached) > 0
        switches = np.arange(n) % load.switches
    class_ids = np.where(is_high, CLASSES.index(HIGH), CLASSES.index(LOW))
    return Schedule(due_s, class_ids.astype(np.int64), switches.astype(np.int64), load.warm_up_s, load.seconds)
