"""Memory of flow entries against the number of priorities (kuijia-fig8): fields of every shape of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import RowType
from ryu_apps.plan.ids import Table
from ryu_apps.plan.kuijia.figure8 import figure8

# Tables that are counted.
SCOPES: Mapping[str, tuple[Table, ...]] = {"labels": (Table.TE_TRANSIT,), "all": tuple(Table)}


@dataclass(frozen=True, slots=True)
class MemoryParameters(Parameters):
    """Which tables are counted: a key of `SCOPES`."""

    scope: str


@dataclass(frozen=True, slots=True)
class Point:
    """Match fields and actions of all switches, for a number of priorities, in each shape."""

    n_priorities: int
    replicated: int
    two_table: int
    decomposed: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Points for 1 to 8 priorities."""

    points: tuple[Point, ...]


ROWS = RowType("sweep", MemoryParameters, Memory, "kuijia-fig8/")


def count_memory(own: MemoryParameters) -> Memory:
    """Fields of every shape, for 1 to 8 priorities."""
    return Memory(tuple(Point(*point) for point in figure8(SCOPES[own.scope])))
