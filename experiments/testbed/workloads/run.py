"""Runs a workload of short flows over a path that breaks, with or without background traffic; gives the trial's row."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path
from statistics import fmean
from types import ModuleType

from dataplane.sqr import SqrSwitch
from dataplane.two_paths import H1_ADDRESS, H2_ADDRESS, TwoPaths
from emulation.scratch import scratch
from experiments.campaign.values import Json
from experiments.testbed.workloads import bulk_sender, flow_receiver, flow_sender
from experiments.testbed.workloads.breaking import Breaker, BrokenPath, broken_path
from experiments.testbed.workloads.decide.breaking import FailureModel, Recovery, failure_times_s
from experiments.testbed.workloads.decide.bulk import bulk_row, read_samples
from experiments.testbed.workloads.decide.flows import (
    GIVE_UP_MS,
    WorkloadError,
    hits_of,
    join,
    read_netstat,
    read_sent,
    read_taken,
    workload_row,
)
from experiments.testbed.workloads.decide.sizes import FlowSequence
from machine.places import call_inside, child, inside, run_batch, run_program

FLOW_PORT, BACKGROUND_PORT = 700, 701
# Each flow has a source port of its own; the rest is for connections that name none.
FIRST_PORTS = {FLOW_PORT: 1024, BACKGROUND_PORT: 50_000}
_FREE_PORTS = "60000 65000"
_HOST_QUEUE_BYTES = 1 << 24
PATIENCE_S, GIVE_UP_S = 0.03, GIVE_UP_MS / 1000
_HEAD_START_S = 0.5
# Of net.ipv4.tcp_early_retrans (ip-sysctl of Linux' documentation): its default, and no loss probes.
_EARLY_RETRANS = {True: 3, False: 0}
_COUNTERS = {"timeouts": "TCPTimeouts", "loss_probes": "TCPLossProbes", "fast_retransmits": "TCPFastRetrans"}


@dataclass(frozen=True)
class TcpSettings:
    """How the hosts' TCP is set: the least retransmission time-out of their routes, and loss probes or none."""

    rto_min_ms: float
    loss_probes: bool = True


@dataclass(frozen=True)
class Sending:
    """Flows that one host sends: which, for how long, and how fast each may go (0: as fast as TCP does)."""

    flows: FlowSequence
    seconds: float
    port: int = FLOW_PORT
    pace_mbps: float = 0.0

    def plan(self, source: IPv4Address, destination: IPv4Address) -> str:
        """The plan of `flow_sender`."""
        fields: Json = {
            "source": str(source),
            "address": str(destination),
            "port": self.port,
            "first_port": FIRST_PORTS[self.port],
            "seconds": self.seconds,
            "patience_s": PATIENCE_S if not self.pace_mbps else self.seconds,
            "give_up_s": GIVE_UP_S,
            "pace_mbps": self.pace_mbps,
            "congestion_control": "cubic",
        }
        return json.dumps({**fields, **asdict(self.flows)})


def free_ports(host: int) -> None:
    """Let connections of a host that name no port take none of those that flows have."""
    run_program(inside(host, ["sysctl", "-qw", f"net.ipv4.ip_local_port_range={_FREE_PORTS}"]))


def set_tcp(testbed: TwoPaths, settings: TcpSettings) -> None:
    """Set the TCP of both hosts.

    Raises
    ------
    CommandError
        The kernel refuses.
    """
    for host in (testbed.h1, testbed.h2):
        free_ports(host)
        route = ["ip", "route", "change", "10.0.0.0/24", "dev", "h0", "rto_min", f"{settings.rto_min_ms:g}ms"]
        run_program(inside(host, route))
        probes = f"net.ipv4.tcp_early_retrans={_EARLY_RETRANS[settings.loss_probes]}"
        run_program(inside(host, ["sysctl", "-qw", probes]))


@contextmanager
def receiver(host: int, address: IPv4Address, port: int) -> Iterator[subprocess.Popen[str]]:
    """A receiver of flows that listens; killed at the end if it still runs.

    Raises
    ------
    WorkloadError
        It does not listen, because its port is taken for instance.
    """
    with flow_program(host, flow_receiver, str(address), str(port)) as process:
        said = process.stdout.readline() if process.stdout else ""
        if said.strip() != "ready":
            raise WorkloadError(
                f"the receiver of flows said {said.strip()!r} instead of 'ready'; is port {port} taken?"
            )
        yield process


