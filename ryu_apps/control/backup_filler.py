"""Fills the backup database of a switch with its plan, again and again until that is acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from machine.event_log import EventLog
from ryu_apps.backup_database.store import BackupStore
from ryu_apps.control.faults import Faults
from ryu_apps.control.retrying import until_done
from ryu_apps.plan.rows import RulePlan


class BackupFiller:
    """Writes plans to backup databases.

    Parameters
    ----------
    faults
        Where failed attempts are reported.
    """

    def __init__(self, faults: Faults, events: EventLog) -> None:
        self.generation: dict[str, int] = {}
        self.unacknowledged: set[str] = set()
        self._faults = faults
        self._events = events

    def fill(
        self, remote: str, node: str, plan: Callable[[], RulePlan], ports: Mapping[int, str], wanted: Callable[[], bool]
    ) -> None:
        """Write the plan that a switch has now, and retry, with increasing pauses, for as long as it is wanted.

        Each attempt asks for the plan: another one may have come meanwhile, and been written.
        """
        until_done(lambda: self._write(remote, plan(), ports), wanted, self._faults, "backup database", node)

    def _write(self, remote: str, plan: RulePlan, ports: Mapping[int, str]) -> None:
        self.unacknowledged.add(plan.node)
        self.generation[plan.node] = BackupStore(remote).replace_plan(plan.node, plan, ports)
        self.unacknowledged.discard(plan.node)
        self._events.write("backup_filled", node=plan.node, generation=self.generation[plan.node])
