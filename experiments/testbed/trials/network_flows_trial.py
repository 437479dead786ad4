"""Trials of kind "network-flows": TCP flows across an emulated network, a link of which fails one way."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address
from pathlib import Path

from dataplane.model.marking import EVERY_PACKET, Marking
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from emulation.running import RunningNetwork
from experiments.campaign.kinds.network_flows import (
    BUFFERED,
    NO_FAILURE,
    UNMARKED,
    NetworkFlowsMeasured,
    NetworkFlowsParameters,
    WorkloadMeasured,
)
from experiments.campaign.parameters import plain, typed
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from experiments.scenario.values import Replay, Scenario, Variation
from experiments.testbed.instruments import echo
from experiments.testbed.instruments.port_watch import PortStates
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.parts import emulated_network, options_of, require_programs
from experiments.testbed.runs.run import make_ready
from experiments.testbed.trials.decide.network_flows import (
    Met,
    NetworkFlowsError,
    doubts,
    full_buffer,
    held_at,
    read_port_log,
)
from experiments.testbed.trials.decide.scenario import variant_of
from experiments.testbed.workloads import flow_sender
from experiments.testbed.workloads import run as workloads
from experiments.testbed.workloads.decide.flows import Outage, join, read_sent, read_taken, workload_row
from experiments.testbed.workloads.decide.sizes import draw_flows, find_table
from machine.places import inside, run_program
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.choices import NO_MODE
from ryu_apps.schemes.sqr import SCHEME

_MARKED = Marking(dscp=(46,))  # a mark that no flow has
_FLOWS_A_SECOND = 1000  # more than any machine sends, so that a trial never runs out of flows
_LAST_PORT = 60_000
_PORTS = (workloads.FLOW_PORT, workloads.BACKGROUND_PORT)  # a workload each: ports of the last one rest for a minute
_PATIENCE_S, _POLL_S, _SLACK_S, _SETTLE_S = 10.0, 0.02, 0.5, 1.0


def network_flows_runner(settings: TestbedSettings) -> Callable[[Trial], Json]:
    """What runs such trials, each on a network of its own: buffered ports decide the switches' rows."""

    def run(trial: Trial) -> Json:
        require_programs()
        own, scenario = parameters_of(trial, NetworkFlowsParameters), scenario_of(trial)
        (variation,) = scenario.variations
        plans = SCHEME.plan(scenario.topology, options_of(variation))
        logs: list[str] = []
        is_buffered = variant_of(trial).name == BUFFERED

        @contextmanager
        def keeping(network: RunningNetwork) -> Iterator[None]:
            yield
            site = network.sites[own.failing[0]]
            logs.extend(each.read_text(encoding="utf-8") for each in site.folder.glob(f"sqr-{site.bridge}.log"))

        with tempfile.TemporaryDirectory(dir=settings.work) as name:
            work = Work(Path(name))
            work.events.touch()
            with emulated_network(scenario, variation, work, own.bfd_ms, keeping) as network:
                make_ready(network, plans, variation, settings.say)
                found = _Session(network, trial, work.path).run()
                port, said = found.port, (*network.warnings, *network.faults)
        columns: Json = plain(_with_buffer(found, own, port, logs if is_buffered else (), said))
        return columns

    return run


def scenario_of(trial: Trial) -> Scenario:
    """The network of a trial: scheme sqr, which keeps all packets of the link that fails, or only marked ones."""
    own, topology = parameters_of(trial, NetworkFlowsParameters), load_topology(trial.topology)
    link = topology.parse_link("-".join(own.failing))
    marked = _MARKED if variant_of(trial).name == UNMARKED else EVERY_PACKET
    replay = Replay((str(link),), own.slots, own.delta_ms, marked=marked)
    return Scenario(
        topology_name=trial.topology,
        topology=topology,
        variations=(Variation(SCHEME.name, NO_MODE, replay=replay),),
        traffic=(),
        failures=(),
        duration_s=0.0,
        seed=trial.seed,
        bfd_interval_ms=own.bfd_ms,
        wait_to_restore_s=own.wait_to_restore_s,
    )


@dataclass
class _Found:
    """What a session has seen so far; `port` is the interface that fails."""

    port: str
    began_ns: int = 0
    flows: list[WorkloadMeasured] = field(default_factory=list)
    met: list[Met] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def _with_buffer(
    found: _Found, own: NetworkFlowsParameters, port: str, logs: Sequence[str], said: Sequence[str]
) -> NetworkFlowsMeasured:
    """The row of a trial, with what its buffer held where it had one."""
    log = read_port_log(logs[0], port, found.began_ns) if logs else None
    held = held_at(found.met, log, own.delta_ms) if log else ()
    wrong = (*found.warnings, *(doubts(found.met, log, own.delta_ms) if log else ()))
    warnings = (*said, *full_buffer(held, own.slots), *wrong)
    return NetworkFlowsMeasured(tuple(found.flows), held, warnings, trustworthy=not wrong)


