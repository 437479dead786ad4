"""What the event log says of one failure: when it was noticed, and when each ingress switch had its new rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.analysis.events import Event
from experiments.campaign.kinds.ingress import IngressMeasured, Update

_MS_A_SECOND = 1000.0


def updates_of(events: Iterable[Event], failure_s: float) -> dict[str, float]:
    """When the last new row of each switch was in force (seconds after the failure); no switch without any."""
    added = [
        event for event in events if event.name == "rows_changed" and event.fields["added"] and event.t_s >= failure_s
    ]
    return {str(event.fields["node"]): event.t_s - failure_s for event in sorted(added, key=lambda each: each.t_s)}


def detections_of(events: Iterable[Event], ends: Sequence[str], failure_s: float) -> dict[str, float]:
    """When the watcher first heard of a failed port at each end of the link (seconds after the failure)."""
    heard = [
        (event.t_s - failure_s, str(event.fields["node"]))
        for event in events
        if event.source == "watcher"
        and event.name == "port_status"
        and event.fields["node"] in ends
        and event.fields["live"] is False
        and event.t_s >= failure_s
    ]
    return {node: seconds for seconds, node in sorted(heard, reverse=True)}


def ingress_row(
    events: Sequence[Event], expected: Iterable[str], ends: Sequence[str], failure_s: float
) -> IngressMeasured:
    """What figures read of a failure, without its quality.

    Parameters
    ----------
    events
        From the failure to the repair.
    expected
        Ingress switches with a failed tunnel.
    ends
        Switches at the link.
    failure_s
        CLOCK_MONOTONIC when the failure began.
    """
    updates, noticed = updates_of(events, failure_s), detections_of(events, ends, failure_s)
    detected_s = min(noticed.values(), default=None)
    return IngressMeasured(
        noticed_ms={node: _ms(seconds) for node, seconds in sorted(noticed.items())},
        ingresses=tuple(_update(node, updates.get(node), detected_s) for node in sorted(expected)),
    )


def _update(node: str, updated_s: float | None, detected_s: float | None) -> Update:
    if updated_s is None:
        return Update(node, None, None)
    return Update(node, _ms(updated_s), None if detected_s is None else _ms(updated_s - detected_s))


def _ms(seconds: float) -> float:
    return round(_MS_A_SECOND * seconds, 3)
