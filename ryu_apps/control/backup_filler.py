"""Fills the backup database of a switch with its plan until that is acknowledged, and knows when it has gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from ryu.lib import hub

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
        self._turns: defaultdict[str, hub.Semaphore] = defaultdict(hub.Semaphore)
        self._faults = faults
        self._events = events

    def fill(
        self, remote: str, node: str, plan: Callable[[], RulePlan], ports: Mapping[int, str], wanted: Callable[[], bool]
    ) -> None:
        """Write the plan that a switch has now, and retry, with increasing pauses, for as long as it is wanted.

        Each attempt asks for the plan: another one may have come meanwhile, and been written.
        """
        until_done(lambda: self._write(remote, node, plan, ports), wanted, self._faults, "backup database", node)

    def _write(self, remote: str, node: str, plan: Callable[[], RulePlan], ports: Mapping[int, str]) -> None:
        with self._turns[node]:  # who has waited asks for the plan after that: no older plan is written over a newer
            self.unacknowledged.add(node)
            self.generation[node] = BackupStore(remote).replace_plan(node, plan(), ports)
            self.unacknowledged.discard(node)
        self._events.write("backup_filled", node=node, generation=self.generation[node])

    def has_lost(self, remote: str, node: str) -> bool:
        """Whether a database no longer has the plan that it acknowledged (`BackupStoreError`: it does not say)."""
        with self._turns[node]:
            acknowledged = None if node in self.unacknowledged else self.generation.get(node)
            return acknowledged is not None and BackupStore(remote).generation(node) != acknowledged
