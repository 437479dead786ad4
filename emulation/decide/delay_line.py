"""Delay without netem: which lines the delay line carries, its command line, and what it reports.

Kernels without netem cannot delay packets. Then every delayed link, between switches or to the controller, is split in
two, and a small program (`dataplane/delay_line`) stands in the middle, in a namespace of its own, and carries frames
from one half to the other after the delay. It passes the carrier on too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from emulation.decide.options import EmulationOptions
from emulation.decide.wiring import DELAY_PLACE, Cable, Wiring
from mininet_topos.errors import ArmorError, BadInputError, MissingRequirementError
from mininet_topos.ports import PortMap
from mininet_topos.topology import Link, Topology

DELAY_LINE = "delay_line"  # name of the process
PROGRAM_NAME = "armor-delay-line"
# What 1 ms of a line may hold: 600 Mbit/s of full frames, far more than an OpenFlow channel sends.
_FRAMES_PER_MS = 50
MIN_FRAMES, MAX_FRAMES = 512, 4096
MAX_LINK_DELAY_MS = 10_000.0
MAX_ERROR_US = 200.0  # a line that errs by more for one frame in a hundred is named in the result
TRIAL_PPS = 10_000
# Interfaces in the delay place are numbered from here: Linux tells at once that a cable's carrier has changed when its
# two ends have different numbers, else up to a second late.
_FIRST_INDEX = 1000


class DelayLineError(ArmorError):
    """The delay line said something that is no report."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Two interfaces of the delay place between which frames are carried, and how long that takes.

    `delay_ms` and `jitter_ms` are those from `a` to `b`; `back` is (delay, jitter) from `b` to `a`, None: the same.
    """

    a: str
    b: str
    delay_ms: float
    jitter_ms: float = 0.0
    back: tuple[float, float] | None = None

    @property
    def longest_ms(self) -> float:
        """Longest time that a frame can be under way."""
        return max(self.delay_ms + self.jitter_ms, sum(self.back or (0.0,)))

    @property
    def words(self) -> str:
        """The pair as the program reads it, times in microseconds."""
        times = (self.delay_ms, self.jitter_ms, *(self.back or ()))
        return ",".join([self.a, self.b, *(f"{1000 * time_ms:g}" for time_ms in times)])


@dataclass(frozen=True, slots=True)
class LineCounters:
    """What one direction of a line has done so far, in frames.

    `ring_full` were dropped because more were under way than the line holds, `send_failed` because the far
    interface was down, `truncated` because they were above the MTU.
    """

    source: str
    destination: str
    relayed: int
    ring_full: int
    send_failed: int
    truncated: int


@dataclass(frozen=True, slots=True)
class DelayReport:
    """A report of the delay line: how late it sent, and each direction's counters.

    Lateness is the time from when a frame was due to when it was sent; its mean is not kept.
    """

    event: str
    realtime: bool
    late_p50_us: float
    late_p99_us: float
    late_max_us: float
    lines: tuple[LineCounters, ...]


@dataclass(frozen=True, slots=True)
class DelayTrial:
    """How much longer than the delay frames were under way, and how many did not arrive."""

    delay_ms: float
    sent: int
    lost: int
    error_p50_us: float
    error_p99_us: float
    error_max_us: float

    def describe(self) -> str:
        """One line for people."""
        text = (
            f"{self.delay_ms:g} ms are {self.error_p50_us / 1000:.3f} ms too long (p99 {self.error_p99_us / 1000:.3f})"
        )
        return text + (f", {self.lost} of {self.sent} frames lost" if self.lost else "")


def trial_of(delay_ms: float, sent: int, errors_us: Sequence[float]) -> DelayTrial:
    """Sum up a trial.

    Parameters
    ----------
    delay_ms
        The delay asked for, one way.
    sent
        Frames.
    errors_us
        How much longer each that arrived was under way.

    Raises
    ------
    DelayLineError
        None arrived.
    """
    if not errors_us:
        raise DelayLineError(f"none of {sent} frames passed the delay line")
    ordered = sorted(errors_us)
    p50, p99 = (ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.99))
    return DelayTrial(delay_ms, sent, sent - len(ordered), p50, p99, ordered[-1])


def needs_delay_line(options: EmulationOptions, *, netem: bool, program: Path | None, release: str) -> bool:
    """Whether a delay is asked for that the kernel cannot give.

    Parameters
    ----------
    netem
        Whether the kernel can delay packets.
    program
        The delay line; None: it was not built.
    release
        Of the kernel, for the message.

    Raises
    ------
    MissingRequirementError
        It is, and there is no delay line.
    """
    asked = [f"control_delay_ms is {options.control_delay_ms:g}"] if options.control_delay_ms else []
    asked += ["link_delays are asked for"] if options.link_delays else []
    if not asked or netem:
        return False
    if program is None:
        names = " and ".join(word.split()[0] for word in asked)
        raise MissingRequirementError(
            f"{' and '.join(asked)}, but kernel {release} has no netem and {PROGRAM_NAME} "
            f"was not built: apt-get install gcc libc6-dev, then make setup; or leave {names} out"
        )
    return True


def with_relays(wiring: Wiring, relays: Sequence[Relay]) -> Wiring:
    """The same wiring with the cable of every relay split in two, the inner halves in the delay place.

    An inner interface bears the name of the outer one it is joined to.
    """
    relayed = {frozenset((relay.a, relay.b)) for relay in relays}
    split: list[Cable] = []
    index = _FIRST_INDEX
    for cable in wiring.cables:
        if frozenset((cable.a.interface, cable.b.interface)) not in relayed:
            split.append(cable)
            continue
        for outer in (cable.a, cable.b):
            split.append(Cable(outer, replace(outer, place=DELAY_PLACE, mac=None, index=index)))
            index += 1
    return replace(wiring, cables=tuple(split))


def delays_of(link: Link) -> tuple[float, float]:
    """(delay, jitter) of one direction of a link, milliseconds.

    Raises
    ------
    BadInputError
        One is longer than can be emulated.
    """
    delay_ms, jitter_ms = link.delay_ms or 0.0, link.jitter_ms or 0.0
    if max(delay_ms, jitter_ms) > MAX_LINK_DELAY_MS:
        raise BadInputError(
            f"link {link.direction} has delay_ms {delay_ms:g} and jitter_ms {jitter_ms:g}; "
            f"at most {MAX_LINK_DELAY_MS:g} can be emulated"
        )
    return delay_ms, jitter_ms


def link_relays(topology: Topology, ports: PortMap, wiring: Wiring) -> tuple[Relay, ...]:
    """What the delay line carries for the links of a topology that have a delay or jitter either way."""
    relays = []
    for link_id in topology.link_ids:
        ways = topology.directions(link_id)
        there, back = (delays_of(topology.link_at[way]) for way in ways)
        if any((*there, *back)):
            near, far = (wiring.interface_of[way.src, ports.port_of[way]] for way in ways)
            relays.append(Relay(near, far, *there, back=None if there == back else back))
    return tuple(relays)


def control_relays(wiring: Wiring, delay_ms: float) -> tuple[Relay, ...]:
    """What the delay line carries for the control links of a wiring."""
    return tuple(
        Relay(wiring.control_interface_of[place], wiring.controller_interface_of[place], delay_ms)
        for place in wiring.switch_places
    )


def relayed_interfaces(wiring: Wiring, place: str) -> tuple[str, ...]:
    """Interfaces of a place whose cables end in the delay place.

    Their sender must make whole frames: checksums filled in, none above the MTU.
    """
    pairs = [pair for cable in wiring.cables for pair in ((cable.a, cable.b), (cable.b, cable.a))]
    return tuple(near.interface for near, far in pairs if near.place == place != DELAY_PLACE == far.place)


def ring_frames(relays: Sequence[Relay]) -> int:
    """Frames that a direction must hold, for the longest delay; a power of two."""
    longest_ms = max(relay.longest_ms for relay in relays)
    wanted = max(1, math.ceil(longest_ms * _FRAMES_PER_MS))
    return min(MAX_FRAMES, max(MIN_FRAMES, 1 << (wanted - 1).bit_length()))


def delay_line_command(
    program: Path, relays: Sequence[Relay], *, realtime: bool, seed: int = 1, reorder: bool = False
) -> tuple[str, ...]:
    """Command line of the delay line.

    Parameters
    ----------
    realtime
        Ask for real-time priority; without the right to it, the line runs without and reports so.
    seed
        Of the jitter.
    reorder
        Let a frame with little jitter overtake one with much.
    """
    pairs = [relay.words for relay in relays]
    flags = (["--realtime"] if realtime else []) + (["--reorder"] if reorder else [])
    return (str(program), *flags, "--seed", str(seed), "--frames", str(ring_frames(relays)), *pairs)


def parse_report(line: str) -> DelayReport:
    """Read a line that the delay line printed.

    Raises
    ------
    DelayLineError
        It is no report.
    """
    try:
        record = json.loads(line)
        late = record["late_us"]
        lines = tuple(
            LineCounters(row["from"], row["to"], *(row[key] for key in LineCounters.__slots__[2:]))
            for row in record["directions"]
        )
        return DelayReport(record["event"], record["realtime"], late["p50"], late["p99"], late["max"], lines)
    except (ValueError, KeyError, TypeError) as error:
        raise DelayLineError(f"the delay line said {line.strip()[:120]!r}, which is no report of it") from error
