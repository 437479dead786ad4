"""A network under torture: breaks what a storm says, repairs all of it, and looks what is not as it should be."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from emulation.decide.switch import AGENT, CONTROLLER_APP, OVSDB_SERVER, PROTECT_SERVICE, REPLAY_AGENT, VSWITCHD
from emulation.decide.wiring import CONTROLLER
from emulation.failure_injection import FailureInjection
from emulation.supervisor import ProcessError
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.instruments.dump import DumpError
from experiments.testbed.runs.folder import ResultFolder
from experiments.testbed.runs.parts import dump_reports, emulated_network
from experiments.testbed.runs.run import PlannedRun, make_ready
from experiments.testbed.runs.tunnel_agents import wanted_plans
from experiments.testbed.runs.virtual_ports import virtual_names
from experiments.torture.breakage import Breakage
from experiments.torture.decide.controller import controller_lacks
from experiments.torture.decide.faults import Fault, steps_of, targets_of
from experiments.torture.decide.usage import Usage
from machine.jumping_clock import JumpingClocks
from machine.places import CommandError, call_inside
from mininet_topos.errors import ArmorError
from ryu_apps.backup_database.store import BackupStore, BackupStoreError
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.protection import ends_of
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.sqr.plan import replayed_links, virtual_ports

_LOOK_S, _RETURN_LOOK_S = 1.0, 0.2
_CALM_SLACK_S = 60.0
_PARALLEL = 4
# An ovsdb-server writes its file anew only once that has 10 MB and ten minutes have passed; until then it grows.
_DISK_MB_OF_SWITCH = 24
_QUIET_PPS = 2_000.0  # BFD and discovery are tens of frames a second; a packet in a loop is many thousands
_RECEIVED, _SENT = 1, 9  # columns of /proc/net/dev: packets
_REST = "http://127.0.0.1:8080/armor/state"
_Network = TypeVar("_Network", bound="TorturedNetwork")


class TorturedNetwork:
    """The network of one scheme; enter it to build it.

    Parameters
    ----------
    scenario, variation
        What runs.
    planned
        Its plans.
    folder, name
        Where logs and events go, under which name.
    """

    def __init__(
        self, scenario: Scenario, planned: tuple[Variation, PlannedRun], folder: ResultFolder, name: str
    ) -> None:
        self._scenario, (self._variation, self._planned) = scenario, planned
        self._folder, self._name, self._stack = folder, name, ExitStack()

    def __enter__(self: _Network) -> _Network:
        try:
            self._work = self._stack.enter_context(self._folder.work(self._name))
            keeping = partial(self._folder.keeping_logs, self._name)
            clocks = self._stack.enter_context(JumpingClocks(self._work.path / "clocks"))
            built = emulated_network(
                self._scenario,
                self._variation,
                self._work,
                self._scenario.bfd_interval_ms,
                keeping,
                disk_mb=_DISK_MB_OF_SWITCH * len(self._scenario.topology.node_names),
            )
            self._network = self._stack.enter_context(built)
            self._injection = self._stack.enter_context(FailureInjection(self._network))
            self._breakage = Breakage(self._network, self._injection, clocks, self._work.path)
            self._stack.callback(self._breakage.continue_all)
            make_ready(self._network, self._planned.plans, self._variation, lambda _what: None)
            self._injection.prepare()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

    @property
    def targets(self) -> Mapping[str, Sequence[str]]:
        """What a storm may break, by kind of fault."""
        return targets_of(self._scenario.topology, self.processes, drops_a_part=self._injection.drops_a_part)

    @property
    def processes(self) -> tuple[str, ...]:
        """What may be killed or stopped, as "agent@s3"."""
        of_switches = [VSWITCHD, OVSDB_SERVER, *([AGENT] if self._variation.uses_agent else [])]
        found = [f"{process}@{node}" for process in of_switches for node in self._network.sites]
        if self._variation.protection is not None:
            found += [f"{PROTECT_SERVICE}@{node}" for node in ends_of(self._variation.protection)]
        found += sorted({f"{REPLAY_AGENT}@{node}" for node, _ in self._buffered})
        return (*found, CONTROLLER_APP)

    @property
    def damping(self) -> Damping:
        """How long links wait before traffic returns to them."""
        return Damping.of_wait(self._scenario.wait_to_restore_s)

    @property
    def _buffered(self) -> tuple[tuple[str, int], ...]:
        """Link ports behind virtual ports of SQR, as (switch, port number)."""
        topology, replay = self._scenario.topology, self._variation.replay
        return () if replay is None else tuple(virtual_ports(topology, replayed_links(topology, replay.links)))

    # ---- storm

    def storm(self, faults: Sequence[Fault]) -> None:
        """Carry out faults at their seconds, with packets under way, and repair what is left."""
        began_s = time.monotonic()
        steps = steps_of(faults)
        with self._packets(steps[-1].at_s if steps else 0.0):
            for step in steps:
                time.sleep(max(0.0, began_s + step.at_s - time.monotonic()))
                self._breakage.carry_out(step)
        self._breakage.restore_all()

    def _packets(self, seconds: float) -> ExitStack:
        """Pings between hosts, each to the one half-way round the list, for as long as the storm lasts."""
        stack, hosts = ExitStack(), list(self._network.hosts.values())
        for number, host in enumerate(hosts):
            to = hosts[(number + len(hosts) // 2) % len(hosts)]
            words = ("ping", "-n", "-q", "-i", "0.05", "-w", str(max(1, round(seconds))), to.address)
            program = self._network.popen(host.name, words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(program.wait)
            stack.callback(program.terminate)
        return stack

    # ---- calm

    def calm(self) -> tuple[float, list[str]]:
        """Wait until everything is as it should be; seconds taken, and what is not when the time is over."""
        began_s = time.monotonic()
        deadline_s = began_s + self._longest_calm_s
        while True:
            found = self._complaints()
            if not found or time.monotonic() > deadline_s:
                return time.monotonic() - began_s, found
            time.sleep(_LOOK_S)

    def await_return(self) -> list[str]:
        """Wait until the controller knows of no failed or returning link; what is wrong when the time is over."""
        deadline_s = time.monotonic() + self._longest_calm_s
        while (found := _asked(self._controller_lacks)) and time.monotonic() < deadline_s:
            time.sleep(_RETURN_LOOK_S)
        return found

    @property
    def _longest_calm_s(self) -> float:
        return self.damping.max_wait_s + _CALM_SLACK_S

    def _complaints(self) -> list[str]:
        """What is not as it should be; the costly questions only once the cheap ones have good answers."""
        for look in (self._processes_lack, self._controller_lacks, self._switches_lack, self._hosts_lack, self._loops):
            if found := _asked(look):
                return found
        return []

    def _processes_lack(self) -> list[str]:
        """Processes that do not run."""
        gone = []
        for name in self.processes:
            process, _, node = name.partition("@")
            if not self._network.is_running(process, node or None):
                gone.append(f"{name} does not run")
        return gone

    def _controller_lacks(self) -> list[str]:
        """What the controller says of itself that it should not."""
        return controller_lacks(call_inside(self._network.shell_pid(CONTROLLER), _controller_state))

    def _switches_lack(self) -> list[str]:
        """Rows that are missing or stale."""
        try:
            reports = dump_reports(self._network, self._wanted(), frozenset())
        except DumpError as error:
            return [str(error)]
        return [
            f"{report.node} lacks {len(report.missing)} planned rows and has {len(report.stale)} stale ones"
            + (f", first {(*report.missing, *report.stale)[0]}")
            for report in reports
            if not report.is_clean
        ]

    def _wanted(self) -> Mapping[int, RulePlan]:
        """What the switches should hold while nothing is broken."""
        planner = self._planned.planner
        if planner is None:
            return self._planned.plans
        return wanted_plans(self._network, planner, self._scenario, self._work, frozenset())

    def _hosts_lack(self) -> list[str]:
        """Pairs of hosts of which one gets no answer, and buffered links that still do not carry what these send."""
        given_back = self._counted(_RECEIVED)
        found = self._unanswered()
        outer = [(node, virtual_names(self._network.sites[node].bridge, port)[0]) for node, port in self._buffered]
        after = self._counted(_RECEIVED)
        return found + [
            f"{node} still gives packets back by {interface}: its link does not have its traffic back"
            for node, interface in outer
            if after[node, interface] > given_back[node, interface]
        ]

    def _unanswered(self) -> list[str]:
        hosts = list(self._network.hosts.values())

        def unanswered(source: Any) -> list[str]:
            others = " ".join(host.address for host in hosts if host is not source)
            ping = "ping -n -q -W 2 $a >/dev/null -c"
            words = ["sh", "-c", f"for a in {others}; do {ping} 1 || {ping} 2 || echo $a; done"]
            return self._network.run(source.name, words, timeout_s=8.0 * len(hosts)).stdout.split()

        with ThreadPoolExecutor(_PARALLEL) as pool:
            lost = list(pool.map(unanswered, hosts))
        name_of = {host.address: host.name for host in hosts}
        pairs = [f"{source.name}-{name_of[to]}" for source, found in zip(hosts, lost, strict=True) for to in found]
        return [f"{len(pairs)} pairs of hosts do not answer: {', '.join(pairs[:5])}"] if pairs else []

    def _loops(self) -> list[str]:
        """Ports that send many packets although nobody asks for any."""
        before, began_s = self._counted(_SENT), time.monotonic()
        time.sleep(_LOOK_S)
        after, seconds = self._counted(_SENT), time.monotonic() - began_s
        rates = {key: (after[key] - before[key]) / seconds for key in before.keys() & after.keys()}
        return [
            f"{node} sends {rate:,.0f} packets a second on {interface}, with no traffic: a packet runs in a loop"
            for (node, interface), rate in sorted(rates.items())
            if rate > _QUIET_PPS
        ]

    def _counted(self, column: int) -> dict[tuple[str, str], int]:
        """A column of /proc/net/dev by switch and interface."""
        counted = {}
        for node in self._network.sites:
            text = call_inside(self._network.shell_pid(node), _interface_counters)
            for line in text.splitlines()[2:]:
                interface, _, numbers = line.partition(":")
                counted[node, interface.strip()] = int(numbers.split()[column])
        return counted

    # ---- what is counted

    def backups(self) -> tuple[int, int]:
        """Rows of backup databases that the controller had acknowledged, and how many of them are lost."""
        if not self._variation.uses_agent:
            return 0, 0
        acknowledged = lost = 0
        waiting = self._unacknowledged()
        for site in self._network.sites.values():
            if site.name in waiting:
                continue
            wanted = self._planned.plans[site.dpid]
            acknowledged += len(wanted.flows)
            try:
                found = BackupStore(f"unix:{site.db_socket}").read_plan(site.name)
            except BackupStoreError:
                found = None
            lost += len(set(wanted.flows) - set(() if found is None else found.plan.flows))
        return acknowledged, lost

    def _unacknowledged(self) -> Collection[str]:
        """Switches whose database has not acknowledged its plan, as the controller says; none if it does not answer."""
        with suppress(ArmorError, OSError, ValueError):
            state = call_inside(self._network.shell_pid(CONTROLLER), _controller_state)
            return frozenset(state["backups_unacknowledged"])
        return ()

    def usage(self) -> Mapping[str, Usage]:
        """Memory and files of all processes."""
        found = {}
        for name in self.processes:
            process, _, node = name.partition("@")
            with suppress(ProcessError, OSError):
                found[name] = _usage(self._network.pid_of(process, node or None))
        return found


def _asked(look: Callable[[], list[str]]) -> list[str]:
    """What a question finds; that it cannot be asked is found, too."""
    try:
        return look()
    except (ArmorError, OSError, ValueError) as error:
        return [f"{look.__name__.strip('_').replace('_', ' ')}: {error}"]


def _usage(pid: int) -> Usage:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    line = next((line for line in status.splitlines() if line.startswith("VmRSS")), None)
    if line is None:
        raise ProcessLookupError(f"process {pid} is ending")
    return Usage(int(line.split()[1]) / 1024, len(os.listdir(f"/proc/{pid}/fd")))


def _interface_counters() -> str:
    """Counters of the namespace of the thread that asks."""
    return Path("/proc/thread-self/net/dev").read_text(encoding="ascii")


def _controller_state() -> Any:
    try:
        with urllib.request.urlopen(_REST, timeout=10) as answer:
            return json.load(answer)
    except (urllib.error.URLError, http.client.HTTPException) as error:
        raise CommandError(f"the controller does not answer ({getattr(error, 'reason', error)})") from error
