"""Starts the watchers of ports (instruments.port_watch) and of rows (instruments.row_watch)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from experiments.analysis.events import read_events
from experiments.scenario.failure import Failure
from experiments.testbed.instruments.processes import end_all, require_running
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.readiness import NotReadyError, missing_after
from mininet_topos.topology import Topology

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

_START_S = 60.0
_STOP_S = 2.0


def watched_switches(failures: tuple[Failure, ...], topology: Topology) -> tuple[str, ...]:
    """Switches whose ports can notice one of the failures, in node order."""
    links = {link for failure in failures for link in failure.links_down(topology)}
    return tuple(node for node in topology.node_names if any(node in (link.a, link.b) for link in links))


class PortWatch:
    """The watcher runs while the context lasts."""

    def __init__(self, network: EmulatedNetwork, switches: tuple[str, ...], work: Work) -> None:
        self._network, self._switches, self._work = network, switches, work
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PortWatch:
        """Start the watcher and wait until it knows the state of a port of every switch.

        It goes before ordinary processes, where the system permits it: stamps of milliseconds count.

        Raises
        ------
        NotReadyError
            It does not in time.
        """
        if not self._switches:
            return self
        entries = [f"{node}={self._network.sites[node].mgmt_socket}" for node in self._switches]
        argv = [sys.executable, "-m", "experiments.testbed.instruments.port_watch", *entries]
        with (self._work.path / "port_watch.log").open("wb") as log:
            self._process = self._network.popen("controller", argv, stdout=log, stderr=subprocess.STDOUT)
        process, switches = self._process, set(self._switches)
        missing_after(lambda: switches - self._heard() if process.poll() is None else set(), _START_S)
        if missing := switches - self._heard():
            end_all([process], signal.SIGTERM, _STOP_S)
            raise NotReadyError(f"the port watcher hears nothing of {min(missing)}; {self._said()}")
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(self._process.pid, os.SCHED_RR, os.sched_param(1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the watcher; without it, nobody knows when ports were noticed (ProgramEndedError)."""
        if self._process is None:
            return
        try:
            if kind is None:
                require_running([("the port watcher", self._process)])
        finally:
            end_all([self._process], signal.SIGTERM, _STOP_S)

    def _said(self) -> str:
        said = (self._work.path / "port_watch.log").read_text(encoding="utf-8", errors="replace")
        return "it says: " + (" ".join(said.split()) or "nothing")

    def _heard(self) -> set[str]:
        text = self._work.events.read_text(encoding="utf-8")
        return {str(event.fields.get("node")) for event in read_events(text) if event.source == "watcher"}


@contextmanager
def watched_rows(network: EmulatedNetwork, table_id: int, work: Work) -> Iterator[None]:
    """Let changes of a table of every switch go into the event log.

    Raises
    ------
    NotReadyError
        The watcher does not start.
    ProgramEndedError
        It ends before the block does.
    """
    entries = [f"{node}={site.mgmt_socket}" for node, site in network.sites.items()]
    argv = [sys.executable, "-m", "experiments.testbed.instruments.row_watch", str(int(table_id)), *entries]
    with (work.path / "row_watch.log").open("wb") as log:
        process = network.popen("controller", argv, stdout=log, stderr=subprocess.STDOUT)
    try:
        nodes = set(network.sites)
        missing_after(lambda: nodes - _rows_watched(work) if process.poll() is None else set(), _START_S)
        if missing := nodes - _rows_watched(work):
            raise NotReadyError(f"the row watcher does not watch {min(missing)}; its log: {work.path}/row_watch.log")
        yield
        require_running([("the row watcher", process)])
    finally:
        end_all([process], signal.SIGTERM, _STOP_S)


def _rows_watched(work: Work) -> set[str]:
    events = read_events(work.events.read_text(encoding="utf-8"))
    return {str(event.fields["node"]) for event in events if event.name == "rows_watched"}
