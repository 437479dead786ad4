"""What the user may choose about a plan."""

from __future__ import annotations

from dataclasses import dataclass

from dataplane.model.marking import EVERY_PACKET, Marking
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import DEFAULT_MODE, DEFAULT_NOTIFICATION, FLOOD, MODES, NOTIFICATIONS, uses_agent
from ryu_apps.plan.protection import Protection
from te_solver.choices import METRICS, PLANNERS, ROUTES

_CHOICES = {
    "mode": MODES,
    "planner": PLANNERS,
    "routes": ROUTES,
    "metric": METRICS,
    "notification": NOTIFICATIONS,
}


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options of every scheme; a scheme ignores what it has no use for.

    Attributes
    ----------
    mode : {"learned", "agent"}
        Who ends the backtracking: the data plane by `learn`, or the switch-local agent.
    planner : {"tree", "pair", "tunnels"}
        Routes by destination; the paper's primary and backup port per pair; or the tunnels of traffic engineering.
    routes : {"spt", "mst"}
        Primary routes by shortest path or by minimum spanning tree.
    metric : {"hops", "delay"}
        Cost of a link.
    max_failures
        Largest number of failed links that a tag can name; None = 2 if the ids suffice, else 1.
    notification : {"flood", "off"}
        Whether the first packet that meets a failure makes switches notify the whole network of it.
    hard_timeout_s
        Life of learned rows; 0 = until the link returns. Agents have an option of their own for their rows.
    protection
        Protected flows of scheme protect.
    replayed
        Links whose packets schemes sqr and lossless keep, to retransmit them once the link has failed.
    marked
        Which packets these schemes keep. Scheme sqr has rows for them; under lossless the virtual port chooses.

    Raises
    ------
    BadInputError
        A value that is not among the choices, or one that its mode cannot heed.
    """

    mode: str = DEFAULT_MODE
    planner: str = "tree"
    routes: str = "spt"
    metric: str = "hops"
    max_failures: int | None = None
    hard_timeout_s: int = 0
    notification: str = DEFAULT_NOTIFICATION
    protection: Protection | None = None
    replayed: tuple[str, ...] = ()
    marked: Marking = EVERY_PACKET

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise BadInputError(f"unknown {name} {getattr(self, name)!r}; use one of {', '.join(choices)}")
        if self.max_failures is not None and self.max_failures < 0:
            raise BadInputError(f"max_failures is {self.max_failures}; use 0 or more")
        if not 0 <= self.hard_timeout_s <= 0xFFFF:
            raise BadInputError(f"hard_timeout_s is {self.hard_timeout_s}; use 0 (never) to 65535")
        if self.hard_timeout_s and self.uses_agent:
            raise BadInputError(
                f"hard_timeout_s is {self.hard_timeout_s}, but in {self.mode} mode agents make such rows; "
                f"leave it out and start the agents with --hard-timeout-s {self.hard_timeout_s}"
            )

    @property
    def uses_agent(self) -> bool:
        """Whether agents beside the switches end the backtracking."""
        return uses_agent(self.mode)

    @property
    def floods(self) -> bool:
        """Whether the data plane notifies the whole network of a failure."""
        return self.notification == FLOOD
