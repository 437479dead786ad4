"""Look at the machine before anything is measured on it: tools, kernel, clock, and a trial network."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import networkx as nx

from emulation.decide.delay_line import DelayTrial
from emulation.decide.doctor import Diagnosis, MachineFacts, judge
from emulation.decide.options import EmulationOptions
from emulation.decide.queue_trial import QueueVerdict
from emulation.delay_line import find_delay_line
from emulation.delay_trial import try_delay_line
from emulation.features import TRIALS, kernel_features
from emulation.network import EmulatedNetwork
from emulation.queue_testbed import try_queue_testbed
from emulation.requirements import PROBE_PROGRAMS, PROGRAMS
from machine.places import CommandError, run_program
from mininet_topos.errors import ArmorError
from mininet_topos.topology import Topology

_VERSION_FLAGS = {"ip": "-V", "tc": "-V", "ping": "-V", "irtt": "version"}
_NO_VERSION = frozenset(("mnexec",))  # has a version flag, but of Mininet, which is reported anyway
_SLEEPS, _SLEEP_S = 200, 0.001
_RATES_PPS = (1000, 2000, 5000, 10_000)
_RATE_SECONDS = 1
_PAYLOAD_BYTES = 100
_LOSS_ALLOWED = 0.001


def diagnose(topology: Topology | None = None, *, watch_s: float = 10.0) -> Diagnosis:
    """Judge this machine.

    Parameters
    ----------
    topology
        Emulated for a moment, to find the BFD interval and the packet rate that this machine holds for it.
        None: no trial.
    watch_s
        How long a BFD interval must hold without a flap.
    """
    is_root = os.geteuid() == 0
    features = _kernel_reasons() if is_root else {}
    delay, delay_error = _delay_trial() if is_root else (None, "")
    queues, queues_error = _queue_trial() if is_root else (None, "")
    facts = MachineFacts(
        is_root=is_root,
        programs={program: _version(program) for program in {**PROGRAMS, **PROBE_PROGRAMS}},
        packages={**PROGRAMS, **PROBE_PROGRAMS},
        mininet=_mininet_version(),
        kernel=os.uname().release,
        features=features,
        cpus=os.cpu_count() or 1,
        load_1min=os.getloadavg()[0],
        clock_source=_clock_source(),
        oversleep_p99_ms=_oversleep_p99_ms(),
        delay=delay,
        delay_error=delay_error,
        queues=queues,
        queues_error=queues_error,
    )
    if topology is None or not judge(facts).ok:
        return judge(facts)
    return judge(_with_trial(facts, topology, watch_s))


def _with_trial(facts: MachineFacts, topology: Topology, watch_s: float) -> MachineFacts:
    tried = dict(vars(facts))
    try:
        options = EmulationOptions(bfd_probe_s=watch_s, shape=False)
        with EmulatedNetwork(topology, options, command="doctor") as network:
            tried["bfd"] = network.bfd_choice
            tried["rate_pps"], tried["rate_hops"] = measure_rate(network)
    except ArmorError as error:
        tried["trial_error"] = str(error)
    return MachineFacts(**tried)


def measure_rate(network: EmulatedNetwork) -> tuple[int | None, int]:
    """Highest tried rate that a path as long as the network's shortest paths get carries without loss.

    Returns
    -------
    Packets a second (None: the network has one switch only; 0: not even the lowest) and switches passed.
    """
    path = _longest_shortest_path(network.topology)
    if len(path) < 2:
        return None, 1
    install_path(network, path)
    src, dst = network.hosts[path[0]], network.hosts[path[-1]]
    best = 0
    for rate_pps in _RATES_PPS:
        if _loss(network, src.name, dst.name, dst.address, rate_pps) > _LOSS_ALLOWED:
            break
        best = rate_pps
    return best, len(path)


def _longest_shortest_path(topology: Topology) -> list[str]:
    lengths = dict(nx.all_pairs_shortest_path(nx.DiGraph(topology.to_networkx())))
    paths: list[list[str]] = [path for targets in lengths.values() for path in targets.values()]
    return max(paths, key=len)


def install_path(network: EmulatedNetwork, path: list[str]) -> None:
    """Put plain flows on the switches of a path, so that the hosts at its ends reach each other.

    Parameters
    ----------
    path
        Neighbouring switches.
    """
    for here, node in enumerate(path):
        towards_end = _port_towards(network, node, path[here + 1]) if here + 1 < len(path) else 1
        towards_start = _port_towards(network, node, path[here - 1]) if here else 1
        for address, port in (
            (network.hosts[path[-1]].address, towards_end),
            (network.hosts[path[0]].address, towards_start),
        ):
            flow = f"priority=1,ip,nw_dst={address},actions=output:{port}"
            run_program(["ovs-ofctl", "-O", "OpenFlow13", "add-flow", f"unix:{network.sites[node].mgmt_socket}", flow])


def _port_towards(network: EmulatedNetwork, node: str, neighbour: str) -> int:
    link = next(link for link in network.topology.links_from[node] if link.dst == neighbour)
    return network.ports.port_of[link.direction]


def _loss(network: EmulatedNetwork, src: str, dst: str, address: str, rate_pps: int) -> float:
    """Share of packets lost at a rate, by iperf3's count."""
    server = network.popen(dst, ["iperf3", "--server", "--one-off"], stdout=subprocess.DEVNULL)
    _wait_listening(network, dst)
    rate_bits = rate_pps * _PAYLOAD_BYTES * 8
    words = ["--udp", "--length", str(_PAYLOAD_BYTES), "--bandwidth", str(rate_bits), "--time", str(_RATE_SECONDS)]
    try:
        said = network.run(src, ["iperf3", "--client", address, "--json", *words], timeout_s=_RATE_SECONDS + 20.0)
    finally:
        server.terminate()
        server.wait()
    report = json.loads(said.stdout)
    if "error" in report:
        raise CommandError(f"iperf3 from {src} to {dst} failed: {report['error']}")
    return float(report["end"]["sum"]["lost_percent"]) / 100


