"""Kind "protected": between the hosts of two Open vSwitch bridges and two links, with the app of 1+1 protection."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.kinds.paths import PathsParameters


@dataclass(frozen=True, slots=True)
class BridgesParameters(PathsParameters):
    """What every such trial has."""

    bfd_ms: int


@dataclass(frozen=True, slots=True)
class TransfersParameters(BridgesParameters):
    """Pairs of iperf3 clients and servers at once, `flows` TCP flows each; `pairs` are tried one after another."""

    pairs: tuple[int, ...]
    flows: int
    transfer_s: float


@dataclass(frozen=True, slots=True)
class EchoParameters(BridgesParameters):
    """UDP packets that the far host returns, over links that delay each by `base_delay_ms` and 0 to the jitter.

    What is not back `settle_s` after the last packet was sent is lost.
    """

    jitter_ms: float
    base_delay_ms: float
    packets: int
    interval_ms: float
    settle_s: float


@dataclass(frozen=True, slots=True)
class TransfersMeasured:
    """At the receivers, all pairs together; a value for each number of pairs."""

    goodput_mbps: tuple[float, ...]
    retransmits: tuple[int, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EchoMeasured:
    """Delays to the far host, and there and back, of packets that arrived and returned; standard deviations."""

    one_way_mean_ms: float
    one_way_deviation_ms: float
    round_trip_mean_ms: float
    round_trip_deviation_ms: float
    sent: int
    arrived: int
    returned: int
    warnings: tuple[str, ...] = ()


KIND = TrialKind("protected", "experiments.testbed.trials.protect_trial:protect_runner", after(20.0))
