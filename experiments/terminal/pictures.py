"""Writes pictures to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 160


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file's ending; the same figure gives the same file."""
    import matplotlib as mpl

    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    with mpl.rc_context({"svg.hashsalt": "armor"}):
        figure.savefig(path, dpi=_DPI, metadata=metadata)
