"""What became of the cases of a verification that follows whole streams: the part that is the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOST_EXAMPLES = 5
OUTCOMES = ("delivered", "disconnected", "looped", "dropped")


@dataclass
class CaseCounts:
    """Numbers of cases, by outcome; `broken` of them break what is promised, and `examples` are the first few."""

    topology: str
    failures: int
    cases: int = 0
    delivered: int = 0
    disconnected: int = 0
    dropped: int = 0
    looped: int = 0
    broken: int = 0
    seconds: float = 0.0
    examples: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return not self.broken

    def count(self, outcome: str, *, breaks: bool, what: str) -> None:
        """Count a case by its outcome; `what` describes one that breaks a promise."""
        self.cases += 1
        setattr(self, outcome, getattr(self, outcome) + 1)
        if breaks:
            self.broken += 1
            self.examples = (*self.examples, what)[:MOST_EXAMPLES]

    def shared_json(self) -> dict[str, Any]:
        """The keys of `armor verify --json` that do not depend on the scheme."""
        return {
            "topology": self.topology,
            "failures": self.failures,
            **{name: getattr(self, name) for name in ("cases", *OUTCOMES, "broken")},
            "mean_stretch": None,
            "seconds": self.seconds,
            "cases_per_s": self.cases / self.seconds if self.seconds else None,
            "examples": list(self.examples),
            "holds": self.holds,
        }
