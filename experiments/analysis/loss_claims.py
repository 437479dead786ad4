"""Claims about single packets: what 1+1 protection and SQR spare them, and what runs without them must lose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.analysis.injected import failed_links
from experiments.analysis.packet_counts import Counts, Flight, count
from experiments.analysis.record import Promise, Record
from experiments.analysis.timeline import Window
from experiments.scenario.stream import Traffic
from experiments.scenario.values import Control, Variation
from ryu_apps.schemes import find_scheme

Judged = tuple[str, bool, str]
"""A claim: what it says, whether it held, details."""


def loss_claims(record: Record, promise: Promise) -> list[Judged]:
    """Streams that are promised delivery through all failures lose nothing, and TCP sends nothing again.

    Nothing is duplicated with 1+1; nothing is reordered where the scheme keeps the order. Under SD-FAST some is: what a
    switch has learned from the first packets that were given back sends others past those that still wait; nor is TCP
    promised anything there, which takes what is reordered for lost.
    """
    variation = record.variation
    if variation.variant or (variation.protection is None and variation.replay is None):
        return []
    in_order = find_scheme(variation.scheme).keeps_order
    claims = []
    for name, traffic, counts in _counted(record):
        if _is_always_promised(record, promise, traffic):
            what, violations = _spared(variation, counts, in_order=in_order)
            detail = f"{counts.lost} of {counts.sent} lost, {counts.duplicated} more than once"
            detail += f", {counts.reordered} reordered"
            claims.append((f"{name} loses nothing{what}", bool(counts.sent) and not violations, detail))
    for each in record.tcp:
        if in_order and _is_always_promised(record, promise, each.traffic):
            again = "not known" if each.retransmits is None else f"{each.retransmits} segments"
            claims.append((f"{name_of(each.traffic)} sends nothing again", each.retransmits == 0, again))
    return claims


def control_claims(record: Record, promise: Promise) -> list[Judged]:
    """A run that must lose does lose, so much as its control says."""
    return [
        _control_claim(record, promise, control)
        for control in record.scenario.controls
        if (control.scheme, control.variant) == (record.variation.scheme, record.variation.variant)
    ]


def _control_claim(record: Record, promise: Promise, control: Control) -> Judged:
    lost = sum(counts.lost for _, _, counts in _counted(record))
    if control.outage_percent is None:
        least = control.packets or 1
        return f"loses at least {least} packets, as it must", lost >= least, f"{lost} lost"
    low, high = control.outage_percent
    sent = _sent_unpromised(record, promise)
    percent = 100 * lost / sent if sent else 0.0
    detail = f"{lost} lost, {percent:.1f} % of the {sent:.0f} sent meanwhile"
    return f"loses what is sent during the outage ({low:g} to {high:g} %)", low <= percent <= high, detail


def name_of(traffic: Traffic) -> str:
    """ "s4>s10 datagrams"."""
    return f"{traffic.source}>{traffic.destination} {traffic.kind}"


def count_in(flights: Sequence[Flight], window: Window) -> Counts:
    """Packet counts of what was sent in a window."""
    return count([flight for flight in flights if window.holds(flight.sent_s)])


def _counted(record: Record) -> Iterable[tuple[str, Traffic, Counts]]:
    """Name and accounts of every stream whose packets are counted."""
    window = Window(record.zero_s, record.end_s)
    for stream in record.streams:
        yield stream.name, stream.traffic, sum((count_in(flights, window) for flights in stream.flights), Counts())
    for each in record.datagrams:
        yield name_of(each.traffic), each.traffic, each.counts


def _is_always_promised(record: Record, promise: Promise, traffic: Traffic) -> bool:
    failures, topology = record.scenario.failures, record.scenario.topology
    ends = traffic.source, traffic.destination
    downs = [failed_links(failure.at_s, failures, topology) for failure in failures]
    return all(promise(*ends, down) and promise(*ends[::-1], down) for down in downs)


def _sent_unpromised(record: Record, promise: Promise) -> float:
    """Packets that were sent while their delivery was not promised."""
    total = 0.0
    for stream in record.streams:
        for flights, ends in zip(stream.flights, _both_ways(stream.traffic), strict=True):
            windows = [Window(*span) for span in _unpromised(record, promise, *ends)]
            total += sum(any(window.holds(flight.sent_s) for window in windows) for flight in flights)
    for each in record.datagrams:
        ends = each.traffic.source, each.traffic.destination
        total += each.sent_while(_unpromised(record, promise, *ends))
    return total


def _both_ways(traffic: Traffic) -> tuple[tuple[str, str], tuple[str, str]]:
    return (traffic.source, traffic.destination), (traffic.destination, traffic.source)


def _unpromised(record: Record, promise: Promise, source: str, destination: str) -> list[tuple[float, float]]:
    """Spans of time between two things that happen in which delivery is not promised."""
    scenario = record.scenario
    moments = [(event.action.at_s, event.before_s) for event in record.injected]
    spans = []
    for (at_s, start_s), (_, end_s) in zip(moments, [*moments[1:], (scenario.duration_s, record.end_s)], strict=True):
        down = failed_links(at_s, scenario.failures, scenario.topology)
        if not promise(source, destination, down):
            spans.append((start_s, end_s))
    return spans


def _spared(variation: Variation, counts: Counts, *, in_order: bool) -> tuple[str, int]:
    """What a scheme spares its packets beside loss, and how many were not spared it."""
    if variation.protection is not None:
        return " and gets no duplicate", counts.lost + counts.duplicated
    if in_order:
        return " and gets nothing reordered", counts.lost + counts.reordered
    return "", counts.lost
