"""Trials between two hosts, two nodes and two paths, without a bridge: P4-Protect's and SQR's figures."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from math import ceil
from statistics import fmean

from dataplane.cost_trial import FROM_H1, PATHS, THERE, measure, protected_nodes, sqr_nodes
from dataplane.devices import PATH_MTU
from dataplane.protect import ProtectNode
from dataplane.sqr import SqrSwitch
from dataplane.sqr_core import SqrEvent, SqrPort
from dataplane.two_paths import H2_ADDRESS, TwoPaths, count_stream, numbers_in, two_paths
from experiments.campaign.values import Json, Trial
from experiments.laboratory.paths_core import PathsError, delays, read_iperf
from experiments.laboratory.workload_trials import WORKLOAD_RUNS
from experiments.papers.p4protect import setup
from experiments.papers.sqr import setup as sqr
from mininet_topos.emulation.delay_line import find_delay_line
from mininet_topos.emulation.delay_line_core import PROGRAM_NAME, Relay, delay_line_command, parse_report
from mininet_topos.emulation.places import call_inside, child, inside, private_namespace, run_batch, run_program
from mininet_topos.errors import MissingRequirementError

_PORT = 7007
_STAMP, _TIMESPEC = struct.Struct("!Q"), struct.Struct("@qq")
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33  # Linux, where the socket module lacks them
_RECEIVE_BUFFER_BYTES = 1 << 24
_SETTLE_S = 0.3
_SPARE_SLOTS = 1024
_PATIENCE_S = 5.0
_IPERF_PORT = 5201
_IPERF_SPARE_S = 20.0


class PathsRunner:
    """Runs trials of kind "paths"; every trial has a bench of its own, since programs keep numbers."""

    @contextmanager
    def session(self, _trial: Trial) -> Iterator[Callable[[Trial], Json]]:
        """Nothing is shared between trials."""
        yield run_trial


def run_trial(trial: Trial) -> Json:
    """Row of one trial."""
    what = str(trial.parameters["what"])
    with two_paths() as bench:
        return {"parameters": dict(trial.parameters), **RUNS[what](bench, trial)}


@contextmanager
def nodes_of(bench: TwoPaths, arm: str) -> Iterator[tuple[ProtectNode, ProtectNode]]:
    """Both nodes as an arm has them; `plain` and `unprotected` use one path."""
    flows = [(FROM_H1, THERE)] if arm == setup.PROTECTED.name else []
    program = "forward" if arm == setup.PLAIN.name else "protect"
    with protected_nodes(bench, flows, program) as nodes:
        yield nodes


def run_loss(bench: TwoPaths, trial: Trial) -> Json:
    """A numbered UDP stream while each path is cut in turn."""
    rate_pps = int(trial.parameters["rate_pps"])
    arm = _arm(trial)
    with nodes_of(bench, arm) as (first, second), bench.listen() as receiver:
        breaker = threading.Thread(target=_cut_in_turn, args=(bench,))
        breaker.start()
        sent = bench.send(rate_pps, setup.LOSS_SECONDS)
        breaker.join()
        counted = count_stream(sent, numbers_in(receiver))
        numbered, accepted = first.counters().sent, second.counters().accepted
    return {**asdict(counted), "numbered": numbered, "accepted": accepted}


def _cut_in_turn(bench: TwoPaths) -> None:
    began = time.monotonic()
    for path, at_s, outage_s in setup.LOSS_CUTS:
        time.sleep(max(0.0, began + at_s - time.monotonic()))
        bench.cut(path)
        time.sleep(outage_s)
        bench.repair(path)


def run_cost(bench: TwoPaths, trial: Trial) -> Json:
    """Processing time a packet."""
    processor = sorted(os.sched_getaffinity(0))[-1]
    cost = measure(bench, _arm(trial), int(trial.parameters["frame_bytes"]), setup.COST_FRAMES, processor)
    return asdict(cost)


def run_goodput(bench: TwoPaths, trial: Trial) -> Json:
    """TCP flows at once."""
    flows, seconds = int(trial.parameters["flows"]), float(trial.parameters["seconds"])
    with ExitStack() as stack:
        stack.enter_context(nodes_of(bench, _arm(trial)))
        server = ["iperf3", "-s", "-1", "-p", str(_IPERF_PORT), "-B", str(H2_ADDRESS), "--forceflush"]
        listening = stack.enter_context(child(inside(bench.h2, server)))
        _wait_for_words(listening, "listening")
        words = ["iperf3", "-c", str(H2_ADDRESS), "-p", str(_IPERF_PORT), "-t", f"{seconds:g}", "-P", str(flows), "-J"]
        said = subprocess.run(
            inside(bench.h1, words), capture_output=True, text=True, check=False, timeout=seconds + _IPERF_SPARE_S
        ).stdout
    return read_iperf(said)


def _wait_for_words(process: subprocess.Popen[str], words: str) -> None:
    for line in process.stdout or ():
        if words in line:
            return
    raise PathsError(f"iperf3 ended before it said {words!r}; is its port taken?")


def run_jitter(bench: TwoPaths, trial: Trial) -> Json:
    """One-way delays of UDP packets while both paths have jitter."""
    jitter_ms, packets = float(trial.parameters["jitter_ms"]), int(trial.parameters["packets"])
    with ExitStack() as stack:
        stack.enter_context(delayed_paths(bench, setup.BASE_DELAY_MS, jitter_ms, trial.seed))
        stack.enter_context(nodes_of(bench, _arm(trial)))
        return delays(one_way_ms(bench, packets, setup.PACKET_INTERVAL_MS / 1000), packets)


@contextmanager
def delayed_paths(bench: TwoPaths, delay_ms: float, jitter_ms: float, seed: int) -> Iterator[None]:
    """Put the delay line between both ends of the two paths; jitter is drawn for each packet and direction.

    Raises
    ------
    MissingRequirementError
        The delay line was not built.
    """
    program = find_delay_line()
    if program is None:
        raise MissingRequirementError(f"{PROGRAM_NAME} was not built; run make setup")
    with private_namespace() as middle:
        for path in PATHS:
            run_program(inside(bench.s1, ["ip", "link", "delete", "dev", path]))
            for node, half in ((bench.s1, "a"), (bench.s2, "b")):
                inner = f"{path}{half}"
                line = f"link add dev {path} mtu {PATH_MTU} type veth peer name {inner} mtu {PATH_MTU} netns {middle}"
                run_batch(node, ["ip", "-batch", "-"], [line, f"link set dev {path} up"])
                run_batch(middle, ["ip", "-batch", "-"], [f"link set dev {inner} up"])
        relays: Sequence[Relay] = [Relay(f"{path}a", f"{path}b", delay_ms, jitter_ms) for path in PATHS]
        with child(inside(middle, delay_line_command(program, relays, realtime=True, seed=seed))) as line_process:
            parse_report(line_process.stdout.readline() if line_process.stdout else "")
            yield


def one_way_ms(bench: TwoPaths, count: int, interval_s: float) -> list[float]:
    """Times from a packet's sending at h1 to its arrival at h2, which the kernel stamps."""

    def listening() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        made.bind((str(H2_ADDRESS), _PORT))
        made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER_BYTES)
        made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        return made

    with (
        call_inside(bench.h2, listening) as receiver,
        call_inside(bench.h1, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender,
    ):
        due = time.monotonic()
        for _ in range(count):
            sender.sendto(_STAMP.pack(time.time_ns()), (str(H2_ADDRESS), _PORT))
            due += interval_s
            time.sleep(max(0.0, due - time.monotonic()))
        time.sleep(_SETTLE_S)
        return list(_arrivals_ms(receiver))


def _arrivals_ms(receiver: socket.socket) -> Iterator[float]:
    while (found := _next_arrival_ms(receiver)) is not None:
        yield found


def _next_arrival_ms(receiver: socket.socket) -> float | None:
    try:
        data, ancillary, _, _ = receiver.recvmsg(64, 64)
    except BlockingIOError:
        return None
    seconds, nanoseconds = _TIMESPEC.unpack_from(ancillary[0][2])
    return float(seconds * 10**9 + nanoseconds - _STAMP.unpack(data)[0]) / 1e6


def run_silent_cut(bench: TwoPaths, trial: Trial) -> Json:
    """A numbered stream while a path dies and nobody sees it; the first node is told after a while."""
    detection_ms = float(trial.parameters["detection_ms"])
    with ExitStack() as stack:
        if _arm(trial) == sqr.SQR.name:
            delta_ms = detection_ms + sqr.SPARE_MS
            port = SqrPort("h", "p1", "p2", _slots(sqr.RATE_PPS, 2 * delta_ms), delta_ms, in_send=False)
            switch, _ = stack.enter_context(sqr_nodes(bench, port))
            tell: Callable[[], None] = partial(switch.fail, "h")
        else:
            first, _ = stack.enter_context(protected_nodes(bench, [], "forward"))
            tell = partial(first.between, "h", plain="p2", paths=PATHS, program="forward")
        receiver = stack.enter_context(bench.listen())
        times: list[float] = []
        breaker = threading.Thread(target=_silence_and_tell, args=(bench, detection_ms / 1000, tell, times))
        breaker.start()
        sent = bench.send(sqr.RATE_PPS, sqr.SECONDS, sqr.FRAME_BYTES)
        breaker.join()
        counted = count_stream(sent, numbers_in(receiver))
    began, silent, told = times
    return {**asdict(counted), "breaking_ms": 1000 * (silent - began), "failure_ms": 1000 * (told - began)}


def _silence_and_tell(bench: TwoPaths, wait_s: float, tell: Callable[[], None], times: list[float]) -> None:
    time.sleep(sqr.CUT_AT_S)
    times.append(time.monotonic())
    bench.silence("p1")
    times.append(time.monotonic())
    time.sleep(wait_s)
    tell()
    times.append(time.monotonic())


def run_window(bench: TwoPaths, trial: Trial) -> Json:
    """Tell of failures in the middle of a stream, each time to see what the window held, and mean that."""
    rate_pps, delta_ms = int(trial.parameters["rate_pps"]), float(trial.parameters["delta_ms"])
    port = SqrPort("h", "p1", "p2", _slots(rate_pps, 4 * delta_ms), delta_ms, in_send=False)
    with sqr_nodes(bench, port) as (switch, _), bench.listen() as receiver:
        teller = threading.Thread(target=_tell_often, args=(switch, delta_ms / 1000))
        seconds = sqr.WINDOWS * (delta_ms / 1000 + 2 * sqr.APART_S) + sqr.CUT_AT_S
        began = time.monotonic()
        teller.start()
        sent = bench.send(rate_pps, seconds, sqr.FRAME_BYTES)
        took_s = time.monotonic() - began
        teller.join()
        counted = count_stream(sent, numbers_in(receiver))
        windows = [event.facts["window"] for event in switch.events() if event.event == "detected"]
    return {**asdict(counted), "windows": windows, "window": fmean(windows), "rate_pps": sent / took_s}


def _tell_often(switch: SqrSwitch, delta_s: float) -> None:
    """Tell of failures, with time for a whole window before each, and give the port its traffic back after each."""
    for number in range(1, sqr.WINDOWS + 1):
        time.sleep(delta_s + sqr.APART_S)
        switch.fail("h")
        switch.wait_for(partial(_said, "replayed", number), _PATIENCE_S)
        switch.restore("h")
        switch.wait_for(partial(_said, "restored", number), _PATIENCE_S)


def _said(event: str, times: int, events: Sequence[SqrEvent]) -> bool:
    return sum(each.event == event for each in events) >= times


def _slots(rate_pps: int, covered_ms: float) -> int:
    return 1 << (ceil(rate_pps * covered_ms / 1000) + _SPARE_SLOTS - 1).bit_length()


def _arm(trial: Trial) -> str:
    if trial.arm is None:
        raise PathsError(f"trial {trial.trial_id!r} names no arm")
    return trial.arm.name


RUNS: Mapping[str, Callable[[TwoPaths, Trial], Json]] = {
    setup.LOSS: run_loss,
    setup.COST: run_cost,
    setup.GOODPUT: run_goodput,
    setup.JITTER: run_jitter,
    sqr.FIG9: run_silent_cut,
    sqr.FIG13: run_window,
    sqr.LATENCY: run_cost,
    **WORKLOAD_RUNS,
}
