"""Trials between two hosts, two nodes and two paths, without a bridge: P4-Protect's and SQR's figures."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from math import ceil
from statistics import fmean
from typing import Any

from dataplane.cost_trial import FROM_H1, PATHS, THERE, measure, protected_nodes, sqr_nodes
from dataplane.decide.sqr import SqrEvent, SqrPort
from dataplane.devices import PATH_MTU
from dataplane.protect import ProtectNode
from dataplane.sqr import SqrSwitch
from dataplane.two_paths import H2_ADDRESS, TwoPaths, count_stream, numbers_in, two_paths
from emulation.decide.delay_line import PROGRAM_NAME, Relay, delay_line_command, parse_report
from emulation.delay_line import find_delay_line
from experiments.campaign.kinds.paths import (
    CostMeasured,
    CostParameters,
    FlowsParameters,
    GoodputMeasured,
    GoodputParameters,
    JitterMeasured,
    JitterParameters,
    LossMeasured,
    LossParameters,
    SilentMeasured,
    SilentParameters,
    StreamParameters,
    WindowMeasured,
    WindowParameters,
)
from experiments.campaign.parameters import Parameters, plain
from experiments.campaign.values import Json, TestbedSettings, Trial, Variant
from experiments.testbed.instruments.echo import PORT, next_arrival, send_stamped, stamping_socket
from experiments.testbed.trials.decide.paths import PathsError, delays
from experiments.testbed.trials.transfers import transfer
from experiments.testbed.trials.workload_trials import run_flows, run_stream
from experiments.testbed.workloads.run import Bottleneck, narrow
from machine.places import call_inside, child, inside, private_namespace, run_batch, run_program
from mininet_topos.errors import MissingRequirementError

_WITH_SQR = Variant("sqr")
_SPARE_SLOTS = 1024
_PATIENCE_S = 5.0


class PathsRunner:
    """Runs trials of kind "paths"; every trial has a testbed of its own, since programs keep numbers."""

    @contextmanager
    def session(self, _trial: Trial) -> Iterator[Callable[[Trial], Json]]:
        """Nothing is shared between trials."""
        yield run_trial


def run_trial(trial: Trial) -> Json:
    """Columns of one trial."""
    own = trial.parameters
    with two_paths() as testbed:
        columns: Json = plain(RUNS[type(own)](testbed, trial, own))
    return columns


@contextmanager
def nodes_of(testbed: TwoPaths, variant: str) -> Iterator[tuple[ProtectNode, ProtectNode]]:
    """Both nodes as a variant has them; `plain` and `unprotected` use one path."""
    flows = [(FROM_H1, THERE)] if variant == "protected" else []
    program = "forward" if variant == "plain" else "protect"
    with protected_nodes(testbed, flows, program) as nodes:
        yield nodes


def run_loss(testbed: TwoPaths, trial: Trial, own: LossParameters) -> LossMeasured:
    """A numbered UDP stream while each path fails in turn."""
    variant = _variant(trial)
    with nodes_of(testbed, variant) as (first, second), testbed.listen() as receiver:
        with ThreadPoolExecutor(1) as pool:
            breaker = pool.submit(_fail_in_turn, testbed, own.failures)
            sent = testbed.send(own.rate_pps, own.stream_s)
            breaker.result()
        counted = count_stream(sent, numbers_in(receiver))
        numbered, accepted = first.counters().sent, second.counters().accepted
    return LossMeasured(**asdict(counted), numbered=numbered, accepted=accepted)


def _fail_in_turn(testbed: TwoPaths, failures: Sequence[tuple[str, float, float]]) -> None:
    began = time.monotonic()
    for path, at_s, outage_s in failures:
        time.sleep(max(0.0, began + at_s - time.monotonic()))
        testbed.fail(path)
        time.sleep(outage_s)
        testbed.repair(path)


def run_cost(testbed: TwoPaths, trial: Trial, own: CostParameters) -> CostMeasured:
    """Processing time a packet."""
    processor = sorted(os.sched_getaffinity(0))[-1]
    cost = measure(testbed, _variant(trial), own.frame_bytes, own.frames, processor)
    return CostMeasured(cost.whole_ns, cost.first_node_ns, cost.second_node_ns, cost.lost)


def run_goodput(testbed: TwoPaths, trial: Trial, own: GoodputParameters) -> GoodputMeasured:
    """TCP flows at once."""
    places = testbed.h1, testbed.h2
    if own.mbps is not None and own.queue_packets is not None:
        narrow(testbed, Bottleneck(own.mbps, own.queue_packets))
    with nodes_of(testbed, _variant(trial)):
        return transfer(places, str(H2_ADDRESS), own.flows, own.seconds)


def run_jitter(testbed: TwoPaths, trial: Trial, own: JitterParameters) -> JitterMeasured:
    """One-way delays of UDP packets while both paths have jitter."""
    with ExitStack() as stack:
        stack.enter_context(delayed_paths(testbed, own.base_delay_ms, own.jitter_ms, trial.seed))
        stack.enter_context(nodes_of(testbed, _variant(trial)))
        return delays(one_way_ms(testbed, own), own.packets)


@contextmanager
def delayed_paths(testbed: TwoPaths, delay_ms: float, jitter_ms: float, seed: int) -> Iterator[None]:
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
            run_program(inside(testbed.s1, ["ip", "link", "delete", "dev", path]))
            for node, half in ((testbed.s1, "a"), (testbed.s2, "b")):
                inner = f"{path}{half}"
                line = f"link add dev {path} mtu {PATH_MTU} type veth peer name {inner} mtu {PATH_MTU} netns {middle}"
                run_batch(node, ["ip", "-batch", "-"], [line, f"link set dev {path} up"])
                run_batch(middle, ["ip", "-batch", "-"], [f"link set dev {inner} up"])
        relays: Sequence[Relay] = [Relay(f"{path}a", f"{path}b", delay_ms, jitter_ms) for path in PATHS]
        with child(inside(middle, delay_line_command(program, relays, realtime=True, seed=seed))) as line_process:
            parse_report(line_process.stdout.readline() if line_process.stdout else "")
            yield


def one_way_ms(testbed: TwoPaths, own: JitterParameters) -> list[float]:
    """Times from a packet's sending at h1 to its arrival at h2, which the kernel stamps."""
    with (
        call_inside(testbed.h2, lambda: stamping_socket(str(H2_ADDRESS), PORT)) as receiver,
        call_inside(testbed.h1, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender,
    ):
        due = time.monotonic()
        for _ in range(own.packets):
            send_stamped(sender, str(H2_ADDRESS))
            due += own.interval_ms / 1000
            time.sleep(max(0.0, due - time.monotonic()))
        time.sleep(own.settle_s)
        return [arrival.delay_ms for arrival in iter(lambda: next_arrival(receiver), None)]


def run_silent_failure(testbed: TwoPaths, trial: Trial, own: SilentParameters) -> SilentMeasured:
    """A numbered stream while a path fails and nobody sees it; the first node is notified after a while."""
    with ExitStack() as stack:
        if trial.variant == _WITH_SQR:
            delta_ms = own.detection_ms + own.spare_ms
            port = SqrPort("h", "p1", "p2", _slots(own.rate_pps, 2 * delta_ms), delta_ms, in_send=False)
            switch, _ = stack.enter_context(sqr_nodes(testbed, port))
            notify: Callable[[], None] = partial(switch.fail, "h")
        else:
            first, _ = stack.enter_context(protected_nodes(testbed, [], "forward"))
            notify = partial(first.between, "h", plain="p2", paths=PATHS, program="forward")
        receiver = stack.enter_context(testbed.listen())
        with ThreadPoolExecutor(1) as pool:
            breaker = pool.submit(_silence_and_notify, testbed, own, notify)
            sent = testbed.send(own.rate_pps, own.stream_s, own.frame_bytes)
            began, silent, notified = breaker.result()
        counted = count_stream(sent, numbers_in(receiver))
    spans_ms = 1000 * (silent - began), 1000 * (notified - began)
    return SilentMeasured(**asdict(counted), breaking_ms=spans_ms[0], failure_ms=spans_ms[1])


def _silence_and_notify(
    testbed: TwoPaths, own: SilentParameters, notify: Callable[[], None]
) -> tuple[float, float, float]:
    """Let the path fail silently, and notify after the detection; when that began, the path failed, and it ended."""
    time.sleep(own.failure_at_s)
    began_s = time.monotonic()
    testbed.silence("p1")
    silent_s = time.monotonic()
    time.sleep(own.detection_ms / 1000)
    notify()
    return began_s, silent_s, time.monotonic()


def run_window(testbed: TwoPaths, _trial: Trial, own: WindowParameters) -> WindowMeasured:
    """Notify of failures in the middle of a stream, each time to see what the window held, and mean that."""
    rate_pps, delta_ms = own.rate_pps, own.delta_ms
    port = SqrPort("h", "p1", "p2", _slots(rate_pps, 4 * delta_ms), delta_ms, in_send=False)
    with sqr_nodes(testbed, port) as (switch, _), testbed.listen() as receiver:
        seconds = own.windows * (delta_ms / 1000 + 2 * own.apart_s) + own.failure_at_s
        with ThreadPoolExecutor(1) as pool:
            began = time.monotonic()
            notifier = pool.submit(_notify_often, switch, own)
            sent = testbed.send(rate_pps, seconds, own.frame_bytes)
            took_s = time.monotonic() - began
            notifier.result()
        counted = count_stream(sent, numbers_in(receiver))
        windows = [event.facts["window"] for event in switch.events() if event.event == "detected"]
    return WindowMeasured(**asdict(counted), windows=tuple(windows), window=fmean(windows), rate_pps=sent / took_s)


def _notify_often(switch: SqrSwitch, own: WindowParameters) -> None:
    """Notify failures, with time for a whole window before each, and give the port its traffic back after each."""
    for number in range(1, own.windows + 1):
        time.sleep(own.delta_ms / 1000 + own.apart_s)
        switch.fail("h")
        switch.wait_for(partial(_said, "replayed", number), _PATIENCE_S)
        switch.restore("h")
        switch.wait_for(partial(_said, "restored", number), _PATIENCE_S)


def _said(event: str, times: int, events: Sequence[SqrEvent]) -> bool:
    return sum(each.event == event for each in events) >= times


def _slots(rate_pps: int, covered_ms: float) -> int:
    return 1 << (ceil(rate_pps * covered_ms / 1000) + _SPARE_SLOTS - 1).bit_length()


def _variant(trial: Trial) -> str:
    if trial.variant is None:
        raise PathsError(f"trial {trial.trial_id!r} names no variant")
    return trial.variant.name


RUNS: Mapping[type[Parameters], Callable[[TwoPaths, Trial, Any], object]] = {
    LossParameters: run_loss,
    CostParameters: run_cost,
    GoodputParameters: run_goodput,
    JitterParameters: run_jitter,
    SilentParameters: run_silent_failure,
    WindowParameters: run_window,
    FlowsParameters: run_flows,
    StreamParameters: run_stream,
}


def paths_runner(_settings: TestbedSettings) -> PathsRunner:
    """What runs such trials."""
    return PathsRunner()
