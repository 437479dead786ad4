"""Keeps the tables of switches: pushed when a switch connects, followed when somebody changes one at run time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ryu.lib import hub

from machine.json_rpc import SMALL_BYTES, connected
from ryu_apps.control.priority.decide.settings import PsoSettings
from ryu_apps.control.priority.switch_table import SwitchTable
from ryu_apps.pmt.rules import PolicyMapTable

LOG = logging.getLogger("pso")
_POLL_S, _MAX_RETRY_S = 1.0, 30.0
_TIMEOUT_S = 5.0


class TableKeeper:
    """The tables of all switches whose databases can be reached.

    Parameters
    ----------
    table
        What a switch gets when it connects for the first time.
    count_error : function of str
    """

    def __init__(self, table: PolicyMapTable, settings: PsoSettings, count_error: Callable[[str], None]) -> None:
        self._first, self._settings, self._count_error = table, settings, count_error
        self._tables: dict[int, PolicyMapTable] = {}

    def table_of(self, dpid: int) -> PolicyMapTable:
        """The table by which packets of a switch are sorted."""
        return self._tables.get(dpid, self._first)

    def keep(self, dpid: int, control_ip: str, is_wanted: Callable[[], bool], changed: Callable[[Any], None]) -> None:
        """Push the table of a switch, then watch it, for as long as it is wanted; nothing without a database.

        A switch that has been here before keeps the table that its database holds.
        """
        remote, pause_s = self._settings.database_of(control_ip), _POLL_S
        while remote and is_wanted():
            try:
                with connected(remote, _TIMEOUT_S, SMALL_BYTES) as client:
                    switch = SwitchTable(client, dpid=dpid)
                    self._push_once(switch, dpid)
                    while is_wanted():
                        self._follow(switch, dpid, changed)
                        pause_s = _POLL_S
                        hub.sleep(_POLL_S)
            except Exception as error:  # noqa: BLE001 - a switch's database may say anything
                self._count_error("table of a switch")
                LOG.error("the PMT of switch %s: %s; trying again in %g s", dpid, error, pause_s)
            hub.sleep(pause_s)
            pause_s = min(2 * pause_s, _MAX_RETRY_S)

    def _push_once(self, switch: SwitchTable, dpid: int) -> None:
        if dpid not in self._tables:
            switch.push(self._first)
            self._tables[dpid] = self._first

    def _follow(self, switch: SwitchTable, dpid: int, changed: Callable[[Any], None]) -> None:
        held = switch.read().table
        if held is not None and held != self._tables[dpid]:
            self._tables[dpid] = held
            LOG.info("switch %s has got another PMT, of %s rules", dpid, len(held.rules))
            changed(held)
