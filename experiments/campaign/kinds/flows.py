"""Kind "flows": TCP or UDP over chosen tunnels of a network that stays up, and a link that fails."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters


@dataclass(frozen=True, slots=True)
class FlowsParameters(Parameters):
    """One trial; what concerns drawn pairs is None where a table's four flows are sent, and the other way round.

    Attributes
    ----------
    network
        Demands and set-up of queues: trials with others cannot share a network.
    drawing, seed
        Pairs, and the link that fails.
    transport
        "tcp" or "udp".
    queues
        Set-up of queues.
    scale
        The paper's rates over ours.
    headroom
        Capacity of links over the scaled one.
    tunnels
        Of a pair.
    least_bfd_ms
        Steady rates are compared, not detection; a pause of three short intervals of a busy machine moves flows that
        nothing broke.
    demand_mbps
        Of a pair, in the paper's Mbit/s.
    pairs
        Drawn.
    low_to_high
        Of both classes, where there are queues for them.
    offered_share
        What flows send of their allocation.
    least_allocated_mbps
        What the tunnels over the drawn link carry at least at every demand, in the paper's Mbit/s; less is no traffic.
    table
        Table of the paper whose flows are sent.
    table_mbps : (float, float) or None
        What its flows f1 and f2, and its flows f3 and f4 offer each, in the paper's Mbit/s.
    settle_s
        That flows are sent before the first window.
    """

    network: str
    drawing: int
    seed: int
    transport: str
    queues: str
    scale: float
    headroom: float
    tunnels: int
    wait_to_restore_s: float = 1.0
    least_bfd_ms: int = 100
    demand_mbps: int | None = None
    pairs: int | None = None
    low_to_high: float | None = None
    offered_share: float | None = None
    least_allocated_mbps: float | None = None
    table: str | None = None
    table_mbps: tuple[float, float] | None = None
    settle_s: float = 3.0


KIND = TrialKind("flows", "experiments.testbed.trials.flow_session:flow_runner", after(8.0), emulated=True)
