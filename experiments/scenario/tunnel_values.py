"""What a scenario says about tunnels, queues and flows, and what it expects of them."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.scenario.flow_values import Flow
from ryu_apps.plan.choices import NOTIFIERS, PRIORITIES, SHAPES, TUNNEL_FIELDS
from te_solver.choices import OBJECTIVES, TE_SOLVERS, TUNNEL_KINDS

QUEUES = (*PRIORITIES, "low-queue")


@dataclass(frozen=True, slots=True)
class TunnelConfiguration:
    """How tunnels are planned; names as in `armor te` and the settings of the controller.

    Attributes
    ----------
    demands
        A generator's specification or a file; empty: all pairs, tunnels of equal weight.
    given
        Demands as the text of a JSON list, in place of `demands`; empty: none.
    tunnels
        How many a pair gets at most.
    te_solver
        What solves the throughput program.
    low_to_high
        Splits every demand into two classes, this many times as much low as high.
    shape
        Shape of the tables that are installed.
    notified_by
        Who answers failed tunnels: the controller, or the agents of the switches.
    tunnel_field
        What packets carry their tunnel and their tag in.
    """

    demands: str = ""
    given: str = ""
    tunnels: int = 3
    tunnel_kind: str = TUNNEL_KINDS[0]
    objective: str = OBJECTIVES[0]
    te_solver: str = TE_SOLVERS[0]
    low_to_high: float | None = None
    shape: str = SHAPES[0]
    notified_by: str = NOTIFIERS[0]
    tunnel_field: str = TUNNEL_FIELDS[0]


@dataclass(frozen=True, slots=True)
class WantedFlow:
    """A flow, and the tunnels that it is meant for where they are named by their nodes; empty: as `flow` says."""

    flow: Flow
    via: tuple[str, ...] = ()
    moves_via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """What a scenario expects of a flow.

    Attributes
    ----------
    scheme
        None: under every scheme.
    before_mbps, after_mbps
        Payload rates; None: nothing is expected.
    after_below_mbps
        The rate after is lower than this.
    within_percent
        How far a rate may be off: of the expected rate, or of what the flow offers where none is expected to be left.
    """

    flow: str
    scheme: str | None = None
    before_mbps: float | None = None
    after_mbps: float | None = None
    after_below_mbps: float | None = None
    within_percent: float = 10.0


@dataclass(frozen=True, slots=True)
class Rerun:
    """A run of traffic engineering while flows run: when, and with which demands (a JSON list; empty: the same)."""

    at_s: float
    given: str = ""
