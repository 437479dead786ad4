"""Trials between two hosts, two nodes and two paths, without a bridge: P4-Protect's figures."""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict

from dataplane.cost_trial import FROM_H1, PATHS, THERE, measure, protected_nodes
from dataplane.devices import PATH_MTU
from dataplane.protect import ProtectNode
from dataplane.two_paths import H1_ADDRESS, H2_ADDRESS, TwoPaths, count_stream, numbers_in, two_paths
from experiments.campaign.values import Json, Trial
from experiments.laboratory.paths_core import PathsError, read_iperf, round_trips
from experiments.papers.p4protect import setup
from mininet_topos.emulation.delay_line import find_delay_line
from mininet_topos.emulation.delay_line_core import PROGRAM_NAME, Relay, delay_line_command, parse_report
from mininet_topos.emulation.places import call_inside, child, inside, private_namespace, run_batch, run_program
from mininet_topos.errors import MissingRequirementError

_ECHO_PORT = 7007
_STAMP = struct.Struct("!IQ")
_SETTLE_S = 0.3
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
    """Round trips of UDP packets while both paths have jitter."""
    jitter_ms, echoes = float(trial.parameters["jitter_ms"]), int(trial.parameters["echoes"])
    with ExitStack() as stack:
        stack.enter_context(delayed_paths(bench, setup.BASE_DELAY_MS, jitter_ms, trial.seed))
        stack.enter_context(nodes_of(bench, _arm(trial)))
        return round_trips(echo(bench, echoes, setup.ECHO_INTERVAL_MS / 1000), echoes)


@contextmanager
def delayed_paths(bench: TwoPaths, delay_ms: float, jitter_ms: float, seed: int) -> Iterator[None]:
    """Put the delay line between both ends of the two paths; jitter is drawn for each packet and direction."""
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


def echo(bench: TwoPaths, count: int, interval_s: float) -> list[float]:
    """Round trips (ms) of UDP packets from h1 that h2 sends back."""

    def bound(address: str) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((address, _ECHO_PORT))
        return made

    times: list[float] = []
    with (
        call_inside(bench.h2, lambda: bound(str(H2_ADDRESS))) as mirror,
        call_inside(bench.h1, lambda: bound(str(H1_ADDRESS))) as asker,
    ):
        over = threading.Event()
        threads = [
            threading.Thread(target=_mirror, args=(mirror, over)),
            threading.Thread(target=_collect, args=(asker, times, over)),
        ]
        for thread in threads:
            thread.start()
        due = time.monotonic()
        for number in range(count):
            asker.sendto(_STAMP.pack(number, time.monotonic_ns()), (str(H2_ADDRESS), _ECHO_PORT))
            due += interval_s
            time.sleep(max(0.0, due - time.monotonic()))
        time.sleep(_SETTLE_S)
        over.set()
        for thread in threads:
            thread.join()
    return times


def _mirror(mirror: socket.socket, over: threading.Event) -> None:
    while not over.is_set():
        if select.select([mirror], [], [], 0.05)[0]:
            data, sender = mirror.recvfrom(64)
            mirror.sendto(data, sender)


def _collect(asker: socket.socket, times: list[float], over: threading.Event) -> None:
    while not over.is_set():
        if select.select([asker], [], [], 0.05)[0]:
            _, sent_ns = _STAMP.unpack(asker.recv(64))
            times.append((time.monotonic_ns() - sent_ns) / 1e6)


def _arm(trial: Trial) -> str:
    if trial.arm is None:
        raise PathsError(f"trial {trial.trial_id!r} names no arm")
    return trial.arm.name


RUNS: Mapping[str, Callable[[TwoPaths, Trial], Json]] = {
    setup.LOSS: run_loss,
    setup.COST: run_cost,
    setup.GOODPUT: run_goodput,
    setup.JITTER: run_jitter,
}
