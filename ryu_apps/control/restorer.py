"""Rewrites routes around failed links, and back (what and when: plan/restoration.py, decide/restoration.py).

Stands where a ReturnCoordinator stands, for schemes whose controller acts on failures. It never waits for switches: a
rewriting begins although they have not yet confirmed the one before (messages to a switch stay in order). Port states
that come in one turn of the event loop are rewritten for together, and so are those that came while the last rewriting
was computed. Without that, many links that fail at once would be rewritten for one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from ryu.lib import hub

from machine.event_log import EventLog
from mininet_topos.topology import LinkId
from ryu_apps.control.channel import SwitchClosedError, SwitchRefusedError
from ryu_apps.control.decide import restoration, returning
from ryu_apps.control.decide.restoration import Avoidance
from ryu_apps.control.decide.returning import ReturnState
from ryu_apps.control.decide.tunnel import Change
from ryu_apps.control.faults import Faults
from ryu_apps.control.route_configuration import SwitchRoutes
from ryu_apps.plan.restoration import Restoration
from ryu_apps.plan.rows import FlowRow

# A message passes at most four greenlets on its way (turns.py); after as many turns without news none is on its way.
_QUIET_TURNS = 4


class Rewriting(Protocol):
    """What has to be written where while links are failed."""

    def avoid(self, links: frozenset[LinkId]) -> None:
        """These links carry nothing from now on, and no others."""

    def rows_at(self, dpid: int) -> tuple[FlowRow, ...]:
        """Rows that a switch has to hold now in place of its plan's, or beside them."""

    def change_at(self, dpid: int) -> Change | None:
        """The last change of a switch as encoded messages, when there are any."""


class RouteRewriting:
    """Rewrites regular routes, which need not be prepared."""

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._rows: Mapping[int, tuple[FlowRow, ...]] = {}

    def avoid(self, links: frozenset[LinkId]) -> None:
        """Lead routes around these links from now on, and no others."""
        self._rows = self._restoration.rows(links)

    def rows_at(self, dpid: int) -> tuple[FlowRow, ...]:
        """Rows that a switch has to hold now in place of its plan's."""
        return self._rows.get(dpid, ())

    def change_at(self, _dpid: int) -> Change | None:
        """Nothing is encoded beforehand."""
        return None


class Restorer:
    """Keeps the routes of all switches away from failed links.

    Parameters
    ----------
    rewriting
        What to write.
    faults
        Where switches that refuse or do not answer are reported.
    connected
        The connected switches, by name.
    """

    switches_learn = False  # they know of no failure about which the controller has not sent them rows

    def __init__(
        self,
        rewriting: Rewriting,
        state: ReturnState,
        events: EventLog,
        faults: Faults,
        connected: Callable[[], Mapping[str, SwitchRoutes]],
    ) -> None:
        self.state = state
        self.avoidance = Avoidance()
        self._rewriting = rewriting
        self._events = events
        self._faults = faults
        self._connected = connected
        self._due_since_s: float | None = None
        self._gather_until_s = 0.0

    def ports_known(self, live: Mapping[tuple[str, int], bool]) -> None:
        """Ports are live or down now; routes follow as soon as this turn of the event loop is over."""
        now_s = time.monotonic()
        self.state = returning.ports_known(self.state, live, now_s)
        self._avoid(restoration.observed(self.avoidance, self.state), now_s)

    def switch_gone(self, node: str) -> None:
        """The connection of a switch is gone; what its links were avoided for stays so."""
        self.state = returning.ports_unknown(self.state, node)

    def plan_installed(self, routes: SwitchRoutes, _tag_ids: Iterable[int], _missed: Iterable[LinkId]) -> None:
        """A switch has got its plan: make its routes ready for changes. Recovery rows belong to other schemes."""
        routes.prepare_to_restore()

    def rows_found(self, _links: Iterable[LinkId]) -> None:
        """Switches of these schemes hold no recovery rows of their own."""

    def rows_at(self, dpid: int) -> tuple[FlowRow, ...]:
        """Rows that a switch has to hold now in place of its plan's."""
        return self._rewriting.rows_at(dpid)

    def run_due(self) -> None:
        """Return to every link whose time has come."""
        now_s = time.monotonic()
        links = returning.due_links(self.state, now_s)
        if not links:
            return
        names, before = [str(link) for link in links], self.avoidance
        self._events.write("return_begin", links=names)
        self._return_to(links, now_s)
        self._events.write("return_done", links=names, rounds=int(self.avoidance.avoided != before.avoided))

    def _return_to(self, links: tuple[LinkId, ...], now_s: float) -> None:
        self.state = returning.begin_return(self.state, links)
        self._avoid(restoration.returned(self.avoidance, links), now_s)
        self.state = returning.end_return(self.state, links)

    def _avoid(self, avoidance: Avoidance, now_s: float) -> None:
        changes = avoidance.avoided != self.avoidance.avoided
        self.avoidance = avoidance
        if changes and self._due_since_s is None:
            self._due_since_s = now_s
            hub.spawn(self._rewrite)

    def _rewrite(self) -> None:
        """Send every switch what changes; do not wait for answers."""
        self._gather()
        began_s, self._due_since_s = self._due_since_s, None
        links, computing_since_s = self.avoidance.avoided, time.monotonic()
        with self._faults.surfaced("restoration"):
            self._rewriting.avoid(links)
            changing = {
                node: routes
                for node, routes in self._connected().items()
                if routes.restored != self.rows_at(routes.plan.dpid)
            }
            senders = [hub.spawn(self._send, routes, node) for node, routes in changing.items()]
            hub.spawn(self._confirm, senders, links, began_s)
        now_s = time.monotonic()
        self._gather_until_s = now_s + (now_s - computing_since_s)

    def _gather(self) -> None:
        """Let port states be heard that came while the last rewriting was computed; for as long as it took at most."""
        quiet = 0
        while quiet < _QUIET_TURNS and time.monotonic() < self._gather_until_s:
            before = self.avoidance.avoided
            hub.sleep(0)
            quiet = quiet + 1 if self.avoidance.avoided == before else 0

    def _send(self, routes: SwitchRoutes, node: str) -> int:
        """Rows that were changed at a switch, once it has confirmed."""
        with self._faults.surfaced("restoration", node), suppress(SwitchClosedError):
            try:
                dpid = routes.plan.dpid
                return routes.restore(self.rows_at(dpid), self._rewriting.change_at(dpid))
            except SwitchRefusedError:
                routes.synchronise()  # reads what the switch holds, and brings it to what it has to hold
        return 0

    def _confirm(self, senders: list[Any], links: frozenset[LinkId], began_s: float) -> None:
        names = sorted(str(link) for link in links)
        self._events.write("restoration_begin", t_monotonic_s=began_s, links=names)
        changed = [sender.wait() for sender in senders]
        self._events.write(
            "restoration_done",
            links=names,
            rows=sum(changed),
            switches=sum(1 for count in changed if count),
            seconds=time.monotonic() - began_s,
        )


class PassiveMonitor(Restorer):
    """Knows what has failed and what is used again, where agents act on it: sends nothing, and reports no restoration.

    Parameters are those of `Restorer`; its rewriting only hears.
    """

    def run_due(self) -> None:
        """Note every link whose time has come; the agents count their own."""
        now_s = time.monotonic()
        self._return_to(returning.due_links(self.state, now_s), now_s)

    def _rewrite(self) -> None:
        self._due_since_s = None
        with self._faults.surfaced("failures"):
            self._rewriting.avoid(self.avoidance.avoided)
