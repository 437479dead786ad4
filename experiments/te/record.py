"""What a sweep leaves in its folder: rows, environment, verdict, pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.figures.charts import canvas
from experiments.te.sweep import Json
from machine.environment import SOLVER_PACKAGES, environment_facts
from machine.whole_file import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_rows(folder: Path, rows: Iterable[Json]) -> None:
    """rows.jsonl: everything that the pictures and claims are made of."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    write_whole(folder / "rows.jsonl", text)


def write_value(folder: Path, name: str, value: object) -> None:
    """One JSON file."""
    write_whole(folder / name, json.dumps(value, indent=2) + "\n")


def write_pictures(folder: Path, figure: Figure) -> None:
    """figure.png and figure.svg."""
    for ending in (".png", ".svg"):
        canvas.save(figure, folder / f"figure{ending}")


def environment(seed: int) -> Json:
    """Code, machine and versions that a sweep ran with."""
    facts = environment_facts(seed, SOLVER_PACKAGES)
    return {"finished": facts.pop("at"), **facts}
