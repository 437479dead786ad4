"""Backtracking time and outage of a direction of a flow, from the detection of the link that its primary path lost.

The paper's Table II: "the time difference between a link failure and crankback termination". Counted from detection,
which is the same for all schemes; what happens before it is BFD's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from experiments.analysis.events import Event
from experiments.analysis.packet_counts import Flight
from experiments.analysis.timeline import IN_FLIGHT_S, Window
from mininet_topos.ports import assign_ports
from mininet_topos.topology import LinkId, Topology

WATCHER = "watcher"


@dataclass(frozen=True, slots=True)
class DirectionBacktracking:
    """A direction whose primary path crosses a failed link.

    Attributes
    ----------
    link
        Of the failed links on its primary path, the one detected first.
    detected_s
        None when no switch reported a port of these links.
    lasted_ms
        From `detected_s` to the last packet that crossed a link backwards; 0 if none did after it, None while packets
        still do at the end, and without a detection.
    outage_ms
        From `detected_s` until the first packet was sent that arrived after all losses; 0 if that was before or nothing
        was lost, None while packets still are at the end, and without a detection.
    """

    link: LinkId
    detected_s: float | None
    lasted_ms: float | None
    outage_ms: float | None


def first_detections(events: Iterable[Event], topology: Topology, window: Window) -> dict[LinkId, float]:
    """When a switch first reported a port of each link down, by the clock of the real-time watcher.

    Reports of agents and of the controller are left out: their clocks show when a busy process came to read.

    Parameters
    ----------
    events
        In the order of their stamps.
    topology
        Its port numbers are those of the switches.
    window
        The failure's time.
    """
    directions = assign_ports(topology).direction_at
    found: dict[LinkId, float] = {}
    for event in events:
        is_failure = event.fields.get("live") is False and not event.fields.get("is_first")
        if event.source == WATCHER and event.name == "port_status" and is_failure and window.holds(event.t_s):
            direction = directions.get((str(event.fields.get("node")), int(event.fields.get("port_no", 0))))
            if direction is not None:
                found.setdefault(topology.link_id(direction), event.t_s)
    return found


def backtracking_of(
    flights: Sequence[Flight],
    primary: Sequence[LinkId],
    failed: Iterable[LinkId],
    detected: Mapping[LinkId, float],
    window: Window,
) -> DirectionBacktracking | None:
    """Backtracking of one direction; None when its primary path crosses no failed link.

    Parameters
    ----------
    flights
        Packets of this direction.
    primary
        Its path while nothing is broken.
    detected
        As `first_detections` has them.
    window
        The failure's time.
    """
    gone = set(failed)
    crossed = [link for link in primary if link in gone]
    if not crossed:
        return None
    known = [link for link in crossed if link in detected]
    if not known:
        return DirectionBacktracking(crossed[0], None, None, None)
    link = min(known, key=lambda each: detected[each])
    detected_s = detected[link]
    stamps = [hop.t_s for flight in flights for hop in flight.back_hops if detected_s < hop.t_s < window.end_s]
    last_s = max(stamps, default=detected_s)
    is_over = not stamps or last_s <= window.end_s - IN_FLIGHT_S
    lasted_ms = (last_s - detected_s) * 1000 if is_over else None
    return DirectionBacktracking(link, detected_s, lasted_ms, _outage_ms(flights, detected_s, window))


def _outage_ms(flights: Sequence[Flight], detected_s: float, window: Window) -> float | None:
    """As `DirectionBacktracking.outage_ms`; packets under way at the window's end are passed over."""
    sent = [each for each in flights if window.start_s <= each.sent_s < window.end_s - IN_FLIGHT_S]
    last_lost_s = max((each.sent_s for each in sent if each.is_lost), default=None)
    if last_lost_s is None:
        return 0.0
    good_s = min((each.sent_s for each in sent if each.sent_s > last_lost_s), default=None)
    return None if good_s is None else max(0.0, good_s - detected_s) * 1000
