"""Files that pages name are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.quality.layers import PACKAGES, ROOT

_TOPS = "|".join((*PACKAGES, "tests", "scripts", "docs", "examples", "benchmarks", "requirements", "reference_results"))
_PATH = re.compile(rf"`((?:{_TOPS})/[\w/.-]+)`")
_PLACEHOLDER = re.compile(r"[A-Z]{2}")


def missing(text: str, root: Path) -> Iterator[str]:
    """Paths in backticks that are not there; NAME, ID and the like stand for a name."""
    for path in _PATH.findall(text):
        if not (root / path).exists() and not _PLACEHOLDER.search(path):
            yield path


def test_every_named_file_is_there() -> None:
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    assert [f"{page.relative_to(ROOT)}: {path}" for page in pages for path in missing(page.read_text(), ROOT)] == []


def test_a_file_that_went_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    text = "`docs`, `docs/gone.md`, `ryu_apps/NAME.py`, `tests/gone/` and `armor plan`"
    assert list(missing(text, tmp_path)) == ["docs/gone.md", "tests/gone/"]
