"""Flows across a network that fails: what a trial's buffer held at each failure, and whether to trust the trial."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dataplane.decide.sqr import parse_event
from experiments.campaign.kinds.network_flows import Held
from mininet_topos.errors import ArmorError


class NetworkFlowsError(ArmorError):
    """A trial went otherwise than its parameters say."""


@dataclass(frozen=True)
class Met:
    """A failure: during what ("stream" or a workload), when it began and was detected (CLOCK_MONOTONIC).

    `sent_ns` is when packets of a stream were sent, by the same clock; empty in a workload.
    """

    during: str
    rate_pps: float | None
    shut_ns: int
    detected_ns: int
    sent_ns: tuple[int, ...] = ()


@dataclass(frozen=True)
class PortLog:
    """What a replay agent said of one port: detections as (time in ns, packets, bytes), and the port's counters."""

    detected: tuple[tuple[int, int, int], ...]
    counters: dict[str, int]


def read_port_log(text: str, port: str, began_ns: int) -> PortLog:
    """Read the log that `virtual_ports` leaves of a switch: events, then a line of counters for each port.

    Parameters
    ----------
    text, port
        The log, and the interface of the port.
    began_ns
        What was detected before is left out: sessions of BFD come and go while a network is made ready.

    Raises
    ------
    NetworkFlowsError
        It has no counters of that port.
    """
    said = [(line, json.loads(line)) for line in text.splitlines()]
    own = [(line, each) for line, each in said if each.get("port") == port]
    counters = next((each for _, each in own if "cached" in each), None)
    if counters is None:
        raise NetworkFlowsError(f"the replay agent's log says nothing of {port}")
    events = [parse_event(line) for line, each in own if "event" in each]
    found = [(each.t_ns, each.facts["window"], each.facts["bytes"]) for each in events if each.event == "detected"]
    numbers = {name: value for name, value in counters.items() if isinstance(value, int)}
    return PortLog(tuple(each for each in found if each[0] >= began_ns), numbers)


def held_at(failures: Sequence[Met], log: PortLog, delta_ms: float) -> tuple[Held, ...]:
    """What the buffer held when the agent detected each failure: the first time after it, before the next one.

    Beside it: how many packets of a stream were sent within delta before the detection, and since the failure. A
    sender that was held up sends what is due at once, so these are not rate x delta.
    """
    found = []
    ends_ns = [each.shut_ns for each in failures[1:]] + [None]
    for met, end_ns in zip(failures, ends_ns, strict=True):
        own = (each for each in log.detected if each[0] >= met.shut_ns and (end_ns is None or each[0] < end_ns))
        if (first := next(own, None)) is not None:
            delay_ms = round((first[0] - met.shut_ns) / 1e6, 3)
            sent = (_sent(met, since_ns, first[0]) for since_ns in (first[0] - round(delta_ms * 1e6), met.shut_ns))
            found.append(Held(met.during, met.rate_pps, delay_ms, *first[1:], *sent))
    return tuple(found)


def _sent(met: Met, since_ns: int, until_ns: int) -> int | None:
    return sum(since_ns <= each < until_ns for each in met.sent_ns) if met.sent_ns else None


def doubts(failures: Sequence[Met], log: PortLog, delta_ms: float) -> tuple[str, ...]:
    """Why the buffer's promise does not apply to a trial; nothing where it does."""
    found = []
    if len(log.detected) != len(failures):
        found.append(f"{len(failures)} failures, and {len(log.detected)} were detected")
    late = [held.detection_ms for held in held_at(failures, log, delta_ms) if held.detection_ms > delta_ms]
    if late:
        found.append(f"a failure was detected after {max(late):.0f} ms, delta is {delta_ms:g}")
    if log.counters["pending"]:
        found.append(f"{log.counters['pending']} packets were overwritten before their replay: the ring is too small")
    return tuple(found)


def full_buffer(held: Sequence[Held], slots: int) -> tuple[str, ...]:
    """A warning if the buffer was full when a failure was detected; nothing if it never was."""
    full = sum(each.packets >= slots for each in held)
    if not full:
        return ()
    return (f"the buffer ({slots} slots) was full at {full} of {len(held)} failures: it may have held less than delta",)
