"""The token that requests to a controller's HTTP interface must bear, and the file that it stands in."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from mininet_topos.endpoints import is_loopback
from mininet_topos.errors import BadInputError

_TOKEN_BYTES = 32
_LEAST_CHARS = 16


def token_for(host: str, port: int, path: str) -> tuple[str, Path] | None:
    """The token and its file; None: requests need none, since only this machine reaches the interface.

    Parameters
    ----------
    host, port
        Where the interface listens.
    path
        File of the token, which is made unless it is there; empty: `~/.armor/rest-PORT.token`, beyond loopback only.

    Raises
    ------
    BadInputError
        The file cannot be read or made, others may read it, or it holds no token.
    """
    if not path and is_loopback(host):
        return None
    file = Path(path) if path else Path.home() / ".armor" / f"rest-{port}.token"
    try:
        if not path:
            file.parent.mkdir(mode=0o700, exist_ok=True)
        return _made(file) or _read(file), file
    except OSError as error:
        raise BadInputError(
            f"the token file {str(file)!r} cannot be used ({error.strerror}); name another with rest_token_file"
        ) from error


def _made(file: Path) -> str | None:
    """A new token in a new file, which its owner alone may read; None: the file is there."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(token + "\n")
    return token


def _read(file: Path) -> str:
    if file.stat().st_mode & 0o077:
        raise BadInputError(f"others may use the token file {str(file)!r}; run: chmod 600 {file}")
    token = file.read_text(encoding="utf-8", errors="replace").strip()
    if len(token) < _LEAST_CHARS or not (token.isascii() and token.isprintable()) or " " in token:
        raise BadInputError(
            f"the token file {str(file)!r} holds no token of at least {_LEAST_CHARS} printable characters; "
            "remove it, and a new one is made"
        )
    return token
