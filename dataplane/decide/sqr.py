"""SQR ports as values: settings, the control block that program, agent and loader share (programs/sqr.h), events."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dataplane.model.marking import EVERY_PACKET, Marking
from dataplane.model.switch import Backstop
from mininet_topos.errors import ArmorError, BadInputError

AGENT_PROGRAM = "armor-sqr-agent"
STATES = ("up", "hold", "backup", "turning")
STATE_UP, STATE_HOLD, STATE_BACKUP, STATE_TURNING = range(4)
REQUEST_NONE, REQUEST_FAIL, REQUEST_RESTORE = range(3)
IN_SEND_NEVER, IN_SEND_ERRORS, IN_SEND_REFUSALS = range(3)
CHOOSE_TCP_PORT, CHOOSE_DSCP, CHOOSE_VLAN = 1, 2, 4
_MAX_SLOTS = 1 << 20
_LONGEST_MS = 3_600_000.0
_FASTEST_PPS = 1e9

# Name, format and offset of each field of struct control; head and tail have cache lines of their own.
_WORDS = "state primary backup mask margin choose in_send paused ready request".split()
_COUNTERS = """
    cached cached_bytes held direct other too_big gso unprotected young pending send_failed queue_full replayed
    replay_failed
""".split()
FIELDS: dict[str, tuple[str, int]] = {
    **{name: ("=I", 4 * at) for at, name in enumerate(_WORDS)},
    "delta_ns": ("=Q", 40),
    "reconfiguration_ns": ("=Q", 48),
    "floor": ("=Q", 56),
    "head": ("=Q", 64),
    "tail": ("=Q", 128),
    "detected_ns": ("=Q", 192),
    "source": ("=I", 200),
    "pace_ns": ("=I", 204),
    **{name: ("=Q", 208 + 8 * at) for at, name in enumerate(_COUNTERS)},
}
CONTROL_BYTES = 208 + 8 * len(_COUNTERS)


class SqrAgentError(ArmorError):
    """The replay agent does not start, or says something that is not an event."""


@dataclass(frozen=True)
class SqrPort:
    """A protected port of a switch.

    `device` is the inner end of the virtual port that the switch sends protected packets to; `primary` is where they
    go; `backup` where they go when the primary has failed: another interface (LRR), `primary` itself (SB': the replay
    waits for its carrier) or `device`, which gives them back to the switch by the virtual port.

    `delta_ms` bounds the time from a failure to the agent's knowledge of it, `reconfiguration_ms` is how long the
    backup needs after that. With `in_send` a failing send is a failure, and the window is `margin` packets before it;
    where the primary has a queue, that should be as long as the queue, which is lost with the port.

    `replay_pps` holds the replay back to so many packets a second, or to four times the rate at which they came if
    that is more: for a next hop that reads from a short buffer and does not always run, as Open vSwitch's userspace
    datapath. None: as fast as the backup takes them.
    """

    device: str
    primary: str
    backup: str
    slots: int = 8192
    delta_ms: float = 50.0
    reconfiguration_ms: float = 0.0
    margin: int = 64
    in_send: bool = True
    marking: Marking = EVERY_PACKET
    replay_pps: float | None = None

    def __post_init__(self) -> None:
        """Refuse what the ring cannot do."""
        if not 1 < self.slots <= _MAX_SLOTS or self.slots & (self.slots - 1):
            raise BadInputError(f"a ring of {self.slots} slots: give a power of two from 2 to {_MAX_SLOTS}")
        for name, value in (("delta", self.delta_ms), ("reconfiguration time", self.reconfiguration_ms)):
            if not 0 <= value <= _LONGEST_MS:
                raise BadInputError(f"a {name} of {value} ms: give 0 to {_LONGEST_MS:g}")
        if not 0 <= self.margin < self.slots:
            raise BadInputError(
                f"a margin of {self.margin} packets: give 0 to {self.slots - 1}, less than the ring has"
            )
        if self.replay_pps is not None and not 1 <= self.replay_pps <= _FASTEST_PPS:
            raise BadInputError(f"a replay of {self.replay_pps} packets a second: give 1 to {_FASTEST_PPS:g}, or none")


@dataclass(frozen=True)
class SqrCounters:
    """What a port has done with packets.

    `cached` were copied into the ring, `held` of them behind a replay; `direct` left by the backup with nothing
    waiting; `other` are not protected; `too_big` and `gso` (merged segments) do not fit a slot; `unprotected` came
    while the backstop paused caching; `young` were overwritten within delta and `pending` before their replay (the
    ring is too small); `send_failed` met a failed primary, `queue_full` the full queue of a
    live one (lost, as without SQR); `replayed` and `replay_failed` are the agent's.
    """

    cached: int = 0
    cached_bytes: int = 0
    held: int = 0
    direct: int = 0
    other: int = 0
    too_big: int = 0
    gso: int = 0
    unprotected: int = 0
    young: int = 0
    pending: int = 0
    send_failed: int = 0
    queue_full: int = 0
    replayed: int = 0
    replay_failed: int = 0


@dataclass(frozen=True)
class SqrEvent:
    """A line of the replay agent; `port` is the primary, `t_ns` CLOCK_MONOTONIC, `facts` what else it says."""

    event: str
    t_ns: int
    port: str = ""
    facts: dict[str, Any] = field(default_factory=dict, compare=False)


def chosen_keys(marking: Marking) -> tuple[int, list[int]]:
    """Return which kinds choose, as bits, and the keys of the map of chosen values."""
    kinds = ((CHOOSE_TCP_PORT, marking.tcp_ports), (CHOOSE_DSCP, marking.dscp), (CHOOSE_VLAN, marking.vlans))
    return sum(kind for kind, values in kinds if values), [
        kind << 16 | value for kind, values in kinds for value in values
    ]


def first_control(port: SqrPort, primary: int, backup: int, *, queued: bool = False) -> bytes:
    """Bytes of the control block of a port that is up.

    Parameters
    ----------
    port
        Its settings.
    primary, backup
        Numbers of its interfaces.
    queued
        Whether the primary has a queue of its own: a packet that it refuses is then no sign of a failed port.
    """
    block = bytearray(CONTROL_BYTES)
    values = {
        "primary": primary,
        "backup": backup,
        "mask": port.slots - 1,
        "margin": port.margin,
        "choose": chosen_keys(port.marking)[0],
        "in_send": (IN_SEND_ERRORS if queued else IN_SEND_REFUSALS) if port.in_send else IN_SEND_NEVER,
        "delta_ns": round(port.delta_ms * 1e6),
        "reconfiguration_ns": round(port.reconfiguration_ms * 1e6),
        "pace_ns": round(1e9 / port.replay_pps) if port.replay_pps else 0,
    }
    for name, value in values.items():
        pattern, offset = FIELDS[name]
        struct.pack_into(pattern, block, offset, int(value))
    return bytes(block)


def read_field(block: Any, name: str) -> int:
    """Read a field of a control block (any buffer)."""
    pattern, offset = FIELDS[name]
    value: int = struct.unpack_from(pattern, block, offset)[0]
    return value


def read_counters(block: Any) -> SqrCounters:
    """Read all counters of a control block (any buffer)."""
    return SqrCounters(**{name: read_field(block, name) for name in _COUNTERS})


def agent_command(
    program: Path, maps: Iterable[tuple[int, int]], backstop: Backstop | None, poll_us: int, *, realtime: bool
) -> list[str]:
    """Command line of the replay agent.

    Parameters
    ----------
    maps : iterable of (int, int)
        Ids of control block and ring, one pair a port.
    backstop
        When caching pauses.
    poll_us
        How often the agent looks at the ports, in microseconds.
    realtime
        Whether to ask for real-time priority.

    Raises
    ------
    BadInputError
        `poll_us` is not positive.
    """
    if poll_us < 1:
        raise BadInputError(f"an agent that looks every {poll_us} us: give at least 1")
    words = [str(program), "--poll-us", str(poll_us), *(["--realtime"] if realtime else [])]
    if backstop is not None:
        words += ["--pause-above", str(backstop.pause_above_bytes), "--resume-below", str(backstop.resume_below_bytes)]
    return words + [f"{control},{ring}" for control, ring in maps]


def parse_event(line: str) -> SqrEvent:
    """Read a line of the replay agent.

    Raises
    ------
    SqrAgentError
        It is not an event.
    """
    try:
        said = json.loads(line)
        return SqrEvent(str(said.pop("event")), int(said.pop("t_ns")), str(said.pop("port", "")), said)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SqrAgentError(f"the replay agent said {line[:80]!r}, which is not an event") from error


def whole_events(text: str) -> list[SqrEvent]:
    """Read all whole lines of an agent's output.

    Raises
    ------
    SqrAgentError
        One is not an event.
    """
    return [parse_event(line) for line in text.split("\n")[:-1]]
