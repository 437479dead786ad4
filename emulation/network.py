"""An emulated network: a topology brought to life in namespaces, with everything undone at the end."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from emulation import bfd_probe
from emulation.build import apply_traffic, build_cables, lost_trees, place_shapes, traffic_plan
from emulation.daemons import OPEN_VSWITCH_SCHEMA, make_databases, remove_run_time_files, start_group
from emulation.decide.delay_line import (
    MAX_ERROR_US,
    TRIAL_PPS,
    control_relays,
    link_relays,
    needs_delay_line,
    with_relays,
)
from emulation.decide.in_band import in_band_channel
from emulation.decide.options import BFD_CANDIDATES_MS, EmulationOptions
from emulation.decide.queue_trial import QueueVerdict
from emulation.decide.queues import QueueFacts
from emulation.decide.switch import VSWITCHD, DaemonGroup, plan_groups, port_settings
from emulation.decide.traffic import send_buffer_bytes
from emulation.decide.wiring import CONTROLLER, DELAY_PLACE, plan_wiring
from emulation.delay_line import find_delay_line, start_delay_line
from emulation.delay_trial import try_delay_line
from emulation.features import kernel_features
from emulation.guard import end_run, start_guard
from emulation.in_band import ControlPath
from emulation.queue_follower import follow_queues
from emulation.queue_testbed import machine_queue_facts
from emulation.queue_trial import try_queues
from emulation.requirements import require_emulation
from emulation.runfile import RunFile
from emulation.running import AgentCommand, NetworkPart, RunningNetwork
from emulation.send_buffers import widen_send_buffer
from emulation.supervisor import Supervisor
from machine.authority import files_of, make_certificates
from machine.ending import ending_waits
from machine.event_log import EVENTS_VARIABLE, EventLog
from machine.places import CommandError, namespace_inode
from machine.small_disk import mount_small_disk, unmount_small_disk
from mininet_topos.errors import BadInputError, MissingRequirementError
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.in_band.plan import plan_in_band
from ryu_apps.pmt.scheduling import SchedulerKind

if TYPE_CHECKING:
    from emulation.mininet_nodes import Place

_START_PARALLEL = 8
_DELAY_TRIAL_S = 0.3
_CONTROLLER_ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",  # so that a log shows the last words of a killed process
    "OS_DEFAULT__OFP_LISTEN_HOST": "0.0.0.0",  # it has a namespace of its own, whose only neighbours are the switches
}


class EmulatedNetwork(RunningNetwork):
    """A running network of a topology; enter it to start, leave it to remove everything.

    Parameters
    ----------
    run_dir
        Folder for databases, sockets and logs (sK/ for switch sK), kept at the end. None: a temporary
        one, removed at the end.
    databases : mapping of name to schema file
        Further databases that every switch's ovsdb-server serves, also on the control link (port 6641).
    agent_command : function of SwitchSite to command line or None
        Agent of each switch, run in the switch's namespace.
    controller_command
        Controller, run in the controller's namespace (10.255.255.254).
    environment
        Variables for agents and controller.
    events
        Event file; every child finds it in ARMOR_EVENTS.
    around
        Entered before any program starts, and left when all have ended but their logs are still there.
    parts
        What else belongs to the network: begins after the switches and ends before them.
    command
        What the user started, for the run file.
    """

    def __init__(
        self,
        topology: Topology,
        options: EmulationOptions | None = None,
        *,
        run_dir: Path | None = None,
        databases: Mapping[str, Path] | None = None,
        agent_command: AgentCommand | None = None,
        controller_command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        events: Path | None = None,
        around: NetworkPart = nullcontext,
        parts: Sequence[NetworkPart] = (),
        command: str = "",
    ) -> None:
        self.topology, self.options = topology, options or EmulationOptions()
        self.ports, self.hosts = assign_ports(topology), hosts_of(topology)
        in_band_at = self.options.in_band_at
        self.control_plan = None if in_band_at is None else plan_in_band(topology, in_band_channel(self.options))
        self.wiring = plan_wiring(
            topology, self.ports, self.hosts, self.options.mtu_bytes, self.options.shared_ovs, in_band_at=in_band_at
        )
        self.settings = {node: port_settings(self.ports, self.wiring, node) for node in topology.node_names}
        self._chosen_run_dir = run_dir.resolve() if run_dir else None
        self._databases = {"Open_vSwitch": OPEN_VSWITCH_SCHEMA, **(databases or {})}
        self._agent_command, self._controller_command = agent_command, controller_command
        self._events_path, self._command, self._around, self._parts = events, command, around, tuple(parts)
        self._environment = {**_CONTROLLER_ENVIRONMENT, **(environment or {})}
        if events is not None:
            self._environment[EVENTS_VARIABLE] = str(events.resolve())
        self._whole_wiring = self.wiring
        self._notes: list[str] = []
        self._programs = []
        self._places: dict[str, Place] = {}
        self._run_file: RunFile | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._undo = ExitStack()
        self._caught: list[int] = []

    # ---- life

    def __enter__(self) -> EmulatedNetwork:
        """Start everything; on any failure undo what was started.

        Raises
        ------
        MissingRequirementError
            The machine lacks something that the options need.
        CommandError, ProcessError, EmulationTimeoutError, BfdUnstableError
            A program failed or did not become ready.
        """
        require_emulation()
        began_s = time.monotonic()
        try:
            self._catch_signals()
            self._start()
        except BaseException:
            self._close()
            raise
        self.start_seconds = time.monotonic() - began_s
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every process, and with them every namespace, cable and folder of the run."""
        self._close()

    def try_queues(self) -> QueueVerdict:
        """Try the priority queues of every link port now (a second or two; other traffic makes it fail).

        Raises
        ------
        SendBufferError
            The send buffer of a switch cannot be widened.
        """
        setup = self.options.link_queues
        if setup is None:
            raise BadInputError("this network has no priority queues; give EmulationOptions.queues")
        for place, wanted_bytes in self._send_buffers.items():
            if wanted_bytes:
                widen_send_buffer(self._supervisor.pid_of(VSWITCHD, place), wanted_bytes)
        queue_pkts = max((tree.queue_pkts for tree in self.queue_trees.values()), default=1)
        return try_queues(self, setup, queue_pkts)

    def _catch_signals(self) -> None:
        """Let SIGTERM and SIGHUP unwind like Ctrl-C does, so that the clean-up runs."""
        if threading.current_thread() is not threading.main_thread():
            return

        def unwind(number: int, _frame: FrameType | None) -> None:
            raise SystemExit(128 + number)

        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                self._caught.append(number)
                signal.signal(number, unwind)

    def _close(self) -> None:
        """Undo everything; the run file goes only when all else is gone, so that `armor clean` finds the rest.

        The last sweep finds what an interrupt stopped between its creation and the note of its undoing.
        """
        try:
            with ending_waits():  # it takes about a second
                try:
                    self._undo.close()
                finally:
                    self._end_run()
        finally:
            while self._caught:
                signal.signal(self._caught.pop(), signal.SIG_DFL)

    def _end_run(self) -> None:
        if self._run_file is not None:
            end_run(self._run_file, self._guard)
        self._run_file = self._guard = None

    def _start(self) -> None:
        self._features = kernel_features()
        self.datapath, self.datapath_reason = self._choose_datapath()
        self._choose_delays()
        with ending_waits():
            self._run_file = RunFile(self._command)
            self._guard = start_guard(self._run_file)
        self.run_id = self._run_file.run_id
        self._events = EventLog("emulation", self._events_path)
        self._undo.callback(self._events.close)
        self._make_folders()
        self._undo.enter_context(self._around(self))
        with ending_waits():  # Mininet's nodes do not survive being interrupted
            self._make_places()
        self._supervisor = Supervisor(self._run_file, self._events, restart=self.options.supervise)
        self._undo.callback(self._supervisor.close)
        self._undo.callback(self._end_programs)
        self._build()
        self._start_switches()
        self._settle_bfd()
        self._settle_queues()
        for part in self._parts:
            self._undo.enter_context(part(self))
        if self._agent_command is not None:
            self.start_agents(self._agent_command)
        if self._controller_command is not None:
            self.start_controller(self._controller_command)

    def _choose_datapath(self) -> tuple[str, str]:
        asked, available = self.options.datapath, self._features.openvswitch
        if asked == "kernel" and not available:
            raise MissingRequirementError(
                f"kernel {self._features.release} has no Open vSwitch datapath; load module openvswitch or use netdev"
            )
        if asked != "auto":
            return asked, "asked for"
        if available:
            return "kernel", f"kernel {self._features.release} has the openvswitch datapath"
        return "netdev", f"kernel {self._features.release} has no openvswitch datapath, so the userspace one is used"

    def _choose_delays(self) -> None:
        """Leave delays to netem, or split the delayed links in two for the delay line, and see how exact that is."""
        self._relays, self.delay_trial = (), None
        program, options = find_delay_line(), self.options
        if not needs_delay_line(options, netem=self._features.netem, program=program, release=self._features.release):
            return
        if options.control_delay_ms:
            self._relays += control_relays(self.wiring, options.control_delay_ms)
        if options.link_delays:
            self._relays += link_relays(self.topology, self.ports, self.wiring)
        if self._relays and program is not None:
            self.wiring = with_relays(self.wiring, self._relays)
            self.delay_trial = try_delay_line(program, rate_pps=TRIAL_PPS, seconds=_DELAY_TRIAL_S)
            if self.delay_trial.error_p99_us > MAX_ERROR_US or self.delay_trial.lost:
                self._notes.append(f"delays are not exact: {self.delay_trial.describe()}")

    def _make_folders(self) -> None:
        self.run_dir = self._chosen_run_dir or self._file().temporary_folder
        self.tls_dir = self.run_dir / "tls" if self.options.tls else None
        groups = plan_groups(self.topology, self.ports, self.wiring, self.run_dir, self.options.pmt)
        self.groups: tuple[DaemonGroup, ...] = tuple(replace(group, tls=self.tls_dir) for group in groups)
        self.sites = {site.name: site for group in self.groups for site in group.sites}
        self._file().add_all(
            {"kind": "switch", "name": site.name, "bridge": site.bridge, "database": str(site.db_socket)}
            for site in self.sites.values()
        )
        if self._chosen_run_dir is None:
            self._file().add_folder(self.run_dir)
            if self.options.disk_mb is not None:
                self._undo.callback(unmount_small_disk, self.run_dir)
                mount_small_disk(self.run_dir, self.options.disk_mb)
        for group in self.groups:
            group.folder.mkdir(parents=True, exist_ok=True)
        if self.tls_dir is not None:
            self._make_certificates(self.tls_dir)
        if self._chosen_run_dir is not None:
            self._undo.callback(remove_run_time_files, self.run_dir, self.groups)

    def _make_certificates(self, folder: Path) -> None:
        """Make an authority that nobody keeps, and have the controller use TLS."""
        self._undo.callback(shutil.rmtree, folder, ignore_errors=True)
        make_certificates(folder, (CONTROLLER, *(group.folder.name for group in self.groups)), days=1)
        files = files_of(folder, CONTROLLER)
        named = {"CTL_PRIVKEY": files.private_key, "CTL_CERT": files.certificate, "CA_CERTS": files.ca_certificate}
        self._environment |= {f"OS_DEFAULT__{option}": file for option, file in named.items()}

    def _make_places(self) -> None:
        from emulation import mininet_nodes  # Mininet is optional until here

        shared = self.options.shared_ovs
        switches = {} if shared else {node: site.dpid for node, site in self.sites.items()}
        others = [CONTROLLER, *(self.wiring.switch_places if shared else ())]
        others += [DELAY_PLACE] if self._relays else []
        hosts = [host.name for host in self.hosts.values()]
        run_file = self._file()
        self._places = mininet_nodes.make_places(hosts, switches, others, run_file.environment)
        self._undo.callback(mininet_nodes.end_places, self._places)
        self.pids = {name: place.pid for name, place in self._places.items()}
        for name, pid in self.pids.items():
            run_file.add_process(pid, "shell", name)
            run_file.add("namespace", place=name, inode=namespace_inode(pid) or 0)

    def _build(self) -> None:
        build_cables(self.wiring, self.hosts, self.pids, self._file())
        options = self.options
        if self._relays:
            shell_pid = self.pids[DELAY_PLACE]
            start_delay_line(
                self._relays, shell_pid, self.run_dir, self._supervisor, realtime=options.realtime, seed=options.seed
            )
            # Nothing is left for traffic control to delay.
            options = replace(options, control_delay_ms=None, link_delays=False)
        self._plan_traffic(options)
        if options.shape and not self._features.netem and options.link_delays is None and self.topology.is_delayed:
            self._notes.append(
                f"link delays are not emulated: kernel {self._features.release} has no netem, "
                "and the delay line was not asked for (link_delays)"
            )

    def _plan_traffic(self, options: EmulationOptions) -> None:
        """Plan each port's tree, and what the send buffers of switches must hold for them."""
        kernel, network = self.datapath == "kernel", (self.topology, self.ports, self.wiring, options)
        queues = options.link_queues
        facts = machine_queue_facts(queues, kernel) if queues else QueueFacts(wide_buffers=False)
        self.traffic = traffic_plan(*network, self._features, kernel_datapath=kernel, facts=facts)
        shapes_of = place_shapes(*network, netem=self._features.netem, kernel_datapath=kernel, facts=facts)
        self._queue_shapes = {shape.interface: shape for shapes in shapes_of.values() for shape in shapes if shape.tree}
        self.queue_trees = {place: shape.tree for place, shapes in shapes_of.items() for shape in shapes if shape.tree}
        widened = facts.wide_buffers and not kernel
        self._send_buffers = {place: send_buffer_bytes(shapes) * widened for place, shapes in shapes_of.items()}
        if queues and not facts.wide_buffers:
            self._notes.append("priority queues are short: this kernel does not let send buffers be widened")

    def _start_switches(self) -> None:
        templates = make_databases(self.run_dir, self._databases)
        control = None
        if self.control_plan is not None:
            control = ControlPath(self.control_plan, self.sites, self.pids)

        def start(group: DaemonGroup) -> None:
            start_group(
                group,
                shell_pid=self.pids[group.place],
                templates=templates,
                settings={site.name: self.settings[site.name] for site in group.sites},
                datapath_type="system" if self.datapath == "kernel" else "netdev",
                bfd_interval_ms=self.options.bfd_interval_ms or BFD_CANDIDATES_MS[0],
                realtime=self.options.realtime,
                send_buffer_bytes=self._send_buffers[group.place],
                supervisor=self._supervisor,
                after_restart=None if control is None else partial(control.install_again, group.sites[0].name),
            )

        with ThreadPoolExecutor(_START_PARALLEL) as pool:
            list(pool.map(start, self.groups))
        if control is not None:
            control.install_all()
        apply_traffic(self.traffic, self.wiring, self.pids, self._file())
        lost = lost_trees(self.traffic, self.pids)
        if lost:
            raise CommandError(f"traffic control of {', '.join(lost[:5])} was removed; is another program at work?")

    def _settle_bfd(self) -> None:
        if self.options.bfd_interval_ms is not None or not self.topology.links:
            self.bfd_interval_ms = self.options.bfd_interval_ms or BFD_CANDIDATES_MS[0]
            self.bfd_choice = None
            return
        self.bfd_choice = choice = bfd_probe.probe_bfd_interval(
            self.groups, self.settings, BFD_CANDIDATES_MS, self.options.bfd_probe_s
        )
        self.bfd_interval_ms = choice.interval_ms
        if choice.interval_ms != BFD_CANDIDATES_MS[0] or not choice.stable:
            self._notes.append(choice.describe())

    def _settle_queues(self) -> None:
        """Prove strict priority on every port while nothing else uses the network; `faults` says where it is not."""
        self.queue_verdict = None
        queues = self.options.link_queues
        if queues is None:
            return
        is_strict = queues.scheduler is SchedulerKind.STRICT  # a share promises nothing that the trial could see
        if is_strict and len(queues.traffic_queues) > 1 and not self.options.queues_by_controller:
            self.queue_verdict = self.try_queues()
        self._undo.enter_context(follow_queues(self, self._queue_shapes, self._events))