class _Session:
    """One network: workloads and streams, and the failures that they meet."""

    def __init__(self, network: EmulatedNetwork, trial: Trial, folder: Path) -> None:
        self._own = own = parameters_of(trial, NetworkFlowsParameters)
        self._network, self._seed, self._folder = network, trial.seed, folder
        self._variant = variant_of(trial).name
        self._direction = next(each for each in network.topology.link_at if (each.src, each.dst) == own.failing)
        self._port_no = network.ports.port_of[self._direction]
        self._places = (
            network.shell_pid(network.hosts[own.source].name),
            network.shell_pid(network.hosts[own.destination].name),
        )
        self._address = network.hosts[own.destination].address
        self._found = _Found(network.interface(own.failing[0], self._port_no))

    def run(self) -> _Found:
        """Send everything."""
        own, network = self._own, self._network
        with ExitStack() as stack:
            self._states = PortStates({own.failing[0]: str(network.sites[own.failing[0]].mgmt_socket)})
            stack.callback(self._states.close)
            self._injection = stack.enter_context(FailureInjection(network))
            self._wait_live(wanted=True)
            time.sleep(own.wait_to_restore_s + _SLACK_S)  # BFD may have been down while the network was made ready
            self._found.began_ns = time.monotonic_ns()
            self._set_tcp()
            for name, port in zip(own.workloads, _PORTS, strict=True):
                self._found.flows.append(self._workload(name, port))
            for rate in own.streams_pps if self._variant == BUFFERED else ():
                self._stream(rate)
        return self._found

    def _set_tcp(self) -> None:
        """Let TCP of the source wait for longer than a failure takes to be detected; find the way once."""
        host, target = self._places[0], self._address
        deadline = time.monotonic() + _PATIENCE_S
        while not echo.echoed(self._places, target, 1, 0.0, 0.2).round_trip_ms:
            if time.monotonic() > deadline:
                raise NetworkFlowsError(f"after {_PATIENCE_S:g} s no packet comes back from {target}")
        said = json.loads(run_program(inside(host, ["ip", "-j", "route", "get", target])))[0]
        setting = ["dev", said["dev"], "src", said["prefsrc"], "rto_min", f"{self._own.rto_min_ms:g}ms"]
        workloads.free_ports(host)
        run_program(inside(host, ["ip", "route", "replace", f"{target}/32", *setting]))
        self._source = IPv4Address(said["prefsrc"])

    def _workload(self, name: str, port: int) -> WorkloadMeasured:
        own, (near, far) = self._own, self._places
        count = min(round(own.seconds * _FLOWS_A_SECOND), _LAST_PORT - workloads.FIRST_PORTS[port])
        flows = draw_flows(find_table(name), count, own.limit_bytes, own.pause_ms / 1000, self._seed)
        sending = workloads.Sending(flows, own.seconds, port)
        plan = self._folder / f"{name}.json"
        plan.write_text(sending.plan(self._source, IPv4Address(self._address)), encoding="ascii")
        before = workloads.tcp_counters(near)
        with (
            workloads.receiver(far, IPv4Address(self._address), port) as taking,
            workloads.flow_program(near, flow_sender, str(plan)) as sender,
        ):
            outages = [self._fail(name) for _ in range(own.failures)] if self._variant != NO_FAILURE else []
            sent = read_sent(workloads.said_by(sender))
            taken = read_taken(workloads.said_by(taking))
        counted = {key: value - before[key] for key, value in workloads.tcp_counters(near).items()}
        outcomes = join(flows.sizes_bytes, sent, taken, workloads.FIRST_PORTS[port])
        return typed(WorkloadMeasured, {"workload": name, **workload_row(outcomes, outages), **counted})

    def _stream(self, rate_pps: int) -> None:
        """A stream that meets one failure."""
        own = self._own
        longest_s = own.calm_s + own.repair_s + own.delta_ms / 1000 + own.wait_to_restore_s + _SETTLE_S
        packets = round(longest_s * rate_pps)
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(echo.echoed, self._places, self._address, packets, 1000 / rate_pps, _SETTLE_S)
            self._fail("stream", float(rate_pps))
            self._found.met[-1] = replace(self._found.met[-1], sent_ns=tuple(sending.result().sent_ns))

    def _fail(self, during: str, rate_pps: float | None = None) -> Outage:
        """Fail the link in one direction, repair it after its detection, and wait until it has its traffic back."""
        own = self._own
        self._calm(own.calm_s)
        shut_ns = round(self._injection.one_way(self._direction).after_s * 1e9)
        detected_ns = round(self._wait_live(wanted=False) * 1e9)
        self._found.met.append(Met(during, rate_pps, shut_ns, detected_ns))
        time.sleep(own.repair_s)
        self._injection.restore(self._direction)
        self._wait_live(wanted=True)
        time.sleep(own.wait_to_restore_s + _SLACK_S)
        return Outage(shut_ns, detected_ns)

    def _calm(self, seconds: float) -> None:
        """Wait, and note a port that is found down though nothing is broken."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            for change in self._states.changes(min(left_s, _POLL_S)):
                if change.port_no == self._port_no and not change.live:
                    self._found.warnings.append("BFD found the link down before it failed")

    def _wait_live(self, *, wanted: bool) -> float:
        """Wait until Open vSwitch finds the port live, or down; when that was heard."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            for change in self._states.changes(_POLL_S):
                if change.port_no == self._port_no and change.live is wanted:
                    return change.t_s
        raise NetworkFlowsError(f"within {_PATIENCE_S:g} s {self._found.port} was not {'live' if wanted else 'down'}")
