"""Folders of results as values: a run (or demo), a campaign, rounds of a torture or drill. Reading only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.campaign.act.store import CALIBRATION, CAMPAIGN, ENVIRONMENT, ROWS, Store, rows_bytes
from experiments.campaign.stored_keys import current_keys
from experiments.report.blocks import Picture
from mininet_topos.errors import BadInputError
from mininet_topos.input_files import parse_json, read_bytes, read_text

Json = dict[str, Any]
SCENARIO, VERDICT, PROBES = "scenario.yaml", "verdict.json", "probes.jsonl"
# A drawing of ten thousand dots is smaller as pixels than as lines.
MAX_SVG_BYTES = 300_000


@dataclass(frozen=True)
class RunFolder:
    """What `armor run` or `armor demo` wrote; `returned` are the rows of probes that backtracked."""

    path: Path
    scenario: str
    environment: Json
    verdict: Json
    rows: tuple[Json, ...]
    returned: tuple[Json, ...]
    delay: Picture | None
    topology: Picture | None
    knowledge: Picture | None = None


@dataclass(frozen=True)
class FigureResult:
    """One id: its verdict file, and its picture."""

    verdict: Json
    picture: Picture | None


@dataclass(frozen=True)
class CampaignFolder:
    """What `armor reproduce` or `armor te sweep` wrote, finished or not."""

    path: Path
    description: Json
    calibration: Json | None
    environment: Json
    rows: tuple[Json, ...]
    figures: tuple[FigureResult, ...]


@dataclass(frozen=True)
class RoundsFolder:
    """What `armor torture` or `armor drill` wrote, finished or not; `rows` has a row a round."""

    path: Path
    environment: Json
    verdict: Json
    rows: tuple[Json, ...]


Folder = RunFolder | CampaignFolder | RoundsFolder


def read_folder(path: Path) -> Folder:
    """Read a folder of results.

    Raises
    ------
    BadInputError
        It is none, or one of its files is missing or cannot be read.
    """
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except OSError as error:
        raise BadInputError(f"{str(path)!r} cannot be read ({error.strerror}); name a folder of results") from error
    if not is_folder:
        what = "is no folder" if is_there else "does not exist"
        raise BadInputError(f"{str(path)!r} {what}; name a folder that 'armor run' or 'armor reproduce' has written")
    if (path / CAMPAIGN).is_file():
        return _campaign(path)
    if (path / SCENARIO).is_file():
        return _run(path)
    if (path / VERDICT).is_file():
        return _rounds(path)
    raise BadInputError(
        f"{str(path)!r} holds no results (none of {CAMPAIGN}, {SCENARIO}, {VERDICT}); "
        "name a folder that 'armor run', 'armor reproduce', 'armor te sweep' or 'armor torture' has written"
    )


def read_object(path: Path) -> Json:
    """One JSON object.

    Raises
    ------
    BadInputError
        It is missing, unreadable, or something else.
    """
    if not path.exists():
        raise BadInputError(
            f"{str(path)!r} is missing: what should have written it was broken off, or the folder was changed; "
            "run it again in a new folder"
        )
    content = read_bytes(path, repr(str(path)))
    try:
        value = parse_json(content)
    except BadInputError as error:
        raise BadInputError(f"{str(path)!r} cannot be read ({error}); run it again in a new folder") from error
    if not isinstance(value, dict):
        raise BadInputError(f"{str(path)!r} holds no JSON object; run it again")
    return current_keys(value)


def read_rows(path: Path, having: str = "") -> list[Json]:
    """Rows of a file of JSON lines; with `having`, only lines that contain it are parsed.

    Raises
    ------
    BadInputError
        It is missing or cannot be read, or a line is no JSON object.
    """
    rows = []
    try:
        with path.open(encoding="utf-8") as lines:
            for count, line in enumerate(lines, 1):
                if having in line:
                    rows.append(_row(path, count, line))
    except FileNotFoundError:
        raise BadInputError(f"{str(path)!r} is missing; run it again in a new folder") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{str(path)!r} cannot be read ({error}); run it again in a new folder") from error
    return rows


def read_picture(folder: Path, stem: str, alt: str) -> Picture | None:
    """The picture of this name: SVG unless that is large; None when there is none."""
    svg, png = folder / f"{stem}.svg", folder / f"{stem}.png"
    found = [path for path in (svg, png) if path.is_file()]
    if not found:
        return None
    path = found[-1] if svg.is_file() and svg.stat().st_size > MAX_SVG_BYTES else found[0]
    try:
        return Picture(alt, path.read_bytes(), path.suffix)
    except OSError as error:
        raise BadInputError(f"{str(path)!r} cannot be read ({error.strerror})") from error


def _row(path: Path, count: int, line: str) -> Json:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"{str(path)!r}, line {count}, is no JSON ({error}); run it again") from error
    if not isinstance(row, dict):
        raise BadInputError(f"{str(path)!r}, line {count}, holds no JSON object; run it again")
    return current_keys(row)


def _run(path: Path) -> RunFolder:
    verdict = read_object(path / VERDICT)
    # Where every run broke off, no packet was recorded.
    probes = path / PROBES
    returned = read_rows(probes, having='"route":') if probes.is_file() else []
    return RunFolder(
        path=path,
        scenario=read_text(path / SCENARIO, repr(str(path / SCENARIO))),
        environment=read_object(path / ENVIRONMENT),
        verdict=verdict,
        rows=tuple(read_rows(path / ROWS)) if (path / ROWS).is_file() else (),
        returned=tuple(returned),
        delay=read_picture(path, "figure", "One-way delay of every probe packet around the failures, per run"),
        topology=read_picture(path, "topology", "The topology with the failed link, the primary path and the new path"),
        knowledge=read_picture(
            path, "knowledge", "When each switch first sent or received a notification of the failure"
        ),
    )


def _campaign(path: Path) -> CampaignFolder:
    store = Store.open(path)
    description = store.description
    names = [file.parent.name for file in sorted(path.glob(f"*/{VERDICT}"))]
    asked = [str(name) for name in _ids(description)]
    ordered: Sequence[str] = [
        *(name for name in asked if name in names),
        *(name for name in names if name not in asked),
    ]
    return CampaignFolder(
        path=path,
        description=description,
        calibration=store.read_json(CALIBRATION),
        environment=store.read_json(ENVIRONMENT) or {},
        rows=tuple(store.rows()),
        figures=tuple(_figure(path / name, {"id": name, **read_object(path / name / VERDICT)}) for name in ordered),
    )


def _rounds(path: Path) -> RoundsFolder:
    verdict = read_object(path / VERDICT)
    lines = rows_bytes(path).decode("utf-8", errors="replace").split("\n")[:-1]  # after the last line break: torn
    rows = tuple(_row(path / ROWS, number, line) for number, line in enumerate(lines, 1))
    return RoundsFolder(path, read_object(path / ENVIRONMENT), verdict, rows)


def _ids(description: Json) -> Sequence[Any]:
    ids = description.get("ids", ())
    return ids if isinstance(ids, list) else ()


def _figure(folder: Path, verdict: Json) -> FigureResult:
    name = verdict.get("title") or verdict.get("id") or folder.name
    return FigureResult(
        verdict, read_picture(folder, "figure", f"Figure of {name}; its numbers are in the tables below")
    )
