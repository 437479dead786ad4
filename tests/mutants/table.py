"""The table of mutants: files of TOML beside this one, a mutant a table, named by its header.

[name-of-the-mutant]
law = "The sentence that is no longer true of the changed code."
file = "ryu_apps/plan/crankback.py"
old = "text that occurs exactly once in the file"
new = "what stands there instead"
tests = ["tests/plan/test_crankback.py"]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

FOLDER = Path(__file__).parent
KEYS = ("law", "file", "old", "new", "tests")


class MutantError(Exception):
    """An entry that cannot be put into the code; the message says why."""


@dataclass(frozen=True)
class Mutant:
    """One change of the code that breaks a law.

    Attributes
    ----------
    name
        `AREA/NAME`: the file of the table, and the header in it.
    file
        What it changes, from the root of the repository; so are `tests`.
    """

    name: str
    law: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied_to(self, text: str) -> str:
        """Return the changed text of the file.

        Raises
        ------
        MutantError
            `old` does not occur exactly once, or what results is no Python.
        """
        if (times := text.count(self.old)) != 1:
            raise MutantError(f"{self.file}: the old text occurs {times} times, not once")
        changed = text.replace(self.old, self.new)
        if changed == text:
            raise MutantError(f"{self.file}: the new text equals the old one")
        if self.file.endswith(".py"):
            try:
                compile(changed, self.file, "exec")
            except SyntaxError as error:
                raise MutantError(f"{self.file}: {error}") from error
        return changed


def read_table(folder: Path = FOLDER) -> list[Mutant]:
    """Return all mutants of a folder, in the order of its files.

    Raises
    ------
    MutantError
        A file is no TOML, or an entry has other keys than `KEYS`.
    """
    return [mutant for file in sorted(folder.glob("*.toml")) for mutant in _read_file(file)]


def _read_file(file: Path) -> Iterable[Mutant]:
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise MutantError(f"{file.name}: {error}") from error
    return [_read_entry(f"{file.stem}/{name}", entry) for name, entry in entries.items()]


def _read_entry(name: str, entry: Any) -> Mutant:
    if not isinstance(entry, dict) or sorted(entry) != sorted(KEYS):
        raise MutantError(f"{name}: an entry has the keys {', '.join(KEYS)}")
    texts = [entry[key] for key in KEYS[:-1]]
    tests = entry["tests"]
    if not isinstance(tests, list) or not tests or not all(isinstance(each, str) for each in [*texts, *tests]):
        raise MutantError(f"{name}: tests is a list of files, the other keys are texts")
    return Mutant(name, *texts, tests=tuple(tests))


def complaints(mutant: Mutant, root: Path) -> list[str]:
    """Say what of an entry does not fit the tree at `root`."""
    found = [f"{mutant.name}: there is no {test}" for test in mutant.tests if not (root / test).is_file()]
    try:
        mutant.applied_to((root / mutant.file).read_text(encoding="utf-8"))
    except (OSError, MutantError) as error:
        found.append(f"{mutant.name}: {error}")
    return found
