"""The event log as values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """One line of the event log: stamp (CLOCK_MONOTONIC, seconds), who, what, and what belongs to it."""

    t_s: float
    source: str
    name: str
    fields: dict[str, Any] = field(default_factory=dict)


def read_events(text: str) -> list[Event]:
    """Events in the order of their stamps; a last line that is still being written is left out.

    Raises
    ------
    ValueError
        A whole line is not an event.
    """
    events = []
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        events.append(event_of(json.loads(line)))
    return sorted(events, key=lambda event: event.t_s)


def event_of(value: dict[str, Any]) -> Event:
    """The event of a line, which loses the keys that all lines have."""
    return Event(value.pop("t_monotonic_s"), value.pop("source"), value.pop("event"), value)


def detections(events: Iterable[Event]) -> tuple[tuple[str, float], ...]:
    """(switch, stamp) of every report that a port went down, by watchers and agents; first readings are none."""
    return tuple(
        (str(event.fields.get("node")), event.t_s)
        for event in events
        if event.name == "port_status" and event.fields.get("live") is False and not event.fields.get("is_first")
    )


def installs(events: Iterable[Event]) -> tuple[float, ...]:
    """Stamps at which agents installed rows."""
    return tuple(event.t_s for event in events if event.name == "agent_install")


def avoided_by_engineering(events: Iterable[Event]) -> tuple[str, ...]:
    """Links that runs of traffic engineering left out because they had failed, or were not returned to yet."""
    avoided = (event.fields["links"] for event in events if event.name == "te_begin")
    return tuple(dict.fromkeys(link for links in avoided for link in links))
