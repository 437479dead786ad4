"""Rows as figures read them: the columns that follow from the trial, and typed values of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeVar

from experiments.campaign.order import OK
from experiments.campaign.parameters import Parameters, typed, typed_part
from experiments.campaign.values import Json, Variant

ParametersT = TypeVar("ParametersT", bound=Parameters)
MeasuredT = TypeVar("MeasuredT")
Made = TypeVar("Made")
Rest = ParamSpec("Rest")


class OfVariant(Protocol):
    """A row that knows the name of its variant."""

    @property
    def variant(self) -> str | None:
        """Name of the variant; None where a figure has none."""


RowT = TypeVar("RowT", bound=OfVariant)


@dataclass(frozen=True, slots=True)
class Row(Generic[ParametersT, MeasuredT]):
    """A good row.

    Attributes
    ----------
    trial, topology, variant, round, links
        Of the trial.
    bfd_interval_ms
        That calibration chose; None where no network was emulated.
    parameters
        What decided its outcome besides.
    measured
        What its runner returned.
    """

    trial: str
    topology: str
    variant: str | None
    round: int
    links: tuple[str, ...]
    bfd_interval_ms: int | None
    parameters: ParametersT
    measured: MeasuredT


@dataclass(frozen=True, slots=True)
class RowType(Generic[ParametersT, MeasuredT]):
    """How stored rows of a kind are read.

    Attributes
    ----------
    kind
        Name of the kind.
    parameters, measured
        Types that `plain` wrote; columns that an earlier version did not write have their defaults.
    prefix
        With which trials begin, where trials of a kind have different parameters; empty: any.
    """

    kind: str
    parameters: type[ParametersT]
    measured: type[MeasuredT]
    prefix: str = ""

    def read(self, rows: Iterable[Json]) -> list[Row[ParametersT, MeasuredT]]:
        """Good rows of this kind among others (`BadInputError` when one is of another version)."""
        return [self._row(row) for row in rows if self._has(row)]

    def on(
        self, make: Callable[Concatenate[Sequence[Row[ParametersT, MeasuredT]], Rest], Made]
    ) -> Callable[Concatenate[Sequence[Json], Rest], Made]:
        """The function of stored rows for one of typed rows, as a figure's claims, picture and table are."""

        def of_stored(rows: Sequence[Json], /, *rest: Rest.args, **named: Rest.kwargs) -> Made:
            return make(self.read(rows), *rest, **named)

        return of_stored

    def _has(self, row: Json) -> bool:
        return bool(row["kind"] == self.kind and row["status"] == OK and row["trial"].startswith(self.prefix))

    def _row(self, row: Json) -> Row[ParametersT, MeasuredT]:
        return Row(
            trial=row["trial"],
            topology=row["topology"],
            variant=row["variant"],
            round=row["round"],
            links=tuple(row["links"]),
            bfd_interval_ms=row.get("bfd_interval_ms"),
            parameters=typed(self.parameters, row.get("parameters") or {}),
            measured=typed_part(self.measured, row),
        )


def of_variant(rows: Iterable[RowT], variant: Variant) -> list[RowT]:
    """Rows of one variant."""
    return [row for row in rows if row.variant == variant.name]
