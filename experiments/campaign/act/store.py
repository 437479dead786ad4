"""The folder of a campaign: what was asked for, and one row an attempt, on disk before the next begins."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from experiments.campaign.stored_keys import current_keys
from experiments.campaign.values import Json
from machine.whole_file import write_whole
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.input_files import parse_json, read_bytes

FORMAT_VERSION = 1
CAMPAIGN, ROWS, CALIBRATION, ENVIRONMENT = "campaign.json", "rows.jsonl", "calibration.json", "environment.json"
PACKED_ROWS = ROWS + ".gz"
MOST_ROWS_BYTES = 2_000_000_000


def rows_bytes(folder: Path) -> bytes:
    """The rows of a folder, plain or packed; none where there is neither file.

    Raises
    ------
    BadInputError
        They cannot be read, or the packed ones are damaged.
    """
    plain, packed = folder / ROWS, folder / PACKED_ROWS
    if plain.exists():
        return read_bytes(plain, repr(str(plain)), MOST_ROWS_BYTES)
    if not packed.exists():
        return b""
    try:
        return gzip.decompress(read_bytes(packed, repr(str(packed)), MOST_ROWS_BYTES))
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"{str(packed)!r} cannot be unpacked ({error}); fetch it again") from error


def refuse_used(path: Path) -> None:
    """Refuse a folder for a new campaign that has something in it.

    Raises
    ------
    BadInputError
        It has.
    """
    if path.is_dir() and any(path.iterdir()):
        raise BadInputError(f"folder {str(path)!r} is not empty; name a new one with --out")


class Store:
    """Reads a campaign's folder; inside `writing` it also appends rows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    @classmethod
    def create(cls, path: Path, description: Json) -> Store:
        """Make a new folder.

        Raises
        ------
        BadInputError
            The folder cannot be made, or is not empty.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            refuse_used(path)
        except OSError as error:
            raise BadInputError(
                f"folder {str(path)!r} cannot be used ({error.strerror}); name another one with --out"
            ) from error
        store = cls(path)
        store.write_json(CAMPAIGN, {"format_version": FORMAT_VERSION, **description})
        return store

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open the folder of a campaign that has begun.

        Raises
        ------
        BadInputError
            It is none, or one of another format.
        """
        store = cls(path)
        description = store.read_json(CAMPAIGN)
        if description is None:
            raise BadInputError(f"{str(path)!r} holds no {CAMPAIGN}; name a folder that 'armor reproduce' has written")
        if description.get("format_version") != FORMAT_VERSION:
            raise BadInputError(
                f"{str(path / CAMPAIGN)!r} has format {description.get('format_version')!r}, this Armor reads "
                f"{FORMAT_VERSION}; measure again in a new folder"
            )
        return store

    @property
    def description(self) -> Json:
        """What campaign.json says."""
        return self.read_json(CAMPAIGN) or {}

    def rows(self) -> list[Json]:
        """All rows that are whole; a torn last line is not one. Finished campaigns may be kept packed.

        Raises
        ------
        BadInputError
            A line is no row, or the packed rows are damaged.
        """
        lines = rows_bytes(self.path).split(b"\n")[:-1]  # what follows the last line break is torn, or empty
        return [self._row(number, line) for number, line in enumerate(lines, 1)]

    def refuse_packed(self) -> None:
        """Refuse rows that are kept packed, to which none can be added (`BadInputError`)."""
        if (self.path / PACKED_ROWS).exists() and not (self.path / ROWS).exists():
            raise BadInputError(f"{str(self.path)!r} is kept packed; unpack it first: gunzip {self.path / PACKED_ROWS}")

    def begin_again(self, description: Json, kept: Callable[[Json], Json | None]) -> None:
        """Describe another campaign, which keeps what `kept` makes of a row (None: not this one).

        Raises
        ------
        BadInputError
            As `writing`.
        """
        with self.writing():
            rows = [row for row in map(kept, self.rows()) if row is not None]
            write_whole(self.path / ROWS, "".join(f"{row_text(row)}\n" for row in rows), durable=True)
            self.write_json(CAMPAIGN, {"format_version": FORMAT_VERSION, **description})
            if not rows:  # where it describes nothing that is kept
                (self.path / ENVIRONMENT).unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the folder for this process; a torn last line, left by a kill, is removed.

        Raises
        ------
        BadInputError
            Another process writes it, it cannot be written, or it is kept packed.
        """
        self.refuse_packed()
        try:
            file = (self.path / ROWS).open("a+b")
        except OSError as error:
            raise BadInputError(f"{str(self.path / ROWS)!r} cannot be written ({error.strerror})") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BadInputError(
                    f"another process is writing {str(self.path)!r}; wait for it, or use another folder"
                ) from error
            _cut_torn_line(file)
            self._file = file
            try:
                yield
            finally:
                self._file = None

    def append(self, row: Json) -> None:
        """Add a row; it is on disk when this returns.

        Raises
        ------
        ArmorError
            The row is no JSON value.
        """
        if self._file is None:
            raise RuntimeError("rows are appended inside `writing` only")
        self._file.write(row_text(row).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    @contextmanager
    def work(self) -> Iterator[Path]:
        """A folder for raw files, empty at the beginning, gone at the end."""
        path = self.path / "work"
        shutil.rmtree(path, ignore_errors=True)  # a killed run may have left one
        path.mkdir()
        try:
            yield path
        finally:
            shutil.rmtree(path)

    def write_json(self, name: str, value: Any) -> None:
        """Write one JSON file, whole or not at all."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n", durable=True)

    def read_json(self, name: str) -> Json | None:
        """One JSON object of the folder; None when there is no such file.

        Raises
        ------
        BadInputError
            It cannot be read, or is no JSON object.
        """
        path = self.path / name
        try:
            is_there = path.exists()
        except OSError as error:
            raise BadInputError(f"{str(path)!r} cannot be read ({error.strerror}); check its rights") from error
        if not is_there:
            return None
        content = read_bytes(path, repr(str(path)))
        try:
            value = parse_json(content)
        except BadInputError as error:
            raise BadInputError(
                f"{str(path)!r} is no file of a campaign ({error}); put it back as it was, or measure again"
            ) from error
        if not isinstance(value, dict):
            raise BadInputError(f"{str(path)!r} holds no JSON object; it is no file of a campaign")
        return current_keys(value)

    def _row(self, number: int, line: bytes) -> Json:
        try:
            row = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise BadInputError(f"{str(self.path / ROWS)!r}, line {number}, is no JSON ({error}); remove it") from error
        if not isinstance(row, dict) or not {"trial", "status"} <= set(row):
            raise BadInputError(f"{str(self.path / ROWS)!r}, line {number}, is no row of a trial; remove it")
        return current_keys(row)


def row_text(row: Json) -> str:
    """A row as its line (`ArmorError` when it is no JSON value)."""
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ArmorError(f"the row of trial {row.get('trial')!r} is no JSON value ({error})") from error


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _cut_torn_line(file: IO[bytes]) -> None:
    """Cut what follows the last line break: its writer was killed before it ended."""
    file.seek(0)
    data = file.read()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        file.truncate(whole)
        os.fsync(file.fileno())
