"""Control delay without netem: which lines the delay line carries, its command line, and what it reports.

Kernels without netem cannot delay packets. Then every control link is cut in two, and a small program
(`dataplane/delay_line`) stands in the middle, in a namespace of its own, and carries frames from one half to
the other after the delay.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mininet_topos.emulation.options_core import EmulationOptions
from mininet_topos.emulation.wiring_core import CONTROLLER, DELAY_PLACE, Cable, Wiring
from mininet_topos.errors import ArmorError, MissingRequirementError

DELAY_LINE = "delay_line"  # name of the process
PROGRAM_NAME = "armor-delay-line"
# What 1 ms of a line may hold: 600 Mbit/s of full frames, far more than an OpenFlow channel sends.
_FRAMES_PER_MS = 50
MIN_FRAMES, MAX_FRAMES = 512, 4096


class DelayLineError(ArmorError):
    """The delay line said something that is no report."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Two interfaces of the delay place between which frames are carried, and how long that takes one way."""

    a: str
    b: str
    delay_ms: float
    jitter_ms: float = 0.0


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
    delay_ms : float
        The delay asked for, one way.
    sent : int
        Frames.
    errors_us : sequence of float
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
    """Whether control delay is asked for that the kernel cannot give.

    Parameters
    ----------
    options : EmulationOptions
    netem : bool
        Whether the kernel can delay packets.
    program : Path or None
        The delay line; None: it was not built.
    release : str
        Of the kernel, for the message.

    Raises
    ------
    MissingRequirementError
        It is, and there is no delay line.
    """
    if not options.control_delay_ms or netem:
        return False
    if program is None:
        raise MissingRequirementError(
            f"control_delay_ms is {options.control_delay_ms:g}, but kernel {release} has no netem and {PROGRAM_NAME} "
            "was not built: apt-get install gcc libc6-dev, then make setup; or leave control_delay_ms out"
        )
    return True


def with_control_relays(wiring: Wiring) -> Wiring:
    """The same wiring with every control link cut in two, the inner halves in the delay place.

    An inner interface bears the name of the outer one it is joined to.
    """
    cut = []
    for cable in wiring.cables:
        if cable.b.place == CONTROLLER:
            cut += [Cable(outer, replace(outer, place=DELAY_PLACE, mac=None)) for outer in (cable.a, cable.b)]
        else:
            cut.append(cable)
    return replace(wiring, cables=tuple(cut))


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
    longest_ms = max(relay.delay_ms + relay.jitter_ms for relay in relays)
    wanted = max(1, math.ceil(longest_ms * _FRAMES_PER_MS))
    return min(MAX_FRAMES, max(MIN_FRAMES, 1 << (wanted - 1).bit_length()))


def delay_line_command(
    program: Path, relays: Sequence[Relay], *, realtime: bool, seed: int = 1, reorder: bool = False
) -> tuple[str, ...]:
    """Command line of the delay line.

    Parameters
    ----------
    program : Path
    relays : sequence of Relay
    realtime : bool
        Ask for real-time priority; without the right to it, the line runs without and reports so.
    seed : int
        Of the jitter.
    reorder : bool
        Let a frame with little jitter overtake one with much.
    """
    pairs = [f"{relay.a},{relay.b},{relay.delay_ms * 1000:g},{relay.jitter_ms * 1000:g}" for relay in relays]
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
