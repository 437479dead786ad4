"""An emulated network that a page shows and acts on."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.analysis.events import Event
from experiments.live.decide.actions import CARRIER, FLAP, ONE_WAY, Action, Fail, FailSwitch, Repair, Send, read_action
from experiments.live.decide.document import RunView, SeriesView, changes
from experiments.live.decide.log import Log
from experiments.live.decide.log_view import LogReader, links_of_tag, live_pair
from experiments.live.decide.pings import MOST_PACKETS, Pings
from experiments.live.decide.running import MOST_EVENTS, RETURN_SLACK_S, PathsOf, first_view
from experiments.live.decide.timeline import event_views
from experiments.live.loads import Loads
from experiments.live.log_tail import LogTail
from experiments.live.walks import PlanWalks, network_walks
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.instruments.processes import end_all
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.parts import emulated_network, options_of
from experiments.testbed.runs.run import PlannedRun, make_ready
from experiments.testbed.runs.watching import PortWatch
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.topology import LinkId, Topology

Json = dict[str, Any]
PING_S = 0.01
FLAPS, FLAP_S = 3, 1.0
_STOP_S = 2.0
_TRAFFIC_S = 60
_FIRST_PORT = 5201


class LiveNetwork:
    """One scheme's network; enter it to build it, and look at it again and again.

    Parameters
    ----------
    scenario
        Its topology and settings; nothing fails by plan.
    work
        Where its event log goes.
    pairs
        Switches whose hosts ping each other.
    """

    def __init__(
        self, scenario: Scenario, planned: tuple[Variation, PlannedRun], work: Work, pairs: Sequence[tuple[str, str]]
    ) -> None:
        self._scenario, (self._variation, self._planned) = scenario, planned
        self._work, self._pairs, self._stack = work, tuple(pairs), ExitStack()
        self._zero_s = time.monotonic()
        self._wall_zero_s = time.time()
        topology = scenario.topology
        walks = PlanWalks(network_walks(topology, self._variation.scheme, options_of(self._variation)))
        self._paths_of: PathsOf = walks.one
        paths = {pair: walks.every(pair) for pair in pairs}
        view = first_view(self._variation.name, self._variation.scheme, self._variation.mode, paths)
        self.view: RunView = replace(view, error="the network is being built")
        self._log = LogReader(topology, self._zero_s, links_of_tag(topology, self._planned.plans))
        self._events: list[Event] = []
        self._tail = LogTail(work.events)
        self._stack.callback(self._tail.close)
        self._pings: dict[tuple[str, str], tuple[Pings, Output]] = {}
        self._ports = count(_FIRST_PORT)
        self._later: list[tuple[float, Callable[[], object]]] = []

    def start(self, say: Callable[[str], None]) -> None:
        """Build the network and wait until it is ready."""
        built = emulated_network(self._scenario, self._variation, self._work, self._scenario.bfd_interval_ms)
        self._network: EmulatedNetwork = self._stack.enter_context(built)
        self._injection = self._stack.enter_context(FailureInjection(self._network))
        make_ready(self._network, self._planned.plans, self._variation, say)
        self._injection.prepare()
        self._stack.enter_context(PortWatch(self._network, self.topology.node_names, self._work))
        self._loads = Loads(self._network)
        for pair in self._pairs:
            self._ping(*pair)

    def close(self) -> None:
        """Undo everything."""
        self._stack.close()

    @property
    def topology(self) -> Topology:
        """Its topology."""
        return self._scenario.topology

    # ---- looking

    def look(self) -> Json:
        """What has changed since the last look, as fields of the run."""
        self._run_due()
        now_ms = 1000 * (time.monotonic() - self._zero_s)
        is_new = self._read_log()
        wait_ms = 1000 * (self._scenario.wait_to_restore_s + RETURN_SLACK_S)
        failures = self._log.views(now_ms, wait_ms)
        pairs, events = self.view.pairs, self.view.events
        if failures != self.view.failures:
            pairs = tuple(live_pair(pair, failures, self.topology, self._paths_of) for pair in pairs)
        if is_new or failures != self.view.failures:
            events = event_views(Log(self.topology, self._events, self._zero_s), failures)
        view = replace(
            self.view,
            end_ms=now_ms,
            failures=failures,
            events=events[-MOST_EVENTS:],
            pairs=pairs,
            series=self._series(),
            loads_mbps=self._loads.mbps(),
            error="",
        )
        changed, self.view = changes(self.view, view), view
        return changed

    def _read_log(self) -> bool:
        """Read what processes have logged since the last look; whether that was anything."""
        events = self._tail.new_events()
        for event in events:
            self._events.append(event)
            self._log.read(event)
        del self._events[: -4 * MOST_EVENTS]  # of which the page shows the latest; failures are kept elsewhere
        return bool(events)

    def _series(self) -> tuple[SeriesView, ...]:
        found = []
        for (source, destination), (pings, output) in self._pings.items():
            for line in output.lines():
                pings.read(line)
            found.append(pings.series(source, destination))
        return tuple(found)

    # ---- acting

    def act(self, wanted: Json) -> str:
        """Carry out what a page asks for; returns why not, or nothing."""
        try:
            self._carry_out(read_action(self.topology, wanted))
        except ArmorError as error:
            return str(error)
        return ""

    def _carry_out(self, action: Action) -> None:
        if isinstance(action, Fail):
            self._fail(action)
        elif isinstance(action, FailSwitch):
            if action.node in self._injection.broken():
                raise BadInputError(f"{action.node} is down already; repair it first")
            self._injection.node(action.node)
        elif isinstance(action, Repair):
            self._repair(action.target)
        else:
            self._send(action)

    def _fail(self, action: Fail) -> None:
        link = action.link
        if self._targets(link):
            raise BadInputError(f"{link} is down already; repair it first")
        if action.kind == CARRIER:
            self._injection.carrier(link)
        elif action.kind == ONE_WAY:
            self._injection.one_way(action.direction)
        else:
            self._injection.silent(link)
        if action.kind == FLAP:
            self._flap(link)

    def _flap(self, link: LinkId) -> None:
        """Repair the link after half a period, fail it again, and so on; it stays up in the end."""
        now_s = time.monotonic()
        for number in range(FLAPS):
            self._later.append((now_s + (number + 0.5) * FLAP_S, lambda: self._repair(link)))
            if number + 1 < FLAPS:
                self._later.append((now_s + (number + 1) * FLAP_S, lambda: self._injection.silent(link)))

    def _run_due(self) -> None:
        now_s = time.monotonic()
        due = [act for at_s, act in sorted(self._later, key=lambda one: one[0]) if at_s <= now_s]
        self._later = [one for one in self._later if one[0] > now_s]
        for act in due:
            with suppress(BadInputError):  # somebody has repaired or failed it in between
                act()

    def _repair(self, what: LinkId | str) -> None:
        targets = self._targets(what)
        if not targets:
            raise BadInputError(f"{what} has not failed by itself")
        for target in targets:
            self._injection.restore(target)

    def _targets(self, what: LinkId | str) -> list[str]:
        """Names under which the switch, the link, or a direction of it is broken."""
        names = {str(what)} if isinstance(what, str) else {str(what), *map(str, self.topology.directions(what))}
        return sorted(names & self._injection.broken())

    def _send(self, action: Send) -> None:
        if action.kind == "ping":
            self._ping(action.source, action.destination)
            return
        hosts = self._network.hosts
        source, destination = hosts[action.source], hosts[action.destination]
        port = str(next(self._ports))
        server = ("iperf3", "-s", "-1", "-p", port)
        client = ("iperf3", "-c", destination.address, "-p", port, "-t", str(_TRAFFIC_S))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._network.popen(destination.name, server, **quiet)
        options = ("-u", "-b", "5M") if action.kind == "udp" else ("--fq-rate", "5M")
        at_s = time.monotonic() + 0.5  # until the server listens
        self._later.append((at_s, lambda: self._network.popen(source.name, (*client, *options), **quiet)))

    def _ping(self, source: str, destination: str) -> None:
        """Ping in place of what the pair exchanges now."""
        if (source, destination) in self._pings:
            end_all([self._pings.pop((source, destination))[1].process], signal.SIGTERM, _STOP_S)
        hosts = self._network.hosts
        argv = ("ping", "-n", "-D", "-O", "-i", str(PING_S), hosts[destination].address)
        process = self._network.popen(hosts[source].name, argv, stdout=subprocess.PIPE)
        self._pings[source, destination] = Pings(self._wall_zero_s, PING_S), Output(process)


class Output:
    """Lines of a program that runs, collected by a thread until somebody asks for them."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._lines: deque[bytes] = deque(maxlen=MOST_PACKETS)
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            self._lines.extend(lines)

    def lines(self) -> Iterator[str]:
        """Those since the last call."""
        while self._lines:
            yield self._lines.popleft().decode("utf-8", errors="replace")


def work_in(folder: Path, run: str) -> Work:
    """A folder with an empty event log."""
    work = Work(folder / run)
    work.path.mkdir(parents=True)
    work.events.touch()
    return work
