"""The captures of a run as one pcapng file, whose packet comments name the failures and repairs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from experiments.analysis.frames import PcapRecord
from experiments.analysis.injected import InjectedEvent
from experiments.analysis.packet_counts import Clock
from experiments.analysis.pcapng import Interface, Packet, pcapng
from experiments.scenario.failure import Failure


@dataclass(frozen=True, slots=True)
class Annotation:
    """A failure or repair, by the clock of the captures.

    Attributes
    ----------
    text
        What failed or was repaired, how, and at which second of the scenario.
    began_ns, done_ns
        Stamps right before and after it.
    """

    text: str
    began_ns: int
    done_ns: int


def annotations_of(failures: Sequence[Failure], injected: Iterable[InjectedEvent], clock: Clock) -> list[Annotation]:
    """What packet comments say of the events of a run.

    Parameters
    ----------
    failures
        The scenario's.
    injected
        Failures and repairs as they happened.
    clock
        Offset between the captures' clock and that of `injected`.
    """
    return [
        Annotation(
            _named(failures[event.action.failure], event), clock.to_ns(event.before_s), clock.to_ns(event.after_s)
        )
        for event in injected
    ]


def annotated_capture(
    captures: Mapping[Interface, Iterable[PcapRecord]],
    annotations: Iterable[Annotation],
    *,
    snap_bytes: int,
    about: str,
) -> bytes:
    """One pcapng file of several captures, by time.

    Parameters
    ----------
    captures
        The records of each interface.
    annotations
        Each becomes a comment of the first packet, on any interface, that was captured once it was done. Those without
        such a packet are listed in the comment of the file.
    snap_bytes
        So much of a packet was captured at most.
    about
        Comment of the file.
    """
    packets, unseen = annotate(by_time(captures.values()), annotations)
    comment = "\n".join([about, *(f"{each.text}: no frame was captured after it" for each in unseen)])
    return b"".join(pcapng(tuple(captures), packets, snap_bytes=snap_bytes, comment=comment))


def by_time(captures: Iterable[Iterable[PcapRecord]]) -> list[Packet]:
    """Packets of all captures by their stamps, those of the same stamp in the order of the captures."""
    packets = [
        Packet(number, record.t_ns, record.data, record.length)
        for number, records in enumerate(captures)
        for record in records
    ]
    return sorted(packets, key=_stamp)


def annotate(packets: Sequence[Packet], annotations: Iterable[Annotation]) -> tuple[list[Packet], list[Annotation]]:
    """Packets with their comments, and the annotations after which there is no packet.

    Parameters
    ----------
    packets
        By time.
    """
    commented, unseen = list(packets), []
    for each in annotations:
        place = bisect_left(packets, each.done_ns, key=_stamp)
        if place == len(packets):
            unseen.append(each)
            continue
        packet = commented[place]
        comment = f"{each.text}, {(packet.t_ns - each.began_ns) / 1e6:.3f} ms before this frame"
        commented[place] = replace(packet, comments=(*packet.comments, comment))
    return commented, unseen


def _stamp(packet: Packet) -> int:
    return packet.t_ns


def _named(failure: Failure, event: InjectedEvent) -> str:
    what = "repair" if event.action.live else "failure"
    return f"{what} of {failure.what} ({failure.kind}) at second {event.action.at_s:g} of the scenario"
