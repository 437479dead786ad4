"""Pages of recorded runs as files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experiments.live.decide.document import Document
from experiments.live.html import to_html
from experiments.live.replay import read_document
from experiments.report.folders import SCENARIO
from machine.whole_file import write_whole


def export(document: Document, page: Path) -> int:
    """Write a page as one file that opens offline; returns its size in bytes."""
    # Names come from files; a character that UTF-8 cannot hold is shown as a question mark.
    data = to_html(document).encode("utf-8", errors="replace")
    write_whole(page, data)
    return len(data)


def export_beside(page: Path, folders: Iterable[Path]) -> dict[Path, str]:
    """Write a page for each folder of a run beside another page; returns their names, `PAGE-live-1.html` and on.

    Raises
    ------
    BadInputError
        A folder cannot be read.
    """
    names: dict[Path, str] = {}
    for folder in dict.fromkeys(folders):
        if (folder / SCENARIO).is_file():
            names[folder] = f"{page.stem}-live-{len(names) + 1}.html"
            export(read_document(folder), page.with_name(names[folder]))
    return names
