"""Kind "verify": every failure case of a scheme, decided by the interpreter; no network is built."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.parameters import Parameters, typed
from experiments.campaign.values import Json


@dataclass(frozen=True, slots=True)
class VerifyParameters(Parameters):
    """Failed sets to draw by the trial's seed (None: all), and links that a tag can name (None: as the scheme says)."""

    sample: int | None = None
    max_failures: int | None = None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of all cases in a phase: `disconnected` pairs have no path left."""

    delivered: int
    dropped: int
    looped: int
    disconnected: int

    @property
    def joined(self) -> int:
        """Cases in which the pair still has a path."""
        return self.delivered + self.dropped + self.looped

    @property
    def joined_percent(self) -> float:
        """Delivered, per cent of those that are still joined (100 when there is none)."""
        return 100 * self.delivered / self.joined if self.joined else 100.0


@dataclass(frozen=True, slots=True)
class VerifyRow:
    """What figures read of the interpreter's result, which holds more (`armor verify --json`).

    Attributes
    ----------
    topology, variant, failures : str, str, int
        Of the trial.
    failure_sets, cases, looped, broken, longest_crankback
        Counts over all cases; `broken` are promises.
    mean_stretch
        None where nothing was delivered over another path.
    transient, converged
        Of the first packet, and after everything was learned or rewritten.
    most_rows, most_groups, most_backup_rows
        In the fullest switch.
    """

    topology: str
    variant: str
    failures: int
    failure_sets: int
    cases: int
    looped: int
    broken: int
    longest_crankback: int
    mean_stretch: float | None
    transient: Outcomes
    converged: Outcomes
    most_rows: int
    most_groups: int
    most_backup_rows: int


def read_rows(rows: Iterable[Json]) -> tuple[VerifyRow, ...]:
    """Good rows of this kind (`BadInputError` when one is of another version)."""
    return tuple(_row(row, row["result"]) for row in rows if row["kind"] == KIND.name)


def _row(row: Json, result: Json) -> VerifyRow:
    return typed(
        VerifyRow,
        {
            **{key: row[key] for key in ("topology", "variant", "failures")},
            **{key: result[key] for key in _COUNTS},
            **{name: result[key]["most"] for name, key in _MOST.items()},
        },
    )


_COUNTS = (
    *("failure_sets", "cases", "looped", "broken", "longest_crankback", "mean_stretch"),
    *("transient", "converged"),
)
_MOST = {"most_rows": "flows", "most_groups": "groups", "most_backup_rows": "backups"}

KIND = TrialKind("verify", "experiments.testbed.trials.verifying:verify_runner", after(1.0), root=False)