def _wait_listening(network: EmulatedNetwork, host: str) -> None:
    deadline = time.monotonic() + 5.0
    while ":5201 " not in network.run(host, ["ss", "-Hltn"]).stdout:
        if time.monotonic() > deadline:
            raise CommandError(f"iperf3 does not listen in {host} after 5 s")
        time.sleep(0.02)


def _kernel_reasons() -> dict[str, str]:
    features = kernel_features()
    return {name: features.reason(name) for name in TRIALS}


def _delay_trial() -> tuple[DelayTrial | None, str]:
    """What the delay line does on this machine, or why it does nothing."""
    program = find_delay_line()
    if program is None:
        return None, ""
    try:
        return try_delay_line(program), ""
    except (ArmorError, OSError) as error:
        return None, str(error)


def _queue_trial() -> tuple[QueueVerdict | None, str]:
    """Whether this kernel serves priority queues strictly, or why that could not be tried."""
    try:
        return try_queue_testbed(), ""
    except (ArmorError, OSError) as error:
        return None, str(error)


def _version(program: str) -> str | None:
    """What a program says of its version, in one line; None when it is missing."""
    path = shutil.which(program)
    if path is None:
        return None
    if program in _NO_VERSION:
        return path
    flag = _VERSION_FLAGS.get(program, "--version")
    done = subprocess.run([path, flag], capture_output=True, text=True, check=False, timeout=10)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0].strip() if lines else path


def _mininet_version() -> str | None:
    if importlib.util.find_spec("mininet") is None:
        return None
    from mininet.net import VERSION  # Mininet is optional

    return str(VERSION)


def _clock_source() -> str:
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return source.read_text(encoding="ascii").strip() if source.exists() else "unknown clock"


def _oversleep_p99_ms() -> float:
    late = []
    for _ in range(_SLEEPS):
        before = time.monotonic()
        time.sleep(_SLEEP_S)
        late.append(time.monotonic() - before - _SLEEP_S)
    return sorted(late)[int(_SLEEPS * 0.99)] * 1000
