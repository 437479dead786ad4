"""Kind "sweep": what is computed, and neither built nor measured."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind
from experiments.campaign.parameters import Parameters
from experiments.campaign.values import Trial


@dataclass(frozen=True, slots=True)
class MemoryParameters(Parameters):
    """Of kuijia-fig8: which tables are counted ("labels", "all")."""

    scope: str


@dataclass(frozen=True, slots=True)
class FieldsParameters(Parameters):
    """Of kuijia-fields: a drawing of pairs by a seed, demand of a pair, set-up of queues, and how pairs are served."""

    drawing: int
    seed: int
    demand_mbps: int
    setup: str
    pairs: int
    tunnels: int
    low_to_high: float


@dataclass(frozen=True, slots=True)
class LadderParameters(Parameters):
    """Of kuijia-fig4: a base allocation, a random graph and a run of pairs, with the sizes of both and all demands."""

    base_point: str
    graph: int
    run: int
    seed: int
    nodes: int
    links: int
    pairs: int
    capacity_mbps: float
    demands_mbps: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ClassifyParameters(Parameters):
    """Of pso-fig10: rules of the table, and how often one packet-in is classified."""

    rules: int
    batches: int
    batch: int


def _seconds(trial: Trial) -> float:
    return 1.25 if isinstance(trial.parameters, FieldsParameters) else 0.3


KIND = TrialKind("sweep", "experiments.figures.sweep:sweep_runner", _seconds, root=False)
