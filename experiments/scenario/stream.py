"""What every kind of traffic says of itself; each kind is a class in a file of experiments/scenario/traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple

from experiments.scenario.fields import number, rate_mbps, seconds, whole_number
from experiments.scenario.keys import Key, NetworkContext
from mininet_topos.lines import Line

MIN_INTERVAL_MS = 0.5
MAX_INTERVAL_MS = 60_000.0
MAX_UDP_PAYLOAD_BYTES = 1472
MIN_PROBE_BYTES = 60  # the header that irtt needs for stamps both ways
MAX_RATE_PPS = 100_000.0

INTERVAL_MS = Key("interval_ms", number(MIN_INTERVAL_MS, highest=MAX_INTERVAL_MS))
SIZE_BYTES = Key("size_bytes", whole_number(MIN_PROBE_BYTES, MAX_UDP_PAYLOAD_BYTES))
RATE_MBPS = Key("rate_mbps", rate_mbps)
RATE_PPS = Key("rate_pps", number(0, exclusive=True, highest=MAX_RATE_PPS))


@dataclass(frozen=True)
class Programs:
    """The programs of one stream: a server at the destination (None: not needed), a client at the source."""

    server: tuple[str, ...] | None
    client: tuple[str, ...]
    server_port: int = 0


@dataclass(frozen=True, slots=True)
class Traffic:
    """One stream between two hosts.

    Attributes
    ----------
    source, destination
        Node names; host k is attached to node k.
    start_s, stop_s : float, float or None
        Seconds after the run's zero; None means until the run ends.
    kind
        What the key `kind` calls it.
    keys
        What an entry takes besides `from`, `to`, `kind`, `start_s` and `stop_s`.
    needed
        Those of these keys that it must have.
    output
        Suffix of the file that its client prints.
    """

    source: str
    destination: str
    _: KW_ONLY
    start_s: float = 0.0
    stop_s: float | None = None

    kind: ClassVar[str]
    keys: ClassVar[tuple[Key, ...]] = ()
    needed: ClassVar[tuple[str, ...]] = ()
    output: ClassVar[str] = "json"

    @classmethod
    def check(cls, context: NetworkContext, fields: Mapping[str, Line]) -> None:
        """Refuse keys that do not go together (`BadInputError`)."""

    def programs(self, address: str, seconds: float, number: int) -> Programs | None:
        """Command lines of the stream; None: what sends it is no program.

        Parameters
        ----------
        address
            IPv4 address of the destination.
        seconds
            How long.
        number
            Number of the stream in the scenario, for a port of its own.
        """
        raise NotImplementedError


class WireNumber(NamedTuple):
    """What a packet of a probed stream says: whether it answers another, and its sequence number."""

    is_reply: bool
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedTraffic(Traffic):
    """A stream whose packets are answered and followed one by one through the captures.

    Attributes
    ----------
    interval_ms
        Time between packets.
    size_bytes
        IP payload.
    sequence_bits
        Width of the sequence number on the wire.
    counts_copies
        Whether its own account counts every copy of an answer, or each number once.
    awaits_answers
        Whether a client without answers outlives its time, and has to be interrupted.
    """

    interval_ms: float = 2.0
    size_bytes: int = 64

    keys: ClassVar[tuple[Key, ...]] = (INTERVAL_MS, SIZE_BYTES)
    sequence_bits: ClassVar[int] = 32
    counts_copies: ClassVar[bool] = True
    awaits_answers: ClassVar[bool] = False

    @staticmethod
    def number_of(protocol: int, payload: bytes) -> WireNumber | None:
        """The number of a packet of this kind.

        Parameters
        ----------
        protocol
            Of the IPv4 header.
        payload
            What follows that header, as far as it was captured.

        Returns
        -------
        None for every other packet.
        """
        raise NotImplementedError

    @staticmethod
    def own_counts(output: str) -> tuple[int, int] | None:
        """Packets sent and answered by the client's own account; None when it gives none."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpTraffic(Traffic):
    """A load of TCP, of which the segments retransmitted are counted by its iperf3 client.

    Attributes
    ----------
    rate_mbps
        Offered rate; None: as much as goes.
    """

    rate_mbps: float | None = None

    keys: ClassVar[tuple[Key, ...]] = (RATE_MBPS,)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedTraffic(Traffic):
    """Numbered packets that go one way and are counted by their receiver.

    Attributes
    ----------
    rate_pps
        Packets a second, at most.
    size_bytes
        UDP payload.
    sender
        "module:function" that makes what sends and counts all streams of the kind, from the network, the streams and
        `say`: see `experiments.testbed.runs.loads.CountedStreams`.
    """

    rate_pps: float
    size_bytes: int = 200

    keys: ClassVar[tuple[Key, ...]] = (RATE_PPS, SIZE_BYTES)
    needed: ClassVar[tuple[str, ...]] = ("rate_pps",)
    sender: ClassVar[str]


ENDS = ("from", "to")
TIMES = (Key("start_s", seconds), Key("stop_s", seconds))
