"""Which probe packet a captured frame is."""

from __future__ import annotations

from typing import NamedTuple

from experiments.analysis.frames import Frame
from experiments.scenario.traffic import probed_kinds


class ProbeId(NamedTuple):
    """One probe packet: the stream's two ends in the order of travel, its kind, and its number.

    `sequence` has the width that it has on the wire; `packet_counts.unwrap` makes it count on.
    """

    source: int
    destination: int
    kind: str
    is_reply: bool
    sequence: int


def probe_id(frame: Frame) -> ProbeId | None:
    """Identity of a probe packet; None for any other frame (load, irtt's own open and close)."""
    for name, kind in probed_kinds().items():
        found = kind.number_of(frame.protocol, frame.payload)
        if found is not None:
            return ProbeId(frame.source, frame.destination, name, found.is_reply, found.sequence)
    return None
