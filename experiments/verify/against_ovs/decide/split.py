"""How flows are split over tunnels, and what a failure does to them: counts, and how likely they are.

What a switch did with a flow is its label: a path. Flows are distinguished by their transport ports alone.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scipy.stats import chi2

from experiments.analysis.frames import pcap_records
from ryu_apps.plan.fields import ETH_MPLS, IP_TCP, IP_UDP

PROTOCOLS = {"tcp": IP_TCP, "udp": IP_UDP}
_ETHERNET_BYTES, _LABEL_BYTES, _IPV4_BYTES, _PORTS_BYTES = 14, 4, 20, 4
_LABEL_SHIFT = 12


class FlowPorts(NamedTuple):
    """A flow between two hosts by its transport ports."""

    source: int
    destination: int


@dataclass(frozen=True, slots=True)
class Split:
    """How many flows took which tunnel.

    Attributes
    ----------
    weights
        What was asked for; they sum to 1.
    flows
        Flows by tunnel.
    """

    weights: tuple[float, ...]
    flows: tuple[int, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """Fraction of the flows by tunnel; all 0 without flows."""
        return tuple(count / max(1, sum(self.flows)) for count in self.flows)

    @property
    def worst_error(self) -> float:
        """Largest distance of a share from its weight."""
        return max(abs(share - weight) for share, weight in zip(self.shares, self.weights, strict=True))

    @property
    def chi_square(self) -> float:
        """Pearson's statistic of the counts against the weights; tunnels of weight 0 do not count."""
        expected = [weight * sum(self.flows) for weight in self.weights]
        return sum((count - mean) ** 2 / mean for count, mean in zip(self.flows, expected, strict=True) if mean)

    @property
    def p_value(self) -> float:
        """Chance of a statistic at least this large, were every flow's slot drawn at random; 1 for a single tunnel.

        Flows on a tunnel of weight 0 have no chance.
        """
        if any(count and not weight for count, weight in zip(self.flows, self.weights, strict=True)):
            return 0.0
        freedom = sum(weight > 0 for weight in self.weights) - 1
        return float(chi2.sf(self.chi_square, freedom)) if freedom else 1.0


@dataclass(frozen=True, slots=True)
class Moves:
    """What the failure of one tunnel did to flows.

    Attributes
    ----------
    down
        The tunnel.
    victims, everybody
        Its flows, and all flows, over the tunnels that are left, against their weights; the failed one has weight 0.
    others
        Flows of living tunnels.
    moved
        How many of those changed their tunnel.
    """

    down: int
    victims: Split
    everybody: Split
    others: int
    moved: int


def split_of(tunnel_of: Mapping[FlowPorts, int], weights: Sequence[float]) -> Split:
    """Split of flows, given everybody's tunnel."""
    counts = Counter(tunnel_of.values())
    return Split(_normed(weights), tuple(counts[tunnel] for tunnel in range(len(weights))))


def moves_of(
    before: Mapping[FlowPorts, int], after: Mapping[FlowPorts, int], down: int, weights: Sequence[float]
) -> Moves:
    """Compare everybody's tunnel before and after one tunnel failed.

    Parameters
    ----------
    before, after
        The same flows.
    weights
        Of all tunnels.
    """
    victims = {flow: after[flow] for flow, tunnel in before.items() if tunnel == down}
    live = [0.0 if tunnel == down else weight for tunnel, weight in enumerate(weights)]
    if not any(live):
        live = [float(tunnel != down) for tunnel in range(len(weights))]
    others = [flow for flow, tunnel in before.items() if tunnel != down]
    moved = sum(after[flow] != before[flow] for flow in others)
    return Moves(down, split_of(victims, live), split_of(after, live), len(others), moved)


def _normed(weights: Sequence[float]) -> tuple[float, ...]:
    return tuple(weight / sum(weights) for weight in weights)


def labelled_flows(capture: bytes) -> Iterator[tuple[FlowPorts, int]]:
    """(flow, label) of the labelled frames in a capture: one label over IPv4 without options.

    Parameters
    ----------
    capture
        A pcap file; other frames are passed over.
    """
    ports_at = _ETHERNET_BYTES + _LABEL_BYTES + _IPV4_BYTES
    for _, frame, _ in pcap_records(capture):
        if len(frame) >= ports_at + _PORTS_BYTES and frame[12:14] == ETH_MPLS.to_bytes(2, "big"):
            (entry,) = struct.unpack_from(">I", frame, _ETHERNET_BYTES)
            yield FlowPorts(*struct.unpack_from(">HH", frame, ports_at)), entry >> _LABEL_SHIFT