def flow_program(host: int, module: ModuleType, *words: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """One of the programs of this package in the namespace of a host; it ends with the block, and with this program."""
    return child(inside(host, [sys.executable, "-I", "-S", str(module.__file__), *words]))


def said_by(process: subprocess.Popen[str]) -> str:
    """All that a program prints until its end."""
    return process.stdout.read() if process.stdout else ""


@contextmanager
def background(testbed: TwoPaths, sending: Sending | None, folder: Path) -> Iterator[None]:
    """Flows in both directions beside the measured ones, while the block runs; they protect themselves."""
    with ExitStack() as stack:
        ends = ((testbed.h1, H1_ADDRESS, testbed.h2, H2_ADDRESS), (testbed.h2, H2_ADDRESS, testbed.h1, H1_ADDRESS))
        for source, own, destination, other in ends if sending else ():
            stack.enter_context(receiver(destination, other, BACKGROUND_PORT))
            plan = folder / f"from-{own}.json"
            if sending:
                plan.write_text(sending.plan(own, other), encoding="ascii")
            stack.enter_context(flow_program(source, flow_sender, str(plan)))
        yield


def run_workload(
    testbed: TwoPaths,
    recovery: Recovery | None,
    model: FailureModel,
    sending: Sending,
    settings: TcpSettings,
    *,
    beside: Sending | None,
    seed: int,
) -> Json:
    """Send flows from h1 to h2 while the path breaks; the columns of the trial.

    Parameters
    ----------
    testbed
        Nothing is attached to it.
    recovery
        None: nothing breaks, and the times at which it would have are kept.
    beside
        Background traffic, in both directions.
    seed
        Of the times of failure.

    Raises
    ------
    WorkloadError
        A sender or receiver ended too early, or a replay was not over before its path returned.
    """
    set_tcp(testbed, settings)
    with ExitStack() as stack:
        folder = stack.enter_context(scratch("flows")).folder
        path = stack.enter_context(broken_path(testbed, recovery, model, [sending.port]))
        taking = stack.enter_context(receiver(testbed.h2, H2_ADDRESS, sending.port))
        plan = folder / "flows.json"
        plan.write_text(sending.plan(H1_ADDRESS, H2_ADDRESS), encoding="ascii")
        stack.enter_context(background(testbed, beside, folder))
        begin_s = time.monotonic() + _HEAD_START_S
        times_s = [begin_s + each for each in failure_times_s(model, sending.seconds, seed)]
        with Breaker(path, model, times_s) as breaker, flow_program(testbed.h1, flow_sender, str(plan)) as sender:
            sent = read_sent(said_by(sender))
        taken = read_taken(said_by(taking))
        netstat = tcp_counters(testbed.h1)
        outcomes = join(sending.flows.sizes_bytes, sent, taken, FIRST_PORTS[sending.port])
        replays = _replays_of(path)
    outages, notified_ms = breaker.outages, [round(each, 3) for each in breaker.notified_ms]
    in_time = model.repaired_in_time(recovery, [each.length_ms for each in outages], notified_ms)
    late = [outage for outage, is_in_time in zip(outages, in_time, strict=True) if not is_in_time]
    return {
        **workload_row(outcomes, outages, late),
        "hits_left_out": sum(outage in late for _, outage in hits_of(outcomes, outages)),
        "notified_ms": notified_ms,
        **_trust(max(notified_ms, default=0.0), model.bound_ms),
        **netstat,
        **replays,
    }


def _trust(latest_ms: float, bound_ms: float) -> Json:
    """Whether every failure was notified within its bound."""
    late = (
        [f"a failure was notified after {latest_ms:.1f} ms, its bound is {bound_ms:g}"] if latest_ms > bound_ms else []
    )
    return {"trustworthy": not late, "warnings": late}


@dataclass(frozen=True)
class Bottleneck:
    """What one long flow runs against, at its host: a rate, and a queue."""

    rate_mbps: float
    queue_packets: int


@dataclass(frozen=True)
class Bulk:
    """One long flow: how long, when its path fails, how often it is looked at, and for how long after the failure."""

    seconds: float
    failure_s: float
    sample_ms: float
    window_ms: float
    bottleneck: Bottleneck


def run_bulk(
    testbed: TwoPaths, recovery: Recovery | None, model: FailureModel, bulk: Bulk, settings: TcpSettings
) -> Json:
    """Send one long flow from h1 to h2 and let its path fail once; the columns of the trial.

    Raises
    ------
    WorkloadError
        The flow broke off.
    """
    set_tcp(testbed, settings)
    words = [str(H2_ADDRESS), str(FLOW_PORT), f"{bulk.seconds:g}", f"{bulk.sample_ms:g}"]
    with ExitStack() as stack:
        path = stack.enter_context(broken_path(testbed, recovery, model, [FLOW_PORT]))
        narrow(testbed, bulk.bottleneck)
        stack.enter_context(receiver(testbed.h2, H2_ADDRESS, FLOW_PORT))
        times_s = [time.monotonic() + bulk.failure_s]
        with Breaker(path, model, times_s) as breaker, flow_program(testbed.h1, bulk_sender, *words) as sender:
            samples = read_samples(said_by(sender))
        replays = _replays_of(path)
        row = bulk_row(samples, breaker.outages[0].shut_ns, bulk.window_ms)
        return {**row, **tcp_counters(testbed.h1), **replays}


def narrow(testbed: TwoPaths, bottleneck: Bottleneck) -> None:
    """Limit what h1 sends, before anything that fails or is kept; its TCP may fill the queue like a switch's."""
    tree = f"""qdisc add dev h0 root handle 1: htb default 1
class add dev h0 parent 1: classid 1:1 htb rate {bottleneck.rate_mbps:g}mbit
qdisc add dev h0 parent 1:1 pfifo limit {bottleneck.queue_packets}"""
    run_batch(testbed.h1, ["tc", "-batch", "-"], tree.splitlines())
    run_program(inside(testbed.h1, ["sysctl", "-qw", f"net.ipv4.tcp_limit_output_bytes={_HOST_QUEUE_BYTES}"]))


def tcp_counters(host: int) -> dict[str, int]:
    """What the TCP of a host has done since its namespace was made."""
    text = call_inside(host, lambda: Path("/proc/thread-self/net/netstat").read_text(encoding="ascii"))
    found = read_netstat(text)
    return {name: found[counter] for name, counter in _COUNTERS.items()}


def _replays_of(path: BrokenPath) -> Json:
    """What SQR has done at both nodes; nothing where it is not."""
    return {f"sqr_{node}": _replays(switch) for node, switch in zip(("s1", "s2"), path.switches, strict=False)}


def _replays(switch: SqrSwitch) -> Json:
    """What a switch has done."""
    counters = switch.counters("h")
    holds = [event.facts["since_detection_ns"] / 1e6 for event in switch.events() if event.event == "replayed"]
    return {
        "replays": len(holds),
        "mean_hold_ms": fmean(holds) if holds else None,
        **{name: getattr(counters, name) for name in ("cached", "held", "replayed", "young", "pending")},
    }
