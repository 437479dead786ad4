"""What a verification found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

KEPT_EXAMPLES = 5
_LARGEST = ("longest_crankback", "most_rows", "most_switches", "most_rounds", "most_sets", "most_frames")


@dataclass
class Stage:
    """Fates of all cases in one condition of the network; they add up to the number of cases."""

    delivered: int = 0
    disconnected: int = 0
    dropped: int = 0
    looped: int = 0


@dataclass
class Rewriting:
    """How much a restoring controller rewrites, summed over failed sets, and the most for one of them."""

    rows: int = 0
    switches: int = 0
    most_rows: int = 0
    most_switches: int = 0


@dataclass
class Notifying:
    """How failures are notified, summed over failed sets, and the most for one of them.

    Attributes
    ----------
    rounds, most_rounds
        Everybody sends a packet in each round: how many rounds there are in which one backtracks.
    sets, most_sets
        Sets of failed links that notifications name.
    frames, most_frames
        Frames on links that these take at most.
    """

    rounds: int = 0
    most_rounds: int = 0
    sets: int = 0
    most_sets: int = 0
    frames: int = 0
    most_frames: int = 0


@dataclass
class Tally:
    """Counts over cases; a case is an ordered pair and a set of failed links that hits its primary path.

    Attributes
    ----------
    delivered, disconnected, looped, dropped
        From the first packet until the path has settled: before any controller acts (every possibility of a partly
        updated network), and after it has. A case is `delivered` when every possibility delivers, `disconnected`
        when the failure parts the pair (then the packet must be dropped, never looped), `looped` if any possibility
        loops, else `dropped`.
    parted
        Cases whose pair the failure parts, whatever becomes of the packets.
    promised, broken
        Cases that the scheme promises to deliver, before or after its controller acts; those that break a promise.
    crankback_cases, longest_crankback
        First packets that backtrack, and over how many links.
    backtracking_after_convergence, reply_backtracks
        Cases whose packets still backtrack when the path has settled; whose first reply does.
    micro_loops, micro_loops_on_return
        Cases that loop neither before nor after the controller acts, but can while some switches have their new rows
        and some have not; the same when the links are back.
    transient, converged
        Without the controller, every possibility; and the settled path, with the controller if there is one.
    updating, returning
        While the controller writes, with any set of switches already written.
    tagged_after_convergence
        Cases whose settled packets still carry a tag somewhere.
    """

    cases: int = 0
    delivered: int = 0
    disconnected: int = 0
    looped: int = 0
    dropped: int = 0
    parted: int = 0
    promised: int = 0
    broken: int = 0
    crankback_cases: int = 0
    longest_crankback: int = 0
    backtracking_after_convergence: int = 0
    tagged_after_convergence: int = 0
    reply_backtracks: int = 0
    micro_loops: int = 0
    micro_loops_on_return: int = 0
    stretch_sum: float = 0.0
    stretch_cases: int = 0
    first_stretch_sum: float = 0.0
    first_stretch_cases: int = 0
    transient: Stage = field(default_factory=Stage)
    updating: Stage = field(default_factory=Stage)
    returning: Stage = field(default_factory=Stage)
    converged: Stage = field(default_factory=Stage)
    rewriting: Rewriting = field(default_factory=Rewriting)
    notifying: Notifying | None = None
    examples: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another tally's counts."""
        _add(self, other)
        self.examples = self.examples[:KEPT_EXAMPLES]


def _add(total: Any, part: Any) -> None:
    """Add numbers and lists by name, and the parts of parts; of what is a largest value, keep the larger."""
    for name, value in vars(part).items():
        held = getattr(total, name)
        if value is None:
            continue
        if held is None:
            setattr(total, name, value)
        elif isinstance(value, (Stage, Rewriting, Notifying)):
            _add(held, value)
        else:
            setattr(total, name, max(held, value) if name in _LARGEST else held + value)


@dataclass(frozen=True)
class TableSizes:
    """Rows of one kind in the switches: in the fullest, and on average."""

    most: int
    mean: float

    @classmethod
    def of(cls, counts: list[int]) -> TableSizes:
        """Sizes from one count a switch."""
        return cls(max(counts), round(sum(counts) / len(counts), 2))


@dataclass(frozen=True)
class VerifyResult:
    """Result of `armor verify`: what was asked, the tally, and the time it took.

    Attributes
    ----------
    sizes
        Sizes of the switches' "flows", "groups" and "backups" (rows for failed links, which wait for an agent).
    restores
        Whether a controller rewrites routes.
    nodes
        Whether `failures` counts switches, each with all its links.
    """

    topology: str
    scheme: str
    mode: str
    planner: str
    routes: str
    failures: int
    max_failures: int | None
    failure_sets: int
    tally: Tally
    sizes: dict[str, TableSizes]
    restores: bool
    plan_seconds: float
    seconds: float
    jobs: int
    nodes: bool = False

    @property
    def holds(self) -> bool:
        """No case breaks what the scheme promises."""
        return self.tally.broken == 0

    @property
    def mean_stretch(self) -> float | None:
        """Hops after convergence over the fewest hops that are left, mean over delivered cases."""
        return _mean(self.tally.stretch_sum, self.tally.stretch_cases)

    @property
    def first_stretch(self) -> float | None:
        """The same for first packets, which backtrack."""
        return _mean(self.tally.first_stretch_sum, self.tally.first_stretch_cases)

    def to_json(self) -> dict[str, Any]:
        """Mapping of plain values; docs/verify.md says what each key means."""
        counts = {name: value for name, value in asdict(self.tally).items() if "stretch" not in name}
        examples, stages = counts.pop("examples"), self._stages(counts)
        return {
            "topology": self.topology,
            "planner": self.planner,
            "scheme": self.scheme,
            "mode": self.mode,
            "routes": self.routes,
            "failures": self.failures,
            "nodes": self.nodes,
            "max_failures": self.max_failures,
            "failure_sets": self.failure_sets,
            **counts,
            "mean_stretch": self.mean_stretch,
            "first_stretch": self.first_stretch,
            **stages,
            **{name: asdict(size) for name, size in self.sizes.items()},
            "seconds": round(self.seconds, 4),
            "cases_per_s": round(self.tally.cases / self.seconds, 1) if self.seconds else None,
            "plan_seconds": round(self.plan_seconds, 4),
            "jobs": self.jobs,
            "holds": self.holds,
            "examples": examples,
        }

    def _stages(self, counts: dict[str, Any]) -> dict[str, Any]:
        """The parts of a tally that are objects; null for what takes a controller that restores, where none does."""
        parts = ("transient", "updating", "converged", "returning", "rewriting", "notifying")
        stages = {name: counts.pop(name) for name in parts}
        if stages["notifying"] is not None:
            for name in ("rounds", "sets", "frames"):
                stages["notifying"][f"mean_{name}"] = round(stages["notifying"].pop(name) / self.failure_sets, 2)
        rewriting = stages["rewriting"]
        for name in ("rows", "switches"):
            rewriting[f"mean_{name}"] = round(rewriting.pop(name) / self.failure_sets, 2)
        if not self.restores:
            stages |= dict.fromkeys(("updating", "returning", "rewriting"))
        return stages


def _mean(total: float, count: int) -> float | None:
    return round(total / count, 4) if count else None
