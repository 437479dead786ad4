"""Files that are whole or not there: whatever breaks the writing off, a reader never finds half a file."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file under another name, and give it its own when it is whole; what stood there before stays until then.

    Parameters
    ----------
    path
        In a folder that exists. What is no ordinary file (a device, a pipe) is written as it stands.
    content
        Text is written as UTF-8.
    durable
        Return only when it is on the disk.

    Raises
    ------
    OSError
        It cannot be written; nothing is left of the attempt.
    """
    path = path.resolve()  # a link stays a link
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
