"""The identity of a process on TLS connections, as Open vSwitch has it: a key, its certificate, an authority.

Both ends of a connection show a certificate of the same authority (`--private-key`, `--certificate` and `--ca-cert` of
Open vSwitch). A process has one identity, for all of its connections.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, fields

from mininet_topos.errors import BadInputError

HANDSHAKE_S = 10.0
_REASONS = {
    "UNKNOWN_CA": "the other end does not trust this certificate's authority; give both ends one authority",
    "CERTIFICATE_EXPIRED": "the other end says that this certificate has expired; make a new one",
    "CERTIFICATE_REQUIRED": "the other end asks for a certificate; give this end one",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the other end shows no certificate; give it one",
    "WRONG_VERSION_NUMBER": "the other end does not speak TLS; write ssl: in its address",
    "HTTP_REQUEST": "the other end speaks HTTP",
}


@dataclass(frozen=True)
class TlsFiles:
    """Files of an identity, in PEM.

    Attributes
    ----------
    ca_certificate
        Of the authority that other ends' certificates must come from.
    """

    private_key: str
    certificate: str
    ca_certificate: str


_identity: list[TlsFiles] = []
"""The process's own; empty without one."""


def use_identity(files: TlsFiles) -> None:
    """Have the process's TLS connections use these files from now on.

    Raises
    ------
    BadInputError
        A file cannot be read, or the key is not the certificate's.
    """
    _context(files, is_server=True)
    _identity[:] = [files]


def has_identity() -> bool:
    """Whether the process has been given one."""
    return bool(_identity)


def identity_of(what: str) -> TlsFiles:
    """Files of the identity that something needs.

    Parameters
    ----------
    what
        As "ssl:10.0.0.1:6640", for the error.

    Raises
    ------
    BadInputError
        The process has none.
    """
    if not _identity:
        raise BadInputError(f"{what} needs an identity; give a private key, its certificate and that of the authority")
    return _identity[0]


def tls_context(what: str, *, is_server: bool = False) -> ssl.SSLContext:
    """Context of connections of this process, in which the other end must show a certificate of the authority.

    Parameters
    ----------
    what
        As in `identity_of`.

    Raises
    ------
    BadInputError
        The process has no identity, or a file of it cannot be used any more.
    """
    return _context(identity_of(what), is_server=is_server)


def _context(files: TlsFiles, *, is_server: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False  # a certificate names a node, whatever its address
    context.verify_mode = ssl.CERT_REQUIRED
    for field in fields(files):
        _require_readable(getattr(files, field.name), field.name.replace("_", " "))
    try:
        context.load_cert_chain(files.certificate, files.private_key, password=b"")
    except (ssl.SSLError, ValueError) as error:
        raise BadInputError(
            f"the private key {files.private_key!r} and the certificate {files.certificate!r} are no pair of PEM files "
            f"without password ({getattr(error, 'reason', None) or error}); give those that were made together"
        ) from error
    try:
        context.load_verify_locations(files.ca_certificate)
    except ssl.SSLError as error:
        raise BadInputError(f"{files.ca_certificate!r} holds no certificate in PEM; give the authority's") from error
    return context


def _require_readable(path: str, what: str) -> None:
    try:
        with open(path, "rb"):
            return
    except OSError as error:
        raise BadInputError(f"the {what} {path!r} cannot be read ({error.strerror}); correct the path") from error


def handshake_error(error: Exception) -> str:
    """Why a TLS connection was not made, with the likely repair."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the other end's certificate is refused: {error.verify_message}"
    reason = str(getattr(error, "reason", None) or error)
    return next((text for word, text in _REASONS.items() if word in reason), reason)
