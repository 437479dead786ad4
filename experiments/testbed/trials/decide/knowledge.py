"""When each route knew of a failure: the first recovery row of the switch for the destination, by the row watcher."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.analysis.events import Event
from experiments.analysis.timeline import Window
from experiments.campaign.draws.paths import primary_paths
from experiments.campaign.values import Json
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import Kind, split_cookie

Route = tuple[str, str]
"""Switch and destination."""


def routes_over(topology: Topology, link: LinkId) -> list[Route]:
    """Routes whose usual path crosses a link, and which another path could replace."""
    parts = topology.components(frozenset([link]))
    return [
        (node, destination)
        for (node, destination), path in primary_paths(topology).items()
        if parts[node] == parts[destination] and link in map(topology.link_id, path)
    ]


def first_rows(events: Iterable[Event], topology: Topology, window: Window) -> dict[Route, float]:
    """When the first recovery row of each route came (CLOCK_MONOTONIC, seconds).

    Parameters
    ----------
    events
        In the order of their stamps, with those of the row watcher.
    window
        From the failure to its repair.
    """
    node_of = {host.ipv4: node for node, host in hosts_of(topology).items()}
    found: dict[Route, float] = {}
    for event in events:
        if event.name == "rows_changed" and window.holds(event.t_s):
            for text in event.fields["cookies"]:
                parts = split_cookie(int(text, 16))
                if parts.kind in (Kind.LEARNED, Kind.AGENT) and parts.destination in node_of:
                    found.setdefault((str(event.fields["node"]), node_of[parts.destination]), event.t_s)
    return found


def knowledge_row(
    routes: Iterable[Route], first_s: dict[Route, float], detected_s: float | None, window: Window
) -> Json:
    """Columns of a trial of kind "knowledge", but for the frames.

    Parameters
    ----------
    routes
        Those that want a row.
    first_s
        As `first_rows` has it.
    detected_s
        First report of a port of the link.
    """

    def since_ms(t_s: float | None) -> float | None:
        return None if t_s is None or detected_s is None else round(1000 * max(0.0, t_s - detected_s), 3)

    return {
        "detected_ms": None if detected_s is None else round(1000 * (detected_s - window.start_s), 3),
        "watched_ms": since_ms(window.end_s),
        "routes": [
            {"node": node, "destination": destination, "knew_ms": since_ms(first_s.get((node, destination)))}
            for node, destination in routes
        ],
    }
