"""Writes the queues of a plan to the database of a switch, and watches whether they stay.

The emulation's `queue_follower` reads the same rows at the other end: it builds the ports' queues, as Open vSwitch does
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

from ryu.lib import hub

from machine.event_log import EventLog
from machine.json_rpc import SMALL_BYTES, JsonRpcClient, connected, transact
from ryu_apps.control.decide.live_topology import Mismatch
from ryu_apps.control.decide.queues import (
    DATABASE,
    queue_mismatches,
    read_ports,
    removal_operations,
    select_operations,
    write_operations,
)
from ryu_apps.control.faults import Faults
from ryu_apps.control.retrying import FIRST_RETRY_S, MAX_RETRY_S
from ryu_apps.plan.rows import RulePlan

_POLL_S = 1.0
_TIMEOUT_S = 5.0


class QueueKeeper:
    """The queues of all switches whose databases can be reached.

    Parameters
    ----------
    faults
        Where failed attempts are reported.
    """

    def __init__(self, faults: Faults, events: EventLog) -> None:
        self._faults, self._events = faults, events
        self._found: dict[str, tuple[Mismatch, ...]] = {}

    def mismatches(self) -> tuple[Mismatch, ...]:
        """Planned queues that ports do not have now."""
        return tuple(mismatch for node in sorted(self._found) for mismatch in self._found[node])

    def keep(self, remote: str, plan: RulePlan, wanted: Callable[[], bool]) -> None:
        """Write the queues of a switch, then watch them, for as long as it is wanted.

        What is removed by hand later is named and not written again: somebody meant it.
        """
        pause_s, is_written = FIRST_RETRY_S, False
        found: tuple[Mismatch, ...] = ()
        while wanted():
            with self._faults.surfaced("queues", plan.node), connected(remote, _TIMEOUT_S, SMALL_BYTES) as client:
                if not is_written:
                    self._write(client, plan)
                    is_written = True
                while wanted():
                    found = self._compare(client, plan)
                    pause_s = FIRST_RETRY_S
                    hub.sleep(_POLL_S)
            if wanted():
                hub.sleep(pause_s)
                pause_s = min(2 * pause_s, MAX_RETRY_S)
        if self._found.get(plan.node) is found:  # and not what a later connection's keeper has found since
            del self._found[plan.node]

    def _write(self, client: JsonRpcClient, plan: RulePlan) -> None:
        results = transact(client, DATABASE, select_operations())
        operations = write_operations(read_ports(results, plan.dpid), plan.queues) + removal_operations(results)
        if operations:
            transact(client, DATABASE, [*operations, {"op": "commit", "durable": True}])
        self._events.write("queues_written", node=plan.node, queues=len(plan.queues), changed=bool(operations))

    def _compare(self, client: JsonRpcClient, plan: RulePlan) -> tuple[Mismatch, ...]:
        ports = read_ports(transact(client, DATABASE, select_operations()), plan.dpid)
        now = queue_mismatches(plan.node, ports, plan.queues)
        for mismatch in set(now) - set(self._found.get(plan.node, ())):
            self._events.write("mismatch", kind=mismatch.kind, node=mismatch.node, text=mismatch.text)
        self._found[plan.node] = now
        return now
