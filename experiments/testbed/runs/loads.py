"""Numbered datagrams of a run: the rate that the network carries without loss is found first, then they are counted."""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from experiments.analysis.counted import DatagramCount, TcpCount
from experiments.analysis.flows.iperf import retransmitted
from experiments.scenario.flow_values import FIRST_PORT, Flow
from experiments.scenario.stream import CountedTraffic, TcpTraffic
from experiments.scenario.values import Scenario
from experiments.testbed.instruments.streams import StreamError, Streams
from experiments.testbed.traffic.ports import unplaced
from experiments.testbed.traffic.udp import UdpFlows

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

HEADROOM = 1.25  # what is offered in the run is so much less than what was carried without loss
STEP = 0.7
LOWEST_PPS = 50.0
_TRY_S, _LEAD_S = 1.0, 0.7
_BITS_PER_BYTE = 8e-6  # Mbit


def datagram_flows(streams: Sequence[CountedTraffic]) -> tuple[Flow, ...]:
    """Counted streams as flows, in their order."""
    return tuple(
        with_rate(
            Flow(
                name=f"{stream.source}>{stream.destination}",
                source=stream.source,
                destination=stream.destination,
                transport="udp",
                offered_mbps=1.0,
                port=FIRST_PORT + number,
                start_s=stream.start_s,
                datagram_bytes=stream.size_bytes,
            ),
            stream.rate_pps,
        )
        for number, stream in enumerate(streams)
    )


def with_rate(flow: Flow, rate_pps: float) -> Flow:
    """The same flow at so many datagrams a second."""
    return replace(flow, offered_mbps=rate_pps * flow.datagram_bytes * _BITS_PER_BYTE)


def rate_of(flow: Flow) -> float:
    """Datagrams a second of a flow."""
    return (flow.offered_mbps or 0.0) / (flow.datagram_bytes * _BITS_PER_BYTE)


def carried(network: EmulatedNetwork, flows: Sequence[Flow], say: Callable[[str], None]) -> tuple[Flow, ...]:
    """The flows at the rates that they ask for, or at the same share of them that the network carries without loss.

    A second of each share is tried, with some headroom, from the whole downwards while nothing is broken.

    Raises
    ------
    StreamError
        Even a few packets are lost.
    """
    share = 1.0
    while flows:
        say(f"trying {sum(map(rate_of, flows)) * share:.0f} datagrams a second")
        tried = [replace(with_rate(flow, HEADROOM * share * rate_of(flow)), start_s=0.0) for flow in flows]
        with UdpFlows(network, unplaced(tried)) as senders:
            start_s = time.monotonic() + _LEAD_S
            senders.start(start_s, start_s + _TRY_S)
            seen = senders.seen()
        if all(sum(each.sent) == sum(each.arrived) > 0 for each in seen.values()):
            break
        share *= STEP
        if share * max(map(rate_of, flows)) < LOWEST_PPS:
            raise StreamError(f"the network loses datagrams even at {LOWEST_PPS:g} a second, with nothing broken")
    return tuple(with_rate(flow, share * rate_of(flow)) for flow in flows)


class CountedStreams(Protocol):
    """What sends and counts the streams of one kind of `CountedTraffic`; it is made before the run's zero."""

    def __enter__(self) -> CountedStreams:
        """Start what receives."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""

    def start(self, start_s: float, stop_s: float) -> None:
        """Send and count from one moment to another (CLOCK_MONOTONIC)."""

    def counts(self) -> tuple[DatagramCount, ...]:
        """Packet counts of all streams once their end has come."""


class CountedDatagrams:
    """Sends numbered UDP datagrams.

    Parameters
    ----------
    network
        Nothing is broken in it yet: it is tried what it carries without loss.
    say
        Called with what is going on.

    Raises
    ------
    StreamError
        As `carried`.
    """

    def __init__(self, network: EmulatedNetwork, streams: Sequence[CountedTraffic], say: Callable[[str], None]) -> None:
        self._streams = streams
        self._flows = carried(network, datagram_flows(streams), say)
        self._senders = UdpFlows(network, unplaced(self._flows))

    def __enter__(self) -> CountedDatagrams:
        """Start the receivers."""
        self._senders.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self._senders.__exit__(kind, error, trace)

    def start(self, start_s: float, stop_s: float) -> None:
        """Send from one moment to another (CLOCK_MONOTONIC)."""
        self._senders.start(start_s, stop_s)

    def counts(self) -> tuple[DatagramCount, ...]:
        """What was sent and what came, once the end has come (`StreamError` when a program ended early)."""
        seen = self._senders.seen()
        return tuple(
            DatagramCount(
                traffic=stream,
                rate_pps=rate_of(flow),
                start_s=seen[flow.name].start_s,
                sent=seen[flow.name].sent,
                arrived=seen[flow.name].arrived,
                duplicated=seen[flow.name].duplicated,
                reordered=len(seen[flow.name].reordered_s),
            )
            for stream, flow in zip(self._streams, self._flows, strict=True)
        )


class Counters:
    """The counted streams of a scenario, kind by kind; they run while the context lasts."""

    def __init__(self, network: EmulatedNetwork, scenario: Scenario, say: Callable[[str], None]) -> None:
        self._network, self._scenario, self._say = network, scenario, say
        self._stack, self._made = ExitStack(), list[CountedStreams]()

    def __enter__(self) -> Counters:
        """Make what sends each kind (`StreamError` as these do)."""
        by_sender: dict[str, list[CountedTraffic]] = {}
        for stream in self._scenario.traffic:
            if isinstance(stream, CountedTraffic):
                by_sender.setdefault(stream.sender, []).append(stream)
        with ExitStack() as stack:
            for sender, streams in by_sender.items():
                made: CountedStreams = pkgutil.resolve_name(sender)(self._network, streams, self._say)
                self._made.append(stack.enter_context(made))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self._stack.__exit__(kind, error, trace)

    def start(self, start_s: float, stop_s: float) -> None:
        """Send and count from one moment to another (CLOCK_MONOTONIC)."""
        for each in self._made:
            each.start(start_s, stop_s)

    def counts(self) -> tuple[DatagramCount, ...]:
        """Packet counts of all streams once their end has come."""
        return tuple(count for each in self._made for count in each.counts())


def tcp_counts(scenario: Scenario, streams: Streams) -> tuple[TcpCount, ...]:
    """What TCP has retransmitted since second 0, by the reports of its clients, which have ended; None without one."""
    found = []
    for number, stream in enumerate(scenario.traffic):
        if isinstance(stream, TcpTraffic):
            report = streams.output_of(number).read_text(encoding="utf-8", errors="replace")
            since_s = scenario.settle_s if stream.start_s == 0 else 0.0
            found.append(TcpCount(stream, retransmitted(report, since_s) if streams.has_report(number) else None))
    return tuple(found)
