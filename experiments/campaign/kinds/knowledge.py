"""Kind "knowledge": a link fails under pings, and the tables of all switches are watched: when does each route know?

A route is a switch and a destination whose usual path from there crosses the failed link.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.kinds.probed import WatchedParameters
from experiments.campaign.parameters import typed_part
from experiments.campaign.values import Json


@dataclass(frozen=True, slots=True)
class KnowledgeParameters(WatchedParameters):
    """As `WatchedParameters`; trials without watchers of rows cannot share the `network`."""

    network: str = "rows watched"


@dataclass(frozen=True, slots=True)
class KnowingRoute:
    """When the first recovery row of a route was in force, ms since detection (0: before); None: none came."""

    node: str
    destination: str
    knew_ms: float | None


@dataclass(frozen=True, slots=True)
class KnowledgeRow:
    """What figures read of a row.

    Attributes
    ----------
    variant, round, links
        Of the trial.
    detected_ms
        After the failure, by the watcher's clock; None: nobody reported it, and no route has a time.
    watched_ms
        Since detection, until the link was repaired.
    notifications
        Frames on links from the failure to the repair.
    """

    variant: str
    round: int
    links: tuple[str, ...]
    detected_ms: float | None
    watched_ms: float | None
    notifications: int
    routes: tuple[KnowingRoute, ...]


def read_row(row: Json) -> KnowledgeRow:
    """A good row of this kind (`BadInputError`)."""
    return typed_part(KnowledgeRow, row)


KIND = TrialKind(
    "knowledge", "experiments.testbed.trials.knowledge_session:knowledge_runner", after(6.0), emulated=True
)
