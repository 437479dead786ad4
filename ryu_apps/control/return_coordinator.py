"""Leads the network back to its primary routes once a failed link has stayed up (steps: decide/returning.py)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from ryu.lib import hub

from machine.event_log import EventLog
from mininet_topos.errors import ArmorError
from mininet_topos.topology import LinkId, Topology
from ryu_apps.control.channel import SwitchClosedError
from ryu_apps.control.decide import returning
from ryu_apps.control.decide.held_up import HeldUp
from ryu_apps.control.decide.returning import ReturnState, ReturnWork
from ryu_apps.control.route_configuration import SwitchRoutes, owner_of
from ryu_apps.plan.ids import split_cookie
from ryu_apps.plan.rows import FlowRow, RulePlan

CLEAN_ROUNDS = 10
# Cached datapath flows re-learn until they have been looked at again, at most every 0.5 s (max-revalidator).
SETTLE_S = 0.6


class ReturnError(ArmorError):
    """A return did not succeed; `by` names the switches that held it up."""

    def __init__(self, text: str, by: Iterable[str]) -> None:
        super().__init__(text)
        self.by = frozenset(by)


class ReturnCoordinator:
    """Runs returns, one at a time.

    Parameters
    ----------
    plans
        The scheme's plans, by switch name.
    connected
        The connected switches, by name.
    """

    switches_learn = True  # of failures, from each other's packets

    def __init__(
        self,
        topology: Topology,
        plans: Mapping[str, RulePlan],
        state: ReturnState,
        events: EventLog,
        connected: Callable[[], Mapping[str, SwitchRoutes]],
    ) -> None:
        self.state = state
        self._topology = topology
        self._plans = plans
        self._events = events
        self._connected = connected
        self._held_up = HeldUp()
        self._tag_space = next(iter(plans.values())).tag_space

    def ports_known(self, live: Mapping[tuple[str, int], bool]) -> None:
        """Ports are live or down now."""
        self.state = returning.ports_known(self.state, live, time.monotonic())

    def switch_gone(self, node: str) -> None:
        """The connection of a switch is gone."""
        self.state = returning.ports_unknown(self.state, node)

    def plan_installed(self, _routes: SwitchRoutes, tag_ids: Iterable[int], missed: Iterable[LinkId]) -> None:
        """A switch has got its plan.

        Parameters
        ----------
        tag_ids
            Of failed sets about which it was found to hold recovery rows.
        missed
            Links whose return was under way meanwhile: it has learned from others' packets what they were forgetting,
            and others have learned it again from its packets, so they are returned to once more.
        """
        links = returning.links_of_tag_ids(self._tag_space, self._topology, tag_ids)
        self.state = returning.remember(self.state, (*links, *missed))

    def rows_found(self, links: Iterable[LinkId]) -> None:
        """A switch was found to hold recovery rows about links whose return was not awaited."""
        self.state = returning.found(self.state, links, time.monotonic())

    def rows_at(self, _dpid: int) -> tuple[FlowRow, ...]:
        """Rows in place of a plan's: none, since only what came by itself changes."""
        return ()

    def run_due(self) -> None:
        """Return to every link whose time has come.

        Raises
        ------
        ReturnError
            Switches did not do their part; the links are tried again later.
        """
        links = returning.due_links(self.state, time.monotonic())
        if not links:
            return
        self.state = returning.begin_return(self.state, links)
        if not any(self._tag_space):  # without tags switches remember nothing
            self.state = returning.end_return(self.state, links)
            return
        names, without = [str(link) for link in links], self._held_up.without(time.monotonic())
        routes = {node: one for node, one in self._connected().items() if node not in without}
        self._events.write("return_begin", links=names, without=sorted(without))
        retry_at_s: float | None = time.monotonic() + self.state.damping.wait_s
        held_up_by: frozenset[str] = frozenset()
        try:
            deleted_rounds = self._return(links, routes)
            retry_at_s = None
            self._events.write("return_done", links=names, rounds=deleted_rounds)
        except ReturnError as error:
            held_up_by = error.by
            raise
        finally:
            self._held_up = self._held_up.after(routes, held_up_by, time.monotonic())
            self.state = returning.end_return(self.state, links, retry_at_s)

    def _return(self, links: tuple[LinkId, ...], routes: Mapping[str, SwitchRoutes]) -> int:
        tag_ids = returning.tag_ids_of_links(self._tag_space, self._topology, links)
        work = {node: returning.return_work(one.plan, owner_of(one.plan), tag_ids) for node, one in routes.items()}
        hops = [[node for node in hop if node in routes] for hop in returning.hops_outward(self._topology, links)]
        if not any(self._left(routes, tag_ids).values()):
            return 0
        try:
            _everywhere(routes, partial(_apply, SwitchRoutes.stop_learning, work))
            hub.sleep(SETTLE_S)
            return self._forget(routes, work, hops, tag_ids)
        finally:
            _everywhere(routes, partial(_apply, SwitchRoutes.learn_again, work))

    def _forget(
        self,
        routes: Mapping[str, SwitchRoutes],
        work: Mapping[str, ReturnWork],
        hops: Iterable[Iterable[str]],
        tag_ids: frozenset[int],
    ) -> int:
        """Delete outward, until a dump taken a while later shows nothing; the number of rounds that took."""
        waves = [{node: routes[node] for node in hop} for hop in hops]
        left: dict[str, int] = {}
        for number in range(1, CLEAN_ROUNDS + 1):
            for delete in (SwitchRoutes.stop_pushing, SwitchRoutes.forget):
                for wave in waves:
                    _everywhere(wave, partial(_apply, delete, work))
                hub.sleep(SETTLE_S)
                left = self._left(routes, tag_ids)
                if not any(left.values()):
                    return number
        still = {node: count for node, count in left.items() if count}
        where = ", ".join(f"{count} at {node}" for node, count in still.items())
        raise ReturnError(
            f"after {CLEAN_ROUNDS} rounds recovery rows of a returned link are still there: {where}", still
        )

    def _left(self, routes: Mapping[str, SwitchRoutes], tag_ids: frozenset[int]) -> dict[str, int]:
        left: dict[str, int] = {}

        def count(one: SwitchRoutes, node: str) -> None:
            rows = one.remembered(owner_of(one.plan))
            left[node] = sum(1 for row in rows if split_cookie(row.cookie).tag_id in tag_ids)

        _everywhere(routes, count)
        return left


def _apply(
    act: Callable[[SwitchRoutes, ReturnWork], None], work: Mapping[str, ReturnWork], one: SwitchRoutes, node: str
) -> None:
    act(one, work[node])


def _everywhere(routes: Mapping[str, SwitchRoutes], act: Callable[[SwitchRoutes, str], None]) -> None:
    """Let all switches do something at the same time, and wait for the last.

    One whose connection ends has no part any more: what it holds is found when it connects again.

    Raises
    ------
    ReturnError
        Some did not do it.
    """
    errors: dict[str, ArmorError] = {}

    def attempt(one: SwitchRoutes, node: str) -> None:
        try:
            act(one, node)
        except SwitchClosedError:
            return
        except ArmorError as error:
            errors[node] = error

    hub.joinall([hub.spawn(attempt, one, node) for node, one in routes.items()])
    if errors:
        raise ReturnError("; ".join(str(error) for error in errors.values()), errors)
