"""Kill -9 of ovsdb-server while backup plans are written to it: what was acknowledged has to be there afterwards."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np

from emulation.private_database import PrivateDatabase
from experiments.torture.decide.drills import lost_rows
from machine.json_rpc import NoServerError
from mininet_topos.errors import ArmorError
from ryu_apps.backup_database.store import BackupStore, BackupStoreError
from ryu_apps.plan.rows import RulePlan

_BRIDGE = "s1"
_CHUNK_ROWS = 100  # many small transactions: most of a write then passes in the server
_WRITES = 2.0  # the kill comes within so many times the duration of a write
_LOOK_S = 0.001
_WRITER_ENDS_S = 60.0


class Writer:
    """Replaces the plan of one switch, each time by one with another row missing, until the server does not answer.

    Parameters
    ----------
    first
        Which row the first plan lacks: another than the plan that the database holds, or nothing would be written.

    Attributes
    ----------
    acknowledged, under_way
        The plan of the last write that was acknowledged, and of the write after it.
    writes
        How many were acknowledged.
    refused
        Why the last one was not.
    longest_s
        Of an acknowledged write.
    was_asked
        Whether the write under way had reached the server when that was killed.
    """

    def __init__(self, store: BackupStore, plan: RulePlan, first: int) -> None:
        self._store, self._plan, self._first = store, plan, first
        self.acknowledged: RulePlan | None = None
        self.under_way: RulePlan | None = None
        self.writes, self.refused = 0, ""
        self.longest_s, self.was_asked = 0.0, False

    def run(self) -> None:
        """Write until a write is not acknowledged."""
        while True:
            left_out = (self._first + self.writes) % len(self._plan.flows)
            flows = self._plan.flows[:left_out] + self._plan.flows[left_out + 1 :]
            self.under_way = replace(self._plan, flows=flows)
            began_s = time.monotonic()
            try:
                self._store.replace_plan(_BRIDGE, self.under_way)
            except BackupStoreError as error:
                self.refused, self.was_asked = str(error), not isinstance(error.__cause__, NoServerError)
                return
            self.longest_s = max(self.longest_s, time.monotonic() - began_s)
            self.acknowledged, self.under_way = self.under_way, None
            self.writes += 1


def kill_during_a_write(database: PrivateDatabase, plan: RulePlan, chance: tuple[int, int]) -> dict[str, Any]:
    """One kill at a random moment after at least one acknowledged write, and what the restarted server holds; a row.

    Parameters
    ----------
    chance
        Seed, and number of the kill.
    """
    dice = np.random.default_rng(chance)
    store = BackupStore(database.remote, chunk_rows=_CHUNK_ROWS)
    writer = Writer(store, plan, int(dice.integers(len(plan.flows))))
    thread = threading.Thread(target=writer.run)
    thread.start()
    try:
        while not writer.writes and thread.is_alive():
            time.sleep(_LOOK_S)
        time.sleep(float(dice.uniform(0, _WRITES)) * writer.longest_s)
    finally:
        was_writing = thread.is_alive()
        database.kill()
        thread.join(_WRITER_ENDS_S)
        database.start()
    if not was_writing:
        raise ArmorError(f"the writer ended before its server was killed: {writer.refused or 'its error is above'}")
    found = store.read_plan(_BRIDGE)
    database.compact()  # killed every few seconds, it has no time for that, and each start would take longer
    acknowledged = writer.acknowledged.flows if writer.acknowledged is not None else ()
    under_way = writer.under_way.flows if writer.under_way is not None else None
    held = () if found is None else found.plan.flows
    return {
        "writes": writer.writes,
        "killed_during_a_write": writer.was_asked,
        "acknowledged_rows": len(acknowledged),
        "lost_rows": lost_rows(held, acknowledged, under_way),
        "refused": writer.refused,
    }
