"""What commands print: JSON or aligned text, to standard output or to the file of --out; progress to standard error."""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mininet_topos.errors import BadInputError

_LINE_EVERY_S = 10.0


class Progress(Protocol):
    """Something that counts; shown as a bar on a terminal, as a line now and then elsewhere."""

    def update(self, n: int = 1) -> object:
        """Count `n` more."""

    def set_description_str(self, text: str) -> None:
        """Say what is going on."""


class _Lines:
    """Progress in a log: a line every ten seconds at most, so that short work stays silent."""

    def __init__(self, total: int | None, description: str) -> None:
        self._total, self._description = total, description
        self._done, self._next_s = 0, time.monotonic() + _LINE_EVERY_S

    def update(self, n: int = 1) -> object:
        """Count `n` more."""
        self._done += n
        self._tell()
        return n

    def set_description_str(self, text: str) -> None:
        """Say what is going on."""
        self._description = text
        self._tell()

    def _tell(self) -> None:
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _LINE_EVERY_S
        share = "" if self._total is None else f": {100 * self._done // self._total} %"
        note(self._description + share)


@contextmanager
def progress(total: int | None, description: str, unit: str) -> Iterator[Progress]:
    """A progress bar on standard error when that is a terminal; else a line there now and then."""
    if not sys.stderr.isatty():
        yield _Lines(total, description)
        return
    try:
        from tqdm import tqdm
    except ImportError:  # tqdm comes with the extra "experiments"; the core works without it
        yield _Lines(total, description)
        return
    shape = "{desc} [{elapsed}]" if total is None else None  # without a total there is nothing to fill a bar with
    with tqdm(
        total=total, desc=description, unit=unit, leave=False, file=sys.stderr, dynamic_ncols=True, bar_format=shape
    ) as bar:
        yield bar


def note(text: str) -> None:
    """A line for the person at the terminal, beside the result: standard error."""
    print(text, file=sys.stderr)


_held: list[str] = []  # bad input is answered by one line and nothing else, so remarks about it wait


def hold_note(text: str) -> None:
    """A line for the person at the terminal that goes with the result: it waits for `emit`."""
    if text not in _held:
        _held.append(text)


def release_notes() -> None:
    """Print the lines that wait."""
    for text in _held:
        note(text)
    drop_notes()


def drop_notes() -> None:
    """Forget the lines that wait."""
    _held.clear()


def emit(arguments: argparse.Namespace, value: object, text: str) -> None:
    """Print a result: `value` as JSON with --json, else `text`; into the file of --out when that is given.

    Raises
    ------
    BadInputError
        The file cannot be written.
    """
    release_notes()
    shown = json.dumps(value, indent=2, ensure_ascii=False) if arguments.json else text
    if arguments.out is None:
        print(shown)
        return
    path = writable(arguments.out)
    try:
        path.write_text(shown + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"--out {str(path)!r} cannot be written ({error.strerror}); name another place") from error
    note(f"written: {path}")


_pipes: dict[Path, int] = {}  # open until the process ends: a reader whose last writer has closed goes away


def _hold_open(pipe: Path, option: str) -> None:
    """Open a pipe without waiting for its reader, so that its writer does not wait later either.

    Raises
    ------
    BadInputError
        It has no reader.
    """
    if pipe in _pipes:
        return
    try:
        _pipes[pipe] = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise BadInputError(
            f"{option} {str(pipe)!r} is a pipe that nobody reads; start its reader first, or name a file"
        ) from error


def writable(name: str, option: str = "--out") -> Path:
    """Path of a file that can be written; its folder is made.

    Raises
    ------
    BadInputError
        It cannot.
    """
    refuse_unwritable(name, option)
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def refuse_unwritable(name: str, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before work begins whose result it is to hold; nothing is left behind.

    Raises
    ------
    BadInputError
        It cannot be written, or its folder cannot be made.
    """
    path = Path(name)
    try:
        if path.is_fifo():
            _hold_open(path, option)
            return
        if path.exists() and not path.is_file() and not path.is_dir():
            return  # a device
        missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
        is_new = not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab"):
                pass
            if not os.access(path.parent, os.W_OK):  # a file is replaced as a whole
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        finally:
            if is_new:
                path.unlink(missing_ok=True)
            for folder in missing:
                if folder.is_dir():
                    folder.rmdir()
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        reason = getattr(error, "strerror", None) or error
        raise BadInputError(f"{option} {name!r} cannot be written ({reason}); name another place") from error


def indented(text: str) -> str:
    """Every line of a text, two columns to the right."""
    return "\n".join(f"  {line}" for line in text.splitlines())


def table(rows: Sequence[Sequence[object]], header: Sequence[str] = (), right: Sequence[int] = ()) -> str:
    """Aligned columns; those numbered in `right` are flush right, None is shown as a dash."""
    texts = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    lines = [list(header), *texts] if header else texts
    if not lines:
        return ""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]

    def align(line: Sequence[str]) -> str:
        cells = (
            f"{cell:>{width}}" if column in right else f"{cell:<{width}}"
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    aligned = [align(line) for line in lines]
    if header:
        aligned.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(aligned)
