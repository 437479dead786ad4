"""What can be asked of, and done to, a network that runs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from emulation import bfd_probe, status
from emulation.decide.delay_line import DELAY_LINE, DelayReport, DelayTrial, Relay
from emulation.decide.failure_injection import InjectionStamp
from emulation.decide.options import EmulationOptions
from emulation.decide.queue_trial import QueueVerdict
from emulation.decide.queues import QueueTree
from emulation.decide.switch import (
    AGENT,
    CONTROLLER_APP,
    OVSDB_SERVER,
    VSWITCHD,
    DaemonGroup,
    PortSetting,
    SwitchSite,
)
from emulation.decide.traffic import ClassCounters, parse_queue_counters
from emulation.decide.wiring import CONTROLLER, DELAY_PLACE, Wiring
from emulation.delay_line import ask_delay_line
from emulation.runfile import RunFile
from emulation.supervisor import ProcessSpec, Restart, Supervisor
from machine.event_log import EventLog
from machine.places import CommandError, inside, run_program
from mininet_topos.errors import BadInputError
from mininet_topos.ports import PortMap
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import Host
from ryu_apps.plan.in_band.values import InBandPlan

if TYPE_CHECKING:
    from pathlib import Path

    from emulation.decide.bfd import BfdChoice
    from emulation.features import KernelFeatures
    from emulation.mininet_nodes import Place, QuietMininet

AgentCommand = Callable[[SwitchSite], Sequence[str] | None]
NetworkPart = Callable[["RunningNetwork"], AbstractContextManager[Any]]
_PROGRAM_WAIT_S = 1.0
_PARALLEL = 8
SLOW_BFD_MS = 100


class RunningNetwork:
    """The part of an emulated network that its users call between its start and its end.

    Switches are named as in the topology ("s3"), hosts "h3", the controller's namespace "controller".
    """

    topology: Topology
    options: EmulationOptions
    ports: PortMap
    hosts: dict[str, Host]
    wiring: Wiring
    settings: dict[str, tuple[PortSetting, ...]]
    groups: tuple[DaemonGroup, ...]
    sites: dict[str, SwitchSite]
    run_id: str
    run_dir: Path
    datapath: str
    datapath_reason: str
    bfd_interval_ms: int
    bfd_choice: BfdChoice | None
    start_seconds: float
    pids: dict[str, int]
    traffic: dict[str, list[str]]
    queue_trees: dict[str, QueueTree]
    queue_verdict: QueueVerdict | None
    control_plan: InBandPlan | None
    _send_buffers: dict[str, int]
    _features: KernelFeatures
    _run_file: RunFile | None
    _events: EventLog
    _supervisor: Supervisor
    _environment: dict[str, str]
    tls_dir: Path | None
    _notes: list[str]
    delay_trial: DelayTrial | None
    # Set by a part whose packets nftables does not see: what takes them at a silent failure (dataplane.drop_program).
    drop_program: int | None = None
    _relays: tuple[Relay, ...]
    _whole_wiring: Wiring
    _programs: list[subprocess.Popen[Any]]
    _places: dict[str, Place]

    # ---- programs

    def popen(self, where: str, argv: Sequence[str], **parameters: Any) -> subprocess.Popen[Any]:
        """Start a program in a place; it is ended with the network.

        Parameters
        ----------
        where
            "h2", "s3" or "controller".
        **parameters
            As for `subprocess.Popen`; `env` adds to this process's environment.

        Raises
        ------
        BadInputError
            No such place.
        """
        environment = {**os.environ, **self._environment, **(parameters.pop("env", None) or {})}
        environment |= self._file().environment
        parameters.setdefault("start_new_session", True)
        parameters.setdefault("stdin", subprocess.DEVNULL)
        program = subprocess.Popen(inside(self.shell_pid(where), argv), env=environment, **parameters)
        self._file().add_process(program.pid, argv[0], where)
        self._programs.append(program)
        return program

    def run(self, where: str, argv: Sequence[str], timeout_s: float = 30.0) -> subprocess.CompletedProcess[str]:
        """Run a program to its end (`CommandError`: not in time); its output is captured, its exit code not judged."""
        program = self.popen(where, argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = program.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            program.kill()
            program.communicate()
            raise CommandError(f"{argv[0]} in {where} did not end within {timeout_s:g} s") from error
        finally:
            self._programs.remove(program)
        return subprocess.CompletedProcess(list(argv), program.returncode, out, err)

    def ping(self, src: str, dst: str, count: int = 3, interval_s: float = 0.2) -> int:
        """Number of answers that host `src` gets from host `dst` (`BadInputError`: there is no such host)."""
        address = next((host.address for host in self.hosts.values() if host.name == dst), None)
        if address is None:
            raise BadInputError(f"no host {dst!r} in this network; hosts are h1..h{len(self.hosts)}")
        words = ["ping", "-n", "-q", "-c", str(count), "-i", str(interval_s), "-W", "1", address]
        said = self.run(src, words, timeout_s=count * interval_s + 10).stdout
        return next((int(line.split()[3]) for line in said.splitlines() if "packets transmitted" in line), 0)

    def shell_pid(self, where: str) -> int:
        """A process that lives in a place as long as the network does.

        Raises
        ------
        BadInputError
            No such place.
        """
        place = self.wiring.place_of.get(where, where)
        if place not in self.pids:
            raise BadInputError(f"no place {where!r} in this network; places are {', '.join(list(self.pids)[:6])}, ...")
        return self.pids[place]

    def _file(self) -> RunFile:
        if self._run_file is None:
            raise BadInputError("the network is not running; enter it with a with statement")
        return self._run_file

    def _end_programs(self) -> None:
        for program in self._programs:
            program.terminate()
        deadline = time.monotonic() + _PROGRAM_WAIT_S
        while any(program.poll() is None for program in self._programs) and time.monotonic() < deadline:
            time.sleep(0.005)
        for program in self._programs:
            program.kill()
            program.wait()
        self._programs.clear()

    # ---- agents, controller, kills

    def start_controller(self, argv: Sequence[str]) -> None:
        """Start the controller in its namespace; its output goes to controller.log in the run folder.

        It stands for a machine of its own, so it does not queue for this one's processors behind emulated hosts
        (docs/decisions/processors-for-the-controller.md).
        """
        log = self.run_dir / "controller.log"
        self._keep(CONTROLLER_APP, CONTROLLER, argv, log, realtime=self.options.realtime)

    def start_agents(self, command: AgentCommand) -> None:
        """Start the agent of every switch that `command` gives a command line for; output in sK/agent.log."""
        for node, site in self.sites.items():
            argv = command(site)
            if argv is not None:
                self._keep(AGENT, node, argv, site.folder / f"agent-{site.bridge}.log")

    def start_helper(self, process: str, node: str, argv: Sequence[str], log: Path | None = None) -> None:
        """Start a program that belongs to a switch, supervised like its agent, under a name beside "agent"."""
        self._keep(process, node, argv, log or self.sites[node].folder / f"{process}-{self.sites[node].bridge}.log")

    def end_helper(self, process: str, node: str) -> None:
        """End a program that belongs to a switch, and leave it ended (`ProcessError`: it does not end)."""
        self._supervisor.hold(process, node)

    def _keep(self, process: str, where: str, argv: Sequence[str], log: Path, *, realtime: bool = False) -> None:
        words = tuple(inside(self.shell_pid(where), argv))
        self._supervisor.start(
            ProcessSpec(process, where, words, log, self._environment, gentle=True, realtime=realtime)
        )

    def _owner(self, process: str, node: str | None) -> str:
        """Under whose name the supervisor keeps a process: agents by switch, daemons by place."""
        if node is None or process == CONTROLLER_APP:
            return CONTROLLER
        return self.wiring.place_of.get(node, node) if process in (VSWITCHD, OVSDB_SERVER) else node

    def pid_of(self, process: str, node: str | None = None) -> int:
        """Id of "agent", "ovs-vswitchd", "ovsdb-server" of a switch, or of "controller"."""
        return self._supervisor.pid_of(process, self._owner(process, node))

    def is_running(self, process: str, node: str | None = None) -> bool:
        """Whether "agent", "ovs-vswitchd", "ovsdb-server" of a switch, or "controller", runs now."""
        return self._supervisor.is_running(process, self._owner(process, node))

    def kill(self, process: str, node: str | None = None) -> InjectionStamp:
        """SIGKILL a process; with `options.supervise` it is started again."""
        owner = self._owner(process, node)
        before = time.monotonic()
        self._supervisor.kill(process, owner)
        return self.note_injection("kill", f"{process}@{owner}", before, time.monotonic(), live=False)

    def hold(self, process: str, node: str | None = None) -> InjectionStamp:
        """SIGKILL a process and leave it stopped until `release`."""
        owner = self._owner(process, node)
        before = time.monotonic()
        self._supervisor.hold(process, owner)
        return self.note_injection("hold", f"{process}@{owner}", before, time.monotonic(), live=False)

    def release(self, process: str, node: str | None = None) -> InjectionStamp:
        """Start a held process again."""
        owner = self._owner(process, node)
        before = time.monotonic()
        self._supervisor.release(process, owner)
        return self.note_injection("hold", f"{process}@{owner}", before, time.monotonic(), live=True)

    def note_injection(self, kind: str, target: str, before_s: float, after_s: float, *, live: bool) -> InjectionStamp:
        """Make the stamp of something injected, and write its event."""
        stamp = InjectionStamp(kind, target, live, before_s, after_s)
        self._events.write("inject", before_s, kind=kind, target=target, live=live, before_s=before_s, after_s=after_s)
        return stamp

    @property
    def restarts(self) -> tuple[Restart, ...]:
        """Processes that ended and were started again, in order."""
        return tuple(self._supervisor.restarts)

    def processor_seconds(self) -> dict[str, float]:
        """Processor time used so far, seconds: of all agents, of all ovs-vswitchd, and so on."""
        return self._supervisor.processor_seconds()

    # ---- state

    def interface(self, node: str, port_no: int) -> str:
        """Name of a switch port's interface inside the switch's namespace."""
        return self.wiring.interface_of[node, port_no]

    def wait_bfd_up(self, timeout_s: float = 30.0) -> float:
        """Wait until all BFD sessions are up at their interval (1 to 3 s after a start or repair); seconds it took."""
        return bfd_probe.wait_bfd_up(self.groups, self.settings, self.bfd_interval_ms, timeout_s)

    def set_bfd_interval(self, interval_ms: int) -> None:
        """Change the BFD interval of all links, and wait until all sessions have it; they stay up."""
        if interval_ms != self.bfd_interval_ms:
            status.set_bfd_interval(self.groups, self.settings, interval_ms)
            self.bfd_interval_ms = interval_ms
            self.wait_bfd_up()

    @contextmanager
    def slow_bfd(self) -> Iterator[None]:
        """Send BFD packets rarely meanwhile.

        At 5 ms the switches of Darkstrand need 1.4 processor cores before everything else; on two cores the
        controller, the backup databases and the agents then starve at the start, and sessions flap.
        """
        wanted_ms = self.bfd_interval_ms
        self.set_bfd_interval(max(wanted_ms, SLOW_BFD_MS))
        yield
        self.set_bfd_interval(wanted_ms)

    def wait_connected(self, timeout_s: float = 30.0) -> float:
        """Wait until every switch has a connection to the controller; seconds it took."""
        return status.wait_until(
            lambda: status.unconnected_switches(self.groups), timeout_s, "controller connections of switches"
        )

    def bfd_status(self) -> dict[status.PortKey, status.BfdStatus]:
        """BFD state by (switch, port number)."""
        return status.bfd_status(self.groups, self.settings)

    def flap_counts(self) -> dict[status.PortKey, int]:
        """Changes of BFD's verdict since the start, by (switch, port number)."""
        return {key: state.flap_count for key, state in self.bfd_status().items()}

    def live_ports(self, node: str) -> dict[int, bool]:
        """Whether each port of a switch is live, as OpenFlow says (OFPPS_LIVE)."""
        return status.live_ports(self.sites[node])

    def dump_flows(self, node: str) -> str:
        """Flows of a switch, as `ovs-ofctl` prints them."""
        return status.dump(self.sites[node], "dump-flows")

    def class_counters(self, node: str, port_no: int) -> str:
        """What `tc -s class show` prints for a switch port."""
        words = ["tc", "-s", "class", "show", "dev", self.interface(node, port_no)]
        return run_program(inside(self.shell_pid(node), words))

    @property
    def delays_links(self) -> bool:
        """Whether the delays of links are emulated."""
        return self.link_delay_by is not None

    @property
    def link_delay_by(self) -> str | None:
        """What delays packets between switches: "netem", "delay_line", or nothing."""
        wanted = self.options.link_delays
        if not self.options.shape or wanted is False or not self.topology.is_delayed:
            return None
        return "netem" if self._features.netem else DELAY_LINE if wanted else None

    def queue_counters(self) -> dict[status.PortKey, dict[int, ClassCounters]]:
        """What each priority queue has sent and dropped since the start, by (switch, port number) and queue.

        Queue -1 is that of control packets where queue 0 carries traffic.
        """
        keys = [key for key in self.ports.direction_at if self.wiring.place_of[key[0]] in self.queue_trees]

        def read(key: status.PortKey) -> dict[int, ClassCounters]:
            return parse_queue_counters(self.class_counters(*key), self.queue_trees[self.wiring.place_of[key[0]]])

        with ThreadPoolExecutor(_PARALLEL) as pool:
            return dict(zip(keys, pool.map(read, keys), strict=True))

    def delay_report(self) -> DelayReport:
        """What the delay line has carried and how late it was; only where it delays links.

        Raises
        ------
        ProcessError
            There is no delay line in this network.
        """
        return ask_delay_line(self._supervisor.pid_of(DELAY_LINE, DELAY_PLACE), self.run_dir)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes results less trustworthy: delays not emulated, BFD raised, processes that ended."""
        return (*self._notes, *self._supervisor.problems)

    @property
    def faults(self) -> tuple[str, ...]:
        """What makes results untrustworthy whatever they are: queues that are not strict, processes that do not run."""
        verdict = self.queue_verdict
        queues = () if verdict is None or verdict.ok else (verdict.describe(),)
        return (*queues, *(f"{name} does not run; its log says why it ended" for name in self._supervisor.stopped))

    def describe(self) -> dict[str, Any]:
        """Facts about this emulation for a result's environment record."""
        return {
            "run_id": self.run_id,
            "kernel": self._features.release,
            "datapath": self.datapath,
            "datapath_reason": self.datapath_reason,
            "shared_ovs": self.options.shared_ovs,
            "bfd_interval_ms": self.bfd_interval_ms,
            "bfd_flaps": dict(self.bfd_choice.flaps) if self.bfd_choice else None,
            "realtime": self.options.realtime,
            "mtu_bytes": self.options.mtu_bytes,
            "capacity_scale": self.options.capacity_scale,
            "default_capacity_mbps": self.options.default_capacity_mbps,
            "control_delay_ms": self.options.control_delay_ms or 0.0,
            "control_delay_by": self._control_delay_by,
            "link_delay_by": self.link_delay_by,
            "delay_trial": self.delay_trial.describe() if self.delay_trial else None,
            "netem": self._features.netem,
            "in_band_at": self.options.in_band_at,
            "queues": self.options.link_queues.describe() if self.options.link_queues else None,
            "queue_trial": self.queue_verdict.describe() if self.queue_verdict else None,
            "start_seconds": round(self.start_seconds, 3),
            "warnings": list(self.warnings),
        }

    @property
    def _control_delay_by(self) -> str | None:
        if not self.options.control_delay_ms:
            return None
        return "netem" if self._features.netem else DELAY_LINE

    def as_mininet(self) -> QuietMininet:
        """The network as a `mininet.net.Mininet` (for its CLI, `pingAll`, scripts); do not stop it there."""
        from emulation import mininet_nodes  # Mininet is optional until here

        return mininet_nodes.as_mininet(self._places, self._whole_wiring, self.hosts)
