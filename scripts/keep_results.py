"""Keep what `armor reproduce`, `armor torture` or `armor drill` has written, for reference_results/.

Usage: ``.venv/bin/python scripts/keep_results.py FOLDER reference_results/NAME``. Kept are descriptions, rows (packed),
verdicts, and pictures as PNG: enough to judge and draw all of it again. Names of folders of this machine are shortened.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from experiments.campaign.act.store import ENVIRONMENT, PACKED_ROWS, ROWS

_KEPT = ("*.json", "*/verdict.json", "*/figure.png")


def keep(folder: Path, target: Path) -> None:
    """Keep a folder of results as another one, which must not be there yet.

    Raises
    ------
    FileNotFoundError
        The folder has no rows or no environment.
    FileExistsError
        The target is there.
    """
    packed = gzip.compress((folder / ROWS).read_bytes(), mtime=0)
    command = json.loads((folder / ENVIRONMENT).read_text(encoding="utf-8"))["command"]
    places = [word for word in command if word.startswith("/")]
    target.mkdir(parents=True)
    (target / PACKED_ROWS).write_bytes(packed)
    for file in (path for pattern in _KEPT for path in folder.glob(pattern)):
        copy = target / file.relative_to(folder)
        copy.parent.mkdir(exist_ok=True)
        if file.suffix != ".json":
            copy.write_bytes(file.read_bytes())
            continue
        text = file.read_text(encoding="utf-8")
        for place in places:
            text = text.replace(place, Path(place).name)
        copy.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Keep, or say what is missing."""
    if len(arguments) != 2:
        print("usage: keep_results.py FOLDER TARGET", file=sys.stderr)
        return 2
    try:
        keep(*map(Path, arguments))
    except OSError as error:
        print(f"nothing kept: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
