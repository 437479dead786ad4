"""What a verification found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

KEPT_EXAMPLES = 5


@dataclass
class Tally:
    """Counts over cases; a case is an ordered pair and a set of failed links that hits its primary path.

    A case is `delivered` when every possibility delivers, `disconnected` when the failure parts the
    pair (then the packet must be dropped, never looped), `looped` if any possibility loops, else
    `dropped`. `broken` counts the cases that break what the scheme promises.
    """

    cases: int = 0
    delivered: int = 0
    disconnected: int = 0
    looped: int = 0
    dropped: int = 0
    promised: int = 0
    broken: int = 0
    crankback_cases: int = 0
    longest_crankback: int = 0
    backtracking_after_convergence: int = 0
    reply_backtracks: int = 0
    stretch_sum: float = 0.0
    stretch_cases: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another tally's counts."""
        for name in (
            "cases delivered disconnected looped dropped promised broken crankback_cases "
            "backtracking_after_convergence reply_backtracks stretch_sum stretch_cases"
        ).split():
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest_crankback = max(self.longest_crankback, other.longest_crankback)
        self.examples = (self.examples + other.examples)[:KEPT_EXAMPLES]


@dataclass(frozen=True)
class VerifyResult:
    """Result of `armor verify`: what was asked, the tally, and the time it took."""

    topology: str
    scheme: str
    mode: str
    planner: str
    routes: str
    failures: int
    max_failures: int | None
    failure_sets: int
    tally: Tally
    plan_seconds: float
    seconds: float
    jobs: int

    @property
    def holds(self) -> bool:
        """No case breaks what the scheme promises."""
        return self.tally.broken == 0

    @property
    def mean_stretch(self) -> float | None:
        """Hops after convergence over the fewest hops that are left, mean over delivered cases."""
        return self.tally.stretch_sum / self.tally.stretch_cases if self.tally.stretch_cases else None

    def to_json(self) -> dict[str, Any]:
        """Flat mapping."""
        counts = asdict(self.tally)
        stretch, examples = self.mean_stretch, counts.pop("examples")
        for internal in ("stretch_sum", "stretch_cases"):
            counts.pop(internal)
        return {
            "topology": self.topology,
            "planner": self.planner,
            "scheme": self.scheme,
            "mode": self.mode,
            "routes": self.routes,
            "failures": self.failures,
            "max_failures": self.max_failures,
            "failure_sets": self.failure_sets,
            **counts,
            "mean_stretch": None if stretch is None else round(stretch, 4),
            "seconds": round(self.seconds, 4),
            "cases_per_s": round(self.tally.cases / self.seconds, 1) if self.seconds else None,
            "plan_seconds": round(self.plan_seconds, 4),
            "jobs": self.jobs,
            "holds": self.holds,
            "examples": examples,
        }
