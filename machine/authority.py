"""A certificate authority for tests: its certificate, and one for each node, in PEM files, made by `openssl`.

A node's certificate has the node's name as common name (RFC 5280 section 4.1.2.6). For a network of one's own an
authority that exists is better: its key is not on the machine that uses it.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from machine.tls import TlsFiles
from mininet_topos.errors import ArmorError, BadInputError, MissingRequirementError

AUTHORITY = "authority"
_OPENSSL = "openssl"
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class CertificateError(ArmorError):
    """The program openssl has not made a certificate."""


@dataclass(frozen=True)
class Made:
    """What a call made.

    Attributes
    ----------
    made, kept
        Names of certificates that are new, and that were there.
    """

    made: tuple[str, ...]
    kept: tuple[str, ...]


def files_of(folder: Path, name: str) -> TlsFiles:
    """Files of a node's identity."""
    return TlsFiles(str(folder / f"{name}.key"), str(folder / f"{name}.pem"), str(folder / f"{AUTHORITY}.pem"))


def make_certificates(folder: Path, names: Iterable[str], days: int) -> Made:
    """Make what is missing of an authority and of the certificates of nodes.

    Parameters
    ----------
    folder
        Is made, for its owner alone; gets NAME.key and NAME.pem, and the same of "authority".
    days
        For which new certificates are valid.

    Raises
    ------
    BadInputError
        The folder cannot be used, or a node has the authority's name.
    MissingRequirementError, CertificateError
        There is no program openssl, or it fails.
    """
    if shutil.which(_OPENSSL) is None:
        raise MissingRequirementError("the program openssl is missing; install it with: apt-get install openssl")
    wanted = tuple(dict.fromkeys(names))
    if AUTHORITY in wanted:
        raise BadInputError(f"a node cannot be called {AUTHORITY!r} here; rename it")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        missing = tuple(name for name in wanted if not (folder / f"{name}.pem").exists())
        if not (folder / f"{AUTHORITY}.pem").exists():
            _make_authority(folder, days)
        for name in missing:
            _make_certificate(folder, name, days)
    except OSError as error:
        raise BadInputError(
            f"certificates cannot be written to {str(folder)!r} ({error.strerror}); name another folder"
        ) from error
    return Made(missing, tuple(name for name in wanted if name not in missing))


def _make_authority(folder: Path, days: int) -> None:
    draft = _draft(folder, AUTHORITY)
    subject = f"/CN=Armor test authority {secrets.token_hex(4)}"  # no two alike: who is refused hears the right reason
    new = ("-keyout", f"{AUTHORITY}.key", "-out", draft.name, "-days", str(days), "-subj", subject)
    _openssl(folder, "req", "-x509", "-new", *_NEW_KEY, *new)
    draft.replace(folder / f"{AUTHORITY}.pem")


def _make_certificate(folder: Path, name: str, days: int) -> None:
    """Make a key and a certificate; the certificate's file appears last, so both are there if it is."""
    request, draft = folder / f".{name}.request", _draft(folder, name)
    subject = "/CN=" + name.replace("\\", "\\\\").replace("/", "\\/").replace("+", "\\+")
    try:
        _openssl(folder, "req", "-new", *_NEW_KEY, "-keyout", f"{name}.key", "-out", request.name, "-subj", subject)
        authority = (
            "-CA",
            f"{AUTHORITY}.pem",
            "-CAkey",
            f"{AUTHORITY}.key",
            "-set_serial",
            f"0x{secrets.token_hex(8)}",
        )
        _openssl(folder, "x509", "-req", "-in", request.name, *authority, "-days", str(days), "-out", draft.name)
        draft.replace(folder / f"{name}.pem")
    finally:
        request.unlink(missing_ok=True)
        draft.unlink(missing_ok=True)


def _draft(folder: Path, name: str) -> Path:
    return folder / f".{name}.pem"


def _openssl(folder: Path, *words: str) -> None:
    done = subprocess.run([_OPENSSL, *words], cwd=folder, capture_output=True, text=True, check=False, umask=0o077)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["nothing"]
        raise CertificateError(f"openssl {words[0]} has failed in {str(folder)!r}; it says: {said[-1]}")
