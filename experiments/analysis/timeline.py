"""The stages of a recovery: from stamps of failures, port states and probe packets to milliseconds after the failure.

`STAGES` says what each stage is. A failure's window runs from its beginning to the next thing that the scenario does.
Over several affected ways (two for each pair), detect and switch_over are the earliest, the others the latest: the
failure is over when it is over for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from experiments.analysis.packet_counts import Counts, Flight, count

# Packets on their way when the next failure comes are its victims, not signs that this one was not over.
IN_FLIGHT_S = 0.1
# A scheme that goes on losing most packets has not recovered, though one of the last arrives. A lossy link loses some.
END_S, ARRIVING_SHARE = 0.2, 0.5
STAGES = {
    # name in files: what happens then
    "detect": "a switch beside the failure reports its port down",
    "switch_over": "an agent installs rows, or the first packet leaves the route that was usual",
    "first_good": "the first packet sent after the failure arrives",
    "last_lost": "the last packet that is lost leaves its host",
    "last_crankback": "the last time that a packet crosses a link backwards",
    "steady": "from here on nothing is lost and nothing backtracks",
}


def stage_label(name: str) -> str:
    """A stage's name for people.

    Examples
    --------
    >>> stage_label("switch_over")
    'switch over'
    """
    return name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Window:
    """The time that belongs to one failure: from its beginning to the next planned event (CLOCK_MONOTONIC, seconds).

    Attributes
    ----------
    lead_s
        Packets that left this long before the start and are lost were on their way then: they count as lost in it.
    """

    start_s: float
    end_s: float
    lead_s: float = 0.0

    def holds(self, t_s: float) -> bool:
        """Whether a stamp lies in the window (its end excluded)."""
        return self.start_s <= t_s < self.end_s

    def concerns(self, flight: Flight) -> bool:
        """Whether a packet was sent in the window, or was on its way at its start and is lost."""
        return self.holds(flight.sent_s) or (
            flight.is_lost and self.start_s - self.lead_s <= flight.sent_s < self.start_s
        )


@dataclass(frozen=True, slots=True)
class Stages:
    """Milliseconds after the failure; None where a stage does not apply or never came."""

    detect: float | None = None
    switch_over: float | None = None
    first_good: float | None = None
    last_lost: float | None = None
    last_crankback: float | None = None
    steady: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Stage name to milliseconds, rounded to microseconds."""
        return {name: None if value is None else round(value, 3) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class WayOutcome:
    """What a failure did to one way of one pair.

    Attributes
    ----------
    counts
        Packets sent in the window, and those on their way at its start that are lost.
    is_affected
        Whether any of them was lost, backtracked or rerouted.
    has_recovered
        Whether packets were delivered again at the end of the window, be it on a way back (also when nothing was lost):
        some after the last that was lost, and at least half of those of the `END_S` before the last `IN_FLIGHT_S`.
    outage_ms
        From the sending of the first lost packet to that of the first delivered one after the last lost; 0
        without loss, and up to the end of the window without recovery.
    """

    counts: Counts
    is_affected: bool
    has_recovered: bool
    outage_ms: float
    first_switchover_s: float | None
    first_good_s: float | None
    last_lost_s: float | None
    last_crankback_s: float | None
    steady_s: float | None


def way_outcome(flights: Sequence[Flight], window: Window) -> WayOutcome:
    """What happened to the packets of one way that were sent in a window.

    Parameters
    ----------
    flights
        By time of departure.
    window
        The failure's time.
    """
    sent = [flight for flight in flights if window.concerns(flight)]
    good = [flight for flight in sent if not flight.is_lost]
    turned, bypasses = _turns_and_bypasses(flights, window)
    judged = [flight for flight in sent if flight.sent_s < window.end_s - IN_FLIGHT_S]
    troubled = [flight.sent_s for flight in judged if flight.is_lost or flight.back_hops]
    last_trouble_s = max([*troubled, window.start_s])
    quiet = (flight for flight in good if flight.sent_s > last_trouble_s and not flight.back_hops)
    last_judged_s = max((flight.sent_s for flight in judged if flight.is_lost), default=window.start_s)
    has_recovered = not sent or (
        any(flight.sent_s > last_judged_s for flight in good) and _mostly_arrives(judged, window)
    )
    lost = [flight for flight in (judged if has_recovered else sent) if flight.is_lost]
    first_lost_s, last_lost_s = (lost[0].sent_s, lost[-1].sent_s) if lost else (window.end_s, window.end_s)
    again_s = next((flight.sent_s for flight in good if flight.sent_s > last_lost_s), window.end_s)
    outage_end_s = again_s if has_recovered else window.end_s
    return WayOutcome(
        counts=count(sent),
        is_affected=bool(lost or turned or bypasses),
        has_recovered=has_recovered,
        outage_ms=(outage_end_s - first_lost_s) * 1000,
        first_switchover_s=min(bypasses, default=None),
        first_good_s=min((flight.arrivals_s[0] for flight in good), default=None),
        last_lost_s=last_lost_s if lost else None,
        last_crankback_s=max(turned, default=None),
        steady_s=next((flight.arrivals_s[0] for flight in quiet), None) if has_recovered else None,
    )


def _mostly_arrives(judged: Sequence[Flight], window: Window) -> bool:
    last = [flight for flight in judged if flight.sent_s >= window.end_s - (IN_FLIGHT_S + END_S)]
    return sum(not flight.is_lost for flight in last) >= ARRIVING_SHARE * len(last)


def _turns_and_bypasses(flights: Sequence[Flight], window: Window) -> tuple[list[float], list[float]]:
    """Stamps in the window at which packets backtracked, and at which they left the route that was usual before it.

    Packets that left just before the failure count too: they may meet it on their way.
    """
    before = [flight for flight in flights if not flight.is_lost and flight.arrivals_s[0] < window.start_s]
    usual = {hop.direction for hop in before[-1].hops} if before else None
    turned = [hop.t_s for flight in flights for hop in flight.back_hops if window.holds(hop.t_s)]
    if usual is None:
        return turned, []
    hops = (hop for flight in flights for hop in flight.hops)
    return turned, [hop.t_s for hop in hops if hop.direction not in usual and window.holds(hop.t_s)]


def stages(
    window: Window,
    outcomes: Sequence[WayOutcome],
    detections_s: Sequence[float],
    installs_s: Sequence[float],
) -> Stages:
    """Stages of one failure over all ways.

    Parameters
    ----------
    window
        The failure's time, from its beginning.
    outcomes
        One for each way of each pair.
    detections_s
        When switches reported a failed port.
    installs_s
        When agents installed rows; when there are none, the first bypass of a packet is the switch-over.
    """
    affected = [outcome for outcome in outcomes if outcome.is_affected]
    switched = [t_s for t_s in installs_s if window.holds(t_s)] or _given(
        outcome.first_switchover_s for outcome in affected
    )
    return Stages(
        detect=_after(window, [t_s for t_s in detections_s if window.holds(t_s)], earliest=True),
        switch_over=_after(window, switched, earliest=True),
        first_good=_all_after(window, [outcome.first_good_s for outcome in affected]),
        last_lost=_after(window, _given(outcome.last_lost_s for outcome in affected)),
        last_crankback=_after(window, _given(outcome.last_crankback_s for outcome in affected)),
        steady=_all_after(window, [outcome.steady_s for outcome in affected]),
    )


def _given(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _after(window: Window, stamps_s: Sequence[float], *, earliest: bool = False) -> float | None:
    if not stamps_s:
        return None
    return ((min if earliest else max)(stamps_s) - window.start_s) * 1000


def _all_after(window: Window, stamps_s: Sequence[float | None]) -> float | None:
    """The latest stamp, when every way has one: what never came for one way did not come for the failure."""
    given = _given(stamps_s)
    return _after(window, given) if len(given) == len(stamps_s) else None
