"""What a controller asks of traffic engineering, and the commodities that come back, as JSON between two processes.

Solvers bring a compiler and libraries that a controller need not hold, and they compute for long, while a controller
has to hear of failures: so they run in a process of their own (engineer.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId, Topology
from ryu_apps.plan.choices import SHAPES
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.options import Prefix, TunnelOptions, parse_prefix
from ryu_apps.plan.scheme import TunnelFailover
from te_solver.choices import MAX_TUNNELS, OBJECTIVES, TE_SOLVERS, TUNNEL_KINDS


@dataclass(frozen=True)
class TrafficSettings:
    """How tunnels are planned; names as in `armor te` and `armor plan`.

    Attributes
    ----------
    demands
        A generator's specification or a CSV or JSON file; empty: all pairs, tunnels of equal weight.
    tunnels
        How many a pair gets at most.
    te_solver
        What solves the throughput program; other objectives have cvxpy alone.
    seed
        Of generated demands.
    te_interval_s
        Time between two runs of traffic engineering; 0: on demand only.
    shape
        Shape of the tables that are installed (plan/kuijia/installed.py).

    Raises
    ------
    BadInputError
        A value that is not among the choices, or values that do not go together.
    """

    demands: str = ""
    tunnels: int = 3
    tunnel_kind: str = "disjoint"
    objective: str = OBJECTIVES[0]
    te_solver: str = TE_SOLVERS[0]
    default_capacity_mbps: float | None = None
    low_to_high: float | None = None
    seed: int = 1
    te_interval_s: float = 0.0
    shape: str = SHAPES[0]
    options: TunnelOptions = field(default_factory=TunnelOptions)

    def __post_init__(self) -> None:
        for name, choices in (
            ("tunnel_kind", TUNNEL_KINDS),
            ("objective", OBJECTIVES),
            ("te_solver", TE_SOLVERS),
            ("shape", SHAPES),
        ):
            if getattr(self, name) not in choices:
                raise BadInputError(
                    f"setting {name} = {getattr(self, name)!r} is unknown; use one of {', '.join(choices)}"
                )
        if not 1 <= self.tunnels <= MAX_TUNNELS:
            raise BadInputError(f"setting tunnels = {self.tunnels} is no number of tunnels; use 1..{MAX_TUNNELS}")
        if self.by_agents and self.te_interval_s:
            raise BadInputError(
                f"setting te_interval_s = {self.te_interval_s:g} replaces tunnels, and agents keep theirs; "
                "remove it, or let the controller notify (notified_by = controller)"
            )

    @property
    def by_agents(self) -> bool:
        """Whether the agents of the switches answer the failure of tunnels."""
        return self.options.by_agents


@dataclass(frozen=True)
class Question:
    """What traffic engineering is to decide.

    Attributes
    ----------
    demands
        As in `TrafficSettings`.
    given
        Demands as the text of a JSON list, in place of `demands`; empty: none.
    tunnels, tunnel_kind, objective, te_solver, default_capacity_mbps, low_to_high, seed
        As in `TrafficSettings`.
    avoided
        Links that carry nothing.
    precomputes, reserved_failures
        As the scheme says (plan/scheme.py, `TunnelFailover`).
    """

    topology: str
    metric: str
    demands: str = ""
    given: str = ""
    tunnels: int = 3
    tunnel_kind: str = "disjoint"
    objective: str = OBJECTIVES[0]
    te_solver: str = TE_SOLVERS[0]
    default_capacity_mbps: float | None = None
    low_to_high: float | None = None
    seed: int = 1
    avoided: tuple[str, ...] = ()
    precomputes: bool = False
    reserved_failures: int = 0

    def to_json(self) -> str:
        """The question as text."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Solved:
    """How the linear program of an answer was solved.

    Attributes
    ----------
    solver
        "cvxpy", "fast", or both.
    demands, tunnels
        Size of the program.
    mbps
        What the demands get.
    gap
        Relative distance to what no allocation can pass.
    seconds
        Wall time, loading of the solver included.
    """

    solver: str
    demands: int
    tunnels: int
    mbps: float
    gap: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer: commodities, and how they were solved; None: nothing was asked for, so tunnels have equal weight."""

    commodities: tuple[TunnelCommodity, ...]
    solved: Solved | None = None


def question_of(
    topology: str, metric: str, settings: TrafficSettings, failover: TunnelFailover | None = None
) -> Question:
    """The question that the settings ask while every link works, for a scheme's failover (None: nothing special)."""
    known = asdict(settings)
    del known["options"], known["te_interval_s"], known["shape"]
    if failover is not None:
        known |= {"precomputes": failover.precomputes, "reserved_failures": failover.reserved_failures}
    return Question(topology, metric, **known)


def with_failures(question: Question, avoided: Iterable[str], given: str = "") -> Question:
    """The question while links carry nothing, with other demands unless `given` is empty."""
    return replace(question, avoided=tuple(sorted(avoided)), given=given or question.given)


def question_from_json(text: str) -> Question:
    """The question of a text that `Question.to_json` made."""
    fields = json.loads(text)
    return Question(**{**fields, "avoided": tuple(fields["avoided"])})


def decision_from_json(value: dict[str, Any]) -> Decision:
    """The decision of JSON that `dataclasses.asdict` made."""
    commodities = tuple(
        TunnelCommodity(
            each["src"],
            each["dst"],
            tuple(tuple(Direction(*hop) for hop in path) for path in each["paths"]),
            tuple(each["weights"]),
            each["priority"],
            tuple((LinkId(*link), tuple(weights)) for link, weights in each["failure_weights"]),
        )
        for each in value["commodities"]
    )
    return Decision(commodities, None if value["solved"] is None else Solved(**value["solved"]))


def solved_event(decision: Decision) -> dict[str, Any]:
    """The event of the controller about how a decision was found."""
    if decision.solved is None:
        return {"event": "te_equal", "commodities": len(decision.commodities)}
    return {"event": "te_solved", **asdict(decision.solved)}


def without_links(topology: Topology, links: Iterable[str]) -> Topology:
    """The topology with the same nodes and what is left of its links."""
    gone = {topology.parse_link(link) for link in links}
    left = tuple(link for link in topology.links if topology.link_id(link.direction) not in gone)
    return replace(topology, links=left)


def prefixes_from_text(text: str) -> tuple[tuple[str, tuple[Prefix, ...]], ...]:
    """Prefixes of "s4=10.0.2.0/24,s4=10.0.3.0/24,s5=...".

    Raises
    ------
    BadInputError
        An item that is no NODE=PREFIX.
    """
    found: dict[str, tuple[Prefix, ...]] = {}
    for item in (item.strip() for item in text.split(",") if item.strip()):
        node, equals, prefix = item.partition("=")
        if not equals:
            raise BadInputError(f"setting prefixes: {item!r} names no switch; write NODE=PREFIX,NODE=PREFIX")
        found[node] = (*found.get(node, ()), parse_prefix(prefix))
    return tuple(found.items())
