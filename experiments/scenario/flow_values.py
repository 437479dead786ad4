"""Vocabulary of measured flows: what is sent, over which tunnel, and the record that is kept of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction

Json = dict[str, Any]

TRANSPORTS = ("tcp", "udp")
BIN_S = 0.1  # throughput is sampled ten times a second
FINAL_S = 5.0  # the window that says what a flow has come to
CLOSE_TO_FINAL = 0.10
MOVING_MEAN_S = 1.0
# Bytes of a frame in a tunnel over bytes of its payload: Ethernet, one label, IPv4, and TCP with stamps in segments of
# 1,448 bytes, or UDP in datagrams of 1,400.
FRAME_OVER_PAYLOAD = {"tcp": 1518 / 1448, "udp": 1446 / 1400}
DATAGRAM_BYTES = 1400
FIRST_PORT = 20_000  # servers of flows listen from here on


@dataclass(frozen=True, slots=True)
class Flow:
    """Traffic of one connection, which stands for an aggregate.

    Attributes
    ----------
    source, destination
        Node names; host k is attached to node k.
    transport : {"tcp", "udp"}
    offered_mbps
        Payload rate; None (TCP only): as much as goes.
    priority
        Name of its traffic class, as "high" (ryu_apps/plan/kuijia/priorities.py); None: the first class.
    tunnel
        Position of the pair's tunnel that carries it while nothing has failed; None: any.
    moves_to
        Position of the tunnel that it is to move to when its own fails; None: any.
    port
        Port of its server at the destination.
    start_s
        When it begins, in seconds of the run.
    datagram_bytes
        UDP: payload of a datagram.
    interval_seed
        UDP: seed of random intervals between datagrams (exponential); None: all intervals are equal.

    Raises
    ------
    BadInputError
        An unknown transport, or UDP without a rate.
    """

    name: str
    source: str
    destination: str
    transport: str = "tcp"
    offered_mbps: float | None = None
    priority: str | None = None
    tunnel: int | None = None
    moves_to: int | None = None
    port: int = FIRST_PORT
    start_s: float = 0.0
    datagram_bytes: int = DATAGRAM_BYTES
    interval_seed: int | None = None

    def __post_init__(self) -> None:
        if self.transport not in TRANSPORTS:
            raise BadInputError(f"flow {self.name!r} has transport {self.transport!r}; use one of tcp, udp")
        if self.offered_mbps is None and self.transport == "udp":
            raise BadInputError(f"flow {self.name!r} is UDP and has no offered_mbps; say how much it sends")
        if self.offered_mbps is not None and not 0 < self.offered_mbps < float("inf"):
            raise BadInputError(f"flow {self.name!r} offers {self.offered_mbps} Mbit/s; give a number above 0")


@dataclass(frozen=True, slots=True)
class Placed:
    """A flow with the source port that puts it where it is meant to be, and where it goes before and after the failure.

    Attributes
    ----------
    slot
        Hash slot; None under a scheme without tunnels.
    before, after
        Links that it crosses; empty: it is dropped at the ingress, or nobody knows.
    tunnel_before, tunnel_after
        Positions of tunnels; None: none.
    """

    flow: Flow
    source_port: int
    slot: int | None = None
    before: tuple[Direction, ...] = ()
    after: tuple[Direction, ...] = ()
    queue_before: int = 0
    queue_after: int = 0
    tunnel_before: int | None = None
    tunnel_after: int | None = None
    dscp: int = 0


@dataclass(frozen=True, slots=True)
class FlowTiming:
    """Windows of one measured run, in seconds.

    Attributes
    ----------
    settle_s
        From the start of the flows to the run's zero: TCP finds its rate.
    before_s
        From zero to the failure: the window of the rates before.
    after_s
        From the failure to the end.
    final_s
        The last part of `after_s`: the window of the rates after.
    """

    settle_s: float = 3.0
    before_s: float = 8.0
    after_s: float = 20.0
    final_s: float = FINAL_S

    def __post_init__(self) -> None:
        for name in ("settle_s", "before_s", "after_s", "final_s"):
            if not getattr(self, name) > 0:
                raise BadInputError(f"{name} is {getattr(self, name)}; give a number of seconds above 0")
        if self.final_s > self.after_s:
            raise BadInputError(f"final_s {self.final_s:g} is longer than after_s {self.after_s:g}; make it shorter")

    @property
    def total_s(self) -> float:
        """From the start of the flows to the end."""
        return self.settle_s + self.before_s + self.after_s


@dataclass(frozen=True, slots=True)
class FlowSeen:
    """What the receiver, and for UDP the sender, saw of one flow.

    Attributes
    ----------
    received_mbps
        Payload by arrival, a value for each tenth of a second from `start_s` on.
    start_s
        CLOCK_MONOTONIC.
    retransmits
        TCP: segments retransmitted, over the whole run; None where the sender did not say.
    sent, arrived
        UDP: datagrams by the tenth of a second in which they were sent, counted from `start_s`; arrived counts each
        of them once.
    duplicated
        UDP: copies too many.
    reordered_s
        UDP: when each datagram came that came after a later one, counted from `start_s`.
    """

    received_mbps: tuple[float, ...]
    start_s: float
    retransmits: int | None = None
    sent: tuple[int, ...] = ()
    arrived: tuple[int, ...] = ()
    duplicated: int = 0
    reordered_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowRecord:
    """What became of one flow.

    Attributes
    ----------
    name, source, destination, transport, priority, offered_mbps
        As in `Flow`.
    kind : {"victim", "direct", "indirect", "none"}
        "class" in JSON.
    tunnel, tunnel_after
        Where it was before and after the failure.
    before_mbps, after_mbps
        Mean payload rates at the receiver, over the window before the failure and over the last seconds.
    lost_percent_before, lost_percent_after
        UDP: datagrams of the window that never arrived. TCP, as Kuijia's section 5.2 means it: 0 before, and after the
        throughput that is gone, (before - after) / before.
    convergence_s
        `analysis.flows.convergence.convergence_s`.
    samples_mbps
        Ten a second, over the whole run.
    start_ms
        First sample, in milliseconds relative to the failure (negative).
    sent, received, duplicated, reordered
        UDP datagrams of the whole run.
    reordered_ms
        When each reordered datagram came, in milliseconds relative to the failure (negative: before it).
    """

    name: str
    source: str
    destination: str
    transport: str
    priority: str | None
    offered_mbps: float | None
    kind: str = field(metadata={"key": "class"})
    tunnel: int | None
    tunnel_after: int | None
    before_mbps: float
    after_mbps: float
    lost_percent_before: float | None
    lost_percent_after: float | None
    retransmits: int | None
    convergence_s: float | None
    samples_mbps: tuple[float, ...] = field(repr=False)
    start_ms: float
    sent: int | None = None
    received: int | None = None
    duplicated: int | None = None
    reordered: int | None = None
    reordered_ms: tuple[float, ...] = ()

    def to_json(self) -> Json:
        """Plain data; `kind` is called "class"."""
        value = asdict(self)
        value["class"] = value.pop("kind")
        value |= {"samples_mbps": list(self.samples_mbps), "reordered_ms": list(self.reordered_ms)}
        return value
