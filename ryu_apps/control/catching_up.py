"""Brings one switch from the plan that it holds to the plan that it has to hold, until it has confirmed it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ryu.lib import hub

from mininet_topos.errors import ArmorError
from ryu_apps.control.channel import SwitchClosedError
from ryu_apps.control.faults import Faults
from ryu_apps.control.switch import Switch

RETRY_S = 0.5


def catch_up(switch: Switch, what: str, faults: Faults, count: Callable[[int], None] = lambda _rows: None) -> None:
    """Return once the switch holds its plan (`SwitchRoutes.use`), or its connection has ended.

    Parameters
    ----------
    what
        What the change belongs to, for the errors of attempts that fail.
    count
        Gets the number of rows of each attempt that worked.
    """
    routes = switch.routes
    while not routes.holds_plan() and not switch.channel.closed:
        with faults.surfaced(what, switch.node), suppress(SwitchClosedError):
            try:
                count(routes.catch_up())
            except ArmorError:
                routes.doubt()  # nothing is known of what it holds, so it is read next time
                raise
        if not routes.holds_plan():
            hub.sleep(RETRY_S)
