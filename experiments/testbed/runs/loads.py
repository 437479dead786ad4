"""Numbered datagrams of a run: the rate that the network carries without loss is found first, then they are counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.analysis.counted import DatagramCount, TcpCount
from experiments.analysis.flows.iperf import sent_again
from experiments.scenario.flow_values import FIRST_PORT, Flow
from experiments.scenario.values import DATAGRAMS, Scenario, Traffic
from experiments.testbed.instruments.streams import StreamError, Streams
from experiments.testbed.traffic.ports import unplaced
from experiments.testbed.traffic.udp import UdpFlows

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

DEFAULT_DATAGRAM_BYTES = 200
HEADROOM = 1.25  # what is offered in the run is so much less than what was carried without loss
STEP = 0.7
LOWEST_PPS = 50.0
_TRY_S, _LEAD_S = 1.0, 0.7
_BITS_PER_BYTE = 8e-6  # Mbit


def datagram_flows(traffic: Sequence[Traffic]) -> tuple[Flow, ...]:
    """The datagram streams of a scenario as flows, in its order."""
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
                datagram_bytes=stream.size_bytes or DEFAULT_DATAGRAM_BYTES,
            ),
            stream.rate_pps or LOWEST_PPS,
        )
        for number, stream in enumerate(traffic)
        if stream.kind == DATAGRAMS
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


def datagram_counts(scenario: Scenario, flows: Sequence[Flow], senders: UdpFlows) -> tuple[DatagramCount, ...]:
    """Packet counts of all datagram streams once their end has come."""
    seen = senders.seen()
    streams = [stream for stream in scenario.traffic if stream.kind == DATAGRAMS]
    return tuple(
        DatagramCount(
            traffic=stream,
            rate_pps=rate_of(flow),
            start_s=seen[flow.name].start_s,
            sent=seen[flow.name].sent,
            arrived=seen[flow.name].arrived,
            duplicated=seen[flow.name].duplicated,
            reordered=seen[flow.name].reordered,
        )
        for stream, flow in zip(streams, flows, strict=True)
    )


def tcp_counts(scenario: Scenario, streams: Streams) -> tuple[TcpCount, ...]:
    """What TCP has sent again since second 0, by the reports of its clients, which have ended."""
    found = []
    for number, stream in enumerate(scenario.traffic):
        if stream.kind == "iperf3-tcp":
            report = streams.output_of(number).read_text(encoding="utf-8", errors="replace")
            since_s = scenario.settle_s if stream.start_s == 0 else 0.0
            found.append(TcpCount(stream, sent_again(report, since_s)))
    return tuple(found)
