"""`armor te sweep --figure ID`: run the sweep, redraw the figure from its rows, judge the claims."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.campaign.figure import Table
from experiments.campaign.kinds.sweep import LadderParameters
from experiments.campaign.verdicts import DIFFERS, ClaimResult, overall
from experiments.cli.reproduce_text import claims_text
from experiments.figures.kuijia import fig4
from experiments.te import record, scheme_sweep
from experiments.te.sweep import Json, SweepOptions, Unit, run_sweep
from experiments.terminal.output import emit, note, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure: its sweep (figures may share one), and how rows become a picture, a table and claims."""

    sweep: str
    units: Callable[[int, bool], list[Unit]]
    compute: Callable[[Mapping[str, Any]], Json]
    claims: Callable[[Sequence[Json]], list[ClaimResult]]
    draw: Callable[[Sequence[Json], str], Figure]
    table: Callable[[Sequence[Json]], Table]


def _fig4_units(seed: int, quick: bool) -> list[Unit]:
    units = fig4.units(seed, fig4.QUICK, fig4.QUICK) if quick else fig4.units(seed)
    return [Unit(name, parameters.to_json()) for name, parameters in units]


def _fig4_levels(parameters: Mapping[str, Any]) -> Json:
    return fig4.compute(LadderParameters(**{**parameters, "demands_mbps": tuple(parameters["demands_mbps"])}))


def _scheme_units(seed: int, quick: bool) -> list[Unit]:
    return scheme_sweep.units(seed, runs=1) if quick else scheme_sweep.units(seed)


def _no_claims(_rows: Sequence[Json]) -> list[ClaimResult]:
    return []


def _of_schemes(draw: Callable[[Sequence[Json], str], Figure]) -> FigureKind:
    """A figure of the sweep over all schemes."""
    return FigureKind("te-schemes", _scheme_units, scheme_sweep.compute, _no_claims, draw, scheme_sweep.table)


FIGURES = {
    fig4.ID: FigureKind(fig4.ID, _fig4_units, _fig4_levels, fig4.claims, fig4.draw, fig4.table),
    "te-schemes": _of_schemes(scheme_sweep.draw_losses),
    "te-ffc-price": _of_schemes(scheme_sweep.draw_price),
}


def sweep_figure(arguments: argparse.Namespace) -> int:
    """Run `armor te sweep`; exit code 1 when a claim differs."""
    kind = FIGURES[arguments.figure]
    base = Path(arguments.out or f"results/te/{arguments.figure}")
    # Figures of one sweep find each other's units.
    sweep_folder = base / "units" if arguments.out else base.parent / kind.sweep / "units"
    arguments.out = None
    options = SweepOptions(arguments.workers, arguments.dask, arguments.again)
    sweep = kind.units(arguments.seed, arguments.quick)
    done = run_sweep(sweep, kind.compute, sweep_folder, options)
    rows = [
        {"trial": f"{kind.sweep}/{unit.name}", "parameters": dict(unit.parameters), **result}
        for unit, result in zip(sweep, done.results, strict=True)
    ]
    claims = kind.claims(rows)
    base.mkdir(parents=True, exist_ok=True)
    record.write_rows(base, rows)
    record.write_pictures(base, kind.draw(rows, ""))
    value = {
        "id": arguments.figure,
        "quick": arguments.quick,
        "verdict": overall(claims),
        "claims": [claim.to_json() for claim in claims],
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
    emit(arguments, value, _text(kind, rows, value))
    note(f"written: {base}/figure.png, figure.svg, rows.jsonl, verdict.json")
    return 1 if value["verdict"] == DIFFERS else 0


def _text(kind: FigureKind, rows: Sequence[Json], value: Json) -> str:
    header, lines = kind.table(rows)
    parts = [table(lines, header, right=tuple(range(1, len(header))))]
    parts += [claims_text(value["claims"])] if value["claims"] else []
    parts.append(
        f"{value['units']} units, {value['units_computed']} computed now: "
        f"{value['seconds']:.2f} s wall, {value['cpu_seconds']:.2f} s CPU in the units"
    )
    return "\n\n".join(parts)
