"""Measures flows on a running network around a failure: throughput ten times a second, and what every queue carried."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.analysis.flows.classes import link_rates
from experiments.analysis.flows.convergence import to_record
from experiments.scenario.flow_values import FlowRecord, FlowSeen, FlowTiming, Placed
from experiments.testbed.instruments.streams import StreamError
from experiments.testbed.traffic.tcp import TcpFlows
from experiments.testbed.traffic.udp import UdpFlows
from machine.environment import load_per_core

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

_LEAD_S = 0.5  # from now to the first packets: programs start meanwhile
_BEFORE_FAILURE_S = 0.7  # reading all counters takes a few tenths of a second, and must be over when the failure comes
_BEYOND_S = 0.5
# Reading counters takes seconds on a busy machine, and then the failure comes late; flows go on for so much longer.
# Senders of UDP cannot be ended sooner, clients of TCP can.
MOST_LATE_S = {"udp": 5.0, "tcp": 60.0}
PortKey = tuple[str, int]
Bytes = dict[PortKey, dict[int, int]]


@dataclass(frozen=True)
class MeasuredFlows:
    """What came of a run.

    Attributes
    ----------
    records
        One for each flow, in order.
    links
        Link direction -> "before" and "after" -> queue -> Mbit/s, by the queues' own counters (whole frames); empty
        without priority queues.
    failure_s
        CLOCK_MONOTONIC, right before the failure was begun.
    load_per_core
        When it began.
    """

    records: tuple[FlowRecord, ...]
    links: Mapping[str, Mapping[str, Mapping[int, float]]]
    failure_s: float
    load_per_core: float


def measure_flows(
    network: EmulatedNetwork,
    flows: Sequence[Placed],
    fail: Callable[[], object],
    timing: FlowTiming,
    classes: Mapping[str, str],
) -> MeasuredFlows:
    """Send flows, inject the failure, and keep what the receivers see.

    Parameters
    ----------
    network
        Running, with its plans installed.
    flows
        `ports.place_flows`.
    fail
        Called once, at the end of the window before; what it breaks stays broken.
    classes
        Class of every flow by name (`analysis.flows.classes.flow_classes`).

    Raises
    ------
    StreamError
        A program does not start or ends early, a flow never came through, or the failure came so late
        (`MOST_LATE_S`) that flows would not last.
    """
    load = load_per_core()
    tcp = [placed for placed in flows if placed.flow.transport == "tcp"]
    udp = [placed for placed in flows if placed.flow.transport == "udp"]
    most_late_s = MOST_LATE_S["udp" if udp else "tcp"]
    with TcpFlows(network, tcp) as of_tcp, UdpFlows(network, udp) as of_udp:
        start_s = time.monotonic() + _LEAD_S
        failure_at_s = start_s + timing.settle_s + timing.before_s
        stop_s = failure_at_s + timing.after_s + most_late_s
        of_udp.start(start_s, stop_s)
        _start_tcp(of_tcp, tcp, start_s, stop_s)
        first = _read(network, start_s + timing.settle_s)
        second = _read(network, failure_at_s - _BEFORE_FAILURE_S)
        _sleep_until(failure_at_s)
        failure_s = time.monotonic()
        _require_in_time(failure_s - failure_at_s, most_late_s - _BEYOND_S)
        fail()
        end_s = failure_s + timing.after_s
        third = _read(network, end_s - timing.final_s)
        fourth = _read(network, end_s)
        # A program that is ended reports a last interval that is none, so the ends lie beyond what is looked at.
        _sleep_until(end_s + _BEYOND_S)
        seen = {**of_tcp.seen(start_s, end_s + _BEYOND_S), **of_udp.seen()}
    records = tuple(_record(placed, classes, seen, failure_s, timing) for placed in flows)
    links = _links(network, (first, second), (third, fourth))
    return MeasuredFlows(records, links, failure_s, load)


def _require_in_time(late_s: float, most_s: float) -> None:
    if late_s > most_s:
        raise StreamError(f"the failure was {late_s:.1f} s late, so flows would end too early; the machine is too busy")


def _record(
    placed: Placed, classes: Mapping[str, str], seen: Mapping[str, FlowSeen], failure_s: float, timing: FlowTiming
) -> FlowRecord:
    return to_record(placed, classes[placed.flow.name], seen[placed.flow.name], failure_s, timing)


def _start_tcp(of_tcp: TcpFlows, flows: Sequence[Placed], start_s: float, stop_s: float) -> None:
    for placed in sorted(flows, key=lambda each: each.flow.start_s):
        _sleep_until(start_s + placed.flow.start_s)
        of_tcp.start(stop_s - time.monotonic(), placed.flow.name)


def _read(network: EmulatedNetwork, at_s: float) -> tuple[float, Bytes]:
    """Bytes of every queue, and when they were read (the middle of the reading)."""
    _sleep_until(at_s)
    began_s = time.monotonic()
    counters = network.queue_counters()
    found = {key: {queue: each.sent_bytes for queue, each in of_port.items()} for key, of_port in counters.items()}
    return (began_s + time.monotonic()) / 2, found


def _links(
    network: EmulatedNetwork, before: Sequence[tuple[float, Bytes]], after: Sequence[tuple[float, Bytes]]
) -> dict[str, dict[str, dict[int, float]]]:
    names = {key: f"{direction.src}>{direction.dst}" for key, direction in network.ports.direction_at.items()}
    rates: dict[str, dict[str, dict[int, float]]] = {}
    for window, ((from_s, old), (to_s, new)) in (("before", before), ("after", after)):
        for link, queues in link_rates(names, old, new, to_s - from_s).items():
            rates.setdefault(link, {})[window] = queues
    return rates


def _sleep_until(t_s: float) -> None:
    while (left_s := t_s - time.monotonic()) > 0:
        time.sleep(left_s)
