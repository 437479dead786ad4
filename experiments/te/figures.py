"""`armor te sweep --figure ID`: run the sweep, redraw the figure from its rows, judge the claims."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cli.output import emit, note, table
from experiments.te import fig4, record, scheme_sweep
from experiments.te.sweep import Json, SweepOptions, Unit, run_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure: its sweep (figures may share one), and how rows become a picture, a table and claims."""

    sweep: str
    units: Callable[[int, bool], list[Unit]]
    compute: Callable[[Mapping[str, Any]], Json]
    to_rows: Callable[[Sequence[Unit], Sequence[Json]], list[Json]]
    draw: Callable[[Sequence[Json]], Figure]
    claims: Callable[[Sequence[Json]], list[Json]]
    table_rows: Callable[[Sequence[Json]], list[tuple[str, ...]]]
    header: tuple[str, ...]


def _fig4_units(seed: int, quick: bool) -> list[Unit]:
    return fig4.units(seed, graphs=2, runs=2) if quick else fig4.units(seed)


def _scheme_units(seed: int, quick: bool) -> list[Unit]:
    return scheme_sweep.units(seed, runs=1) if quick else scheme_sweep.units(seed)


def _no_claims(_rows: Sequence[Json]) -> list[Json]:
    return []


_SCHEME_HEADER = ("topology", "scheme", *(f"load {load:.1f}" for load in scheme_sweep.LOADS))
FIGURES = {
    "kuijia-fig4": FigureKind(
        "kuijia-fig4",
        _fig4_units,
        fig4.compute,
        fig4.to_rows,
        fig4.draw,
        fig4.claims,
        fig4.table_rows,
        ("Gbit/s", "centre: carried %", *fig4.SCHEMES, "vertex: carried %", *fig4.SCHEMES),
    ),
    "te-schemes": FigureKind(
        "te-schemes",
        _scheme_units,
        scheme_sweep.compute,
        scheme_sweep.to_rows,
        scheme_sweep.draw_losses,
        _no_claims,
        scheme_sweep.table_rows,
        _SCHEME_HEADER,
    ),
    "te-ffc-price": FigureKind(
        "te-schemes",
        _scheme_units,
        scheme_sweep.compute,
        scheme_sweep.to_rows,
        scheme_sweep.draw_price,
        _no_claims,
        scheme_sweep.table_rows,
        _SCHEME_HEADER,
    ),
}


def sweep_figure(arguments: argparse.Namespace) -> int:
    """Run `armor te sweep`; exit code 1 when a claim failed."""
    kind = FIGURES[arguments.figure]
    base = Path(arguments.out or f"results/te/{arguments.figure}")
    # Figures of one sweep find each other's units.
    sweep_folder = base / "units" if arguments.out else base.parent / kind.sweep / "units"
    arguments.out = None
    options = SweepOptions(arguments.workers, arguments.dask, arguments.again)
    sweep = kind.units(arguments.seed, arguments.quick)
    done = run_sweep(sweep, kind.compute, sweep_folder, options)
    rows = kind.to_rows(sweep, done.results)
    claims = kind.claims(rows)
    base.mkdir(parents=True, exist_ok=True)
    record.write_rows(base, rows)
    record.write_pictures(base, kind.draw(rows))
    value = {
        "id": arguments.figure,
        "quick": arguments.quick,
        "verdict": record.verdict(claims),
        "claims": claims,
        "trials": len(rows),
        "failed_trials": 0,
        "seconds": done.wall_s,
        "cpu_seconds": done.cpu_s,
        "units": len(sweep),
        "units_computed": done.computed,
        "folder": str(base),
    }
    record.write_value(base, "verdict.json", value)
    record.write_value(base, "environment.json", record.environment(arguments.seed))
    emit(arguments, value, _text(kind, rows, claims, value))
    note(f"written: {base}/figure.png, figure.svg, rows.jsonl, verdict.json")
    return 1 if value["verdict"] == "failed" else 0


def _text(kind: FigureKind, rows: Sequence[Json], claims: Sequence[Json], value: Json) -> str:
    lines = [table(kind.table_rows(rows), kind.header, right=tuple(range(1, len(kind.header)))), ""]
    for claim in claims:
        high = "" if claim["high"] is None else f" (at most {claim['high']:g})"
        lines.append(f"{claim['verdict']}: {claim['name']}: {claim['measured']:.4f} {claim['unit']}{high}")
    lines.append(
        f"{value['units']} units, {value['units_computed']} computed now: "
        f"{value['seconds']:.2f} s wall, {value['cpu_seconds']:.2f} s CPU in the units"
    )
    return "\n".join(lines)
