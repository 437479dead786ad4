"""Which HTTP requests to a controller are refused: without its token, too many, too long, or from a foreign web page.

A browser sends a page's requests to any address, loopback too, and a name of the page's own may lead there (DNS
rebinding). So a request names this machine by an address or a name that nobody else can give it, comes from no other
origin, and what changes something is JSON, which a browser sends to others only after asking (CORS).
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address

from ryu_apps.control.decide.allowance import Rate
from ryu_apps.control.decide.resource import Response, refusal

JSON_TYPE = "application/json"
MAX_BODY_BYTES = 4_000_000
REQUESTS = Rate(per_s=200, at_once=400)


@dataclass(frozen=True, slots=True)
class Sender:
    """Headers that tell where a request comes from; empty where it has none.

    Attributes
    ----------
    host
        HOST or HOST:PORT, as the client calls this server.
    origin
        Of the page that sent the request (browsers only).
    authorization
        "Bearer TOKEN" (RFC 6750 section 2.1).
    """

    host: str = ""
    origin: str = ""
    content_type: str = ""
    authorization: str = ""


def refused(method: str, sender: Sender, own_host: str, token: str | None = None) -> Response | None:
    """The answer to a request that is not admitted; None: go on.

    Parameters
    ----------
    own_host
        Name or address at which the interface listens.
    token
        What requests must bear; None: nothing.
    """
    if sender.host and not _is_ours(sender.host, own_host):
        said = f"this interface is not at {sender.host!r}; use its address, or localhost"
        return HTTPStatus.FORBIDDEN, refusal(said)
    if sender.origin and sender.origin != f"http://{sender.host}":
        return HTTPStatus.FORBIDDEN, refusal(f"pages of {sender.origin!r} may not use this interface")
    if token is not None and not _bears(sender.authorization, token):
        said = "this interface asks for its token; send the header Authorization: Bearer TOKEN"
        return HTTPStatus.UNAUTHORIZED, refusal(said)
    if method == "POST" and sender.content_type.partition(";")[0].strip().lower() != JSON_TYPE:
        said = (
            f"the body is {sender.content_type or 'of no type'}; send JSON, with the header Content-Type: {JSON_TYPE}"
        )
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, refusal(said)
    return None


def too_many() -> Response:
    """The answer to a request above the rate."""
    said = f"more than {REQUESTS.per_s:g} requests a second come; ask less often"
    return HTTPStatus.TOO_MANY_REQUESTS, refusal(said)


def too_long() -> Response:
    """The answer to a body above the limit."""
    said = f"the body is longer than {MAX_BODY_BYTES:,} bytes; send less at once"
    return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, refusal(said)


def _bears(authorization: str, token: str) -> bool:
    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


def _is_ours(host: str, own_host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and not host.endswith("]") else host
    name = name.strip("[]").lower()
    if name in ("localhost", own_host.lower()):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
