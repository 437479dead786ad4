"""Who knew when: the notification frames of a failure, and when each switch first sent or received one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.analysis.frames import Frame
from experiments.analysis.packet_counts import Clock
from experiments.analysis.timeline import Window
from mininet_topos.topology import Direction


@dataclass(frozen=True, slots=True)
class Notice:
    """A notification frame that left a switch on a link (CLOCK_MONOTONIC, seconds)."""

    t_s: float
    direction: Direction


@dataclass(frozen=True)
class Knowledge:
    """What the frames of one failure show.

    Attributes
    ----------
    frames
        Number of frames that left a switch on a link.
    since
        What times count from: "detection", or "failure" where no switch beside it reported a port.
    knew_ms
        By switch, in the topology's order: when the first frame left or reached it; None: none did.
    """

    frames: int
    since: str
    knew_ms: dict[str, float | None]

    @property
    def last_ms(self) -> float | None:
        """When the last switch that came to know did so; None where nobody was notified."""
        return max((value for value in self.knew_ms.values() if value is not None), default=None)

    def to_json(self) -> dict[str, object]:
        """Plain data; times in milliseconds, rounded to microseconds."""
        known = [value for value in self.knew_ms.values() if value is not None]
        return {
            "frames": self.frames,
            "since": self.since,
            "switches": len(self.knew_ms),
            "knew": len(known),
            "last_ms": None if self.last_ms is None else round(self.last_ms, 3),
            "knew_ms": {node: None if value is None else round(value, 3) for node, value in self.knew_ms.items()},
        }


def notices_of(frames: Iterable[Frame], direction: Direction, clock: Clock) -> list[Notice]:
    """Notifications in the capture of frames that leave a switch on a link."""
    return [Notice(clock.to_s(frame.t_ns), direction) for frame in frames if frame.notifies]


def knowledge(
    nodes: Sequence[str], notices: Iterable[Notice], window: Window, detected_s: float | None = None
) -> Knowledge:
    """Who knew when after one failure.

    A frame counts as received when it leaves the neighbour: taps are behind what delays or drops it.

    Parameters
    ----------
    nodes
        All switches.
    notices
        Of the whole run.
    window
        The failure's time.
    detected_s
        When the first switch beside the failure reported it.
    """
    during = [notice for notice in notices if window.holds(notice.t_s)]
    zero_s = window.start_s if detected_s is None else detected_s
    first: dict[str, float] = {}
    for notice in during:
        for node in (notice.direction.src, notice.direction.dst):
            first[node] = min(notice.t_s, first.get(node, notice.t_s))
    knew_ms = {node: (first[node] - zero_s) * 1000 if node in first else None for node in nodes}
    return Knowledge(len(during), "failure" if detected_s is None else "detection", knew_ms)
