"""Files that the user names: read whole, or refused in one sentence, whatever stands at the path.

A pipe or a device is refused before it is opened, since reading it may wait for ever or never end.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from mininet_topos.errors import BadInputError
from mininet_topos.wording import shown

# More than any file that people write; result files are read by their own readers.
MOST_BYTES = 50_000_000


def read_bytes(path: str | Path, what: str, most_bytes: int = MOST_BYTES) -> bytes:
    """Content of a regular file.

    Parameters
    ----------
    what
        How the message begins, as "demand file 'x.csv'".
    most_bytes
        A larger file is refused.

    Raises
    ------
    BadInputError
        There is no such file, it is no regular one, it is too large, or it cannot be read.
    """
    path = Path(path)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise BadInputError(f"{what} cannot be read (this is a directory); name a file in it")
        if not stat.S_ISREG(status.st_mode):
            raise BadInputError(f"{what} cannot be read (this is a pipe or a device); save it as a file first")
        if status.st_size > most_bytes:
            raise BadInputError(
                f"{what} has {status.st_size:,} bytes, and at most {most_bytes:,} are read; is it the right file?"
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise BadInputError(f"{what} cannot be read (there is no such file); check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if "\0" in str(path):  # every version of Python has other words for it
            reason = "there is a null byte in its name"
        raise BadInputError(f"{what} cannot be read ({reason}); check the path and its rights") from None


def read_text(path: str | Path, what: str, most_bytes: int = MOST_BYTES) -> str:
    """Text of a UTF-8 file, without the mark that some editors put first; parameters as those of `read_bytes`.

    Raises
    ------
    BadInputError
        As `read_bytes`; or it is not UTF-8 text.
    """
    content = read_bytes(path, what, most_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"{what} cannot be read (line {line} is not UTF-8 text); save it as UTF-8") from None


def is_file(path: str | Path) -> bool:
    """Whether there is a regular file; a name that no file can have is none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def parse_json(text: str | bytes) -> Any:
    """Value of a JSON text in which no key stands twice; NaN and infinity are left to who knows the key's name.

    Raises
    ------
    BadInputError
        It is none; the message says where, and needs the file's name before it.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise BadInputError(f"broken JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise BadInputError("the JSON is nested too deeply; make it flatter") from None
    except ValueError as error:
        raise BadInputError(f"the JSON holds a value that cannot be read ({error}); correct it") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadInputError(f"key {shown(twice)} stands twice in one object; remove one")
    return found
