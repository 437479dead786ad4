"""Reads from the switches which failed links they know of, and writes what is new to the event log."""

from __future__ import annotations

import time
from collections.abc import Mapping

from machine.event_log import EventLog
from mininet_topos.topology import Topology
from ryu_apps.control.decide.knowledge import Known, Source, known_from_rows
from ryu_apps.control.route_configuration import SwitchRoutes, owner_of


class KnowledgeReader:
    """What the rows of each switch say, when they were read last."""

    def __init__(self, topology: Topology, events: EventLog) -> None:
        self._topology, self._events = topology, events
        self._known: dict[str, tuple[Known, ...]] = {}

    @property
    def known(self) -> Mapping[str, tuple[Known, ...]]:
        """By switch."""
        return self._known

    def read(self, node: str, routes: SwitchRoutes) -> None:
        """Ask a switch for the rows that failures put there.

        Raises
        ------
        SwitchGoneError, SwitchRefusedError, WireError
        """
        if not any(routes.plan.tag_space):
            return
        stats = routes.remembered_stats(owner_of(routes.plan))
        before = {one.link for one in self._known.get(node, ()) if one.source == Source.NOTIFICATION}
        now_s = time.monotonic()
        self._known[node] = known_from_rows(node, stats, routes.plan.tag_space, self._topology, now_s)
        for one in self._known[node]:
            if one.source == Source.NOTIFICATION and one.link not in before:
                self._events.write("notification", node=node, link=str(one.link), since_s=one.since_s)

    def forget(self, node: str) -> None:
        """A switch is gone: what it knows is no longer known here."""
        self._known.pop(node, None)
