"""Kind "flows": TCP or UDP over chosen tunnels of a network that stays up, and a link that fails."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import Row, RowType
from experiments.scenario.flow_values import FlowRecord


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
    random_intervals
        Whether datagrams of the table's flows leave at random intervals instead of equal ones.
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
    random_intervals: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """Links of a flow, as "s1>s2", before the failure and after it; empty: it is dropped at the ingress."""

    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """Payload rates before the failure and after it."""

    before_mbps: float
    after_mbps: float


@dataclass(frozen=True, slots=True)
class Windows:
    """Lengths: before the failure, after it, and of the last part of that, whose rates are those after."""

    before_s: float
    after_s: float
    final_s: float


@dataclass(frozen=True, slots=True)
class FlowsMeasured:
    """What became of a trial's flows.

    Attributes
    ----------
    paths, fluid
        By the flow's name; what te_solver's fluid delivers, nothing where there are no tunnels.
    links : by "s1>s2", window and queue
        Mbit/s.
    stages_ms
        From the failure until the controller was notified, and until the last switch had its rows (None: never).
    """

    failed_links: tuple[str, ...]
    flows: tuple[FlowRecord, ...]
    paths: dict[str, Path]
    links: dict[str, dict[str, dict[str, float]]]
    fluid: dict[str, Rates]
    stages_ms: dict[str, float | None]
    windows_s: Windows
    warnings: tuple[str, ...]
    trustworthy: bool
    load_per_core: float = 0.0


ROWS = RowType("flows", FlowsParameters, FlowsMeasured)
FlowsRow = Row[FlowsParameters, FlowsMeasured]
KIND = TrialKind("flows", "experiments.testbed.trials.flow_session:flow_runner", after(20.0), emulated=True)
