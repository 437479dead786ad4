"""Serves the page on loopback; every address holds a token, so that other users and web sites cannot read it."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mininet_topos.errors import BadInputError, MissingRequirementError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import Route

HOST = "127.0.0.1"
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def page_app(html: Callable[[], str], routes: Sequence[Route] = ()) -> Starlette:
    """The application of one page.

    Parameters
    ----------
    html
        The page as it is now.
    routes
        What else there is beside the page.

    Raises
    ------
    MissingRequirementError
        Starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.requests import Request
        from starlette.responses import HTMLResponse
        from starlette.routing import Route
    except ImportError:
        raise MissingRequirementError(
            "pages are served with Starlette and uvicorn; run 'make setup', or pip install '.[live]' in Armor's folder"
        ) from None

    def page(_request: Request) -> HTMLResponse:
        return HTMLResponse(html(), headers=_HEADERS)

    # A name that somebody else's DNS points to loopback is refused, too (DNS rebinding).
    trusted = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    return Starlette(routes=[Route("/", page), *routes], middleware=[trusted])


def under_token(app: Starlette, token: str) -> Starlette:
    """The same application at /TOKEN/; all other addresses are 404."""
    from starlette.applications import Starlette
    from starlette.routing import Mount

    return Starlette(routes=[Mount(f"/{token}", app)])


def serve(app: Starlette, port: int, announce: Callable[[str], object]) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    port
        0: any that is free.
    announce
        Called with the URL once connections are accepted.

    Raises
    ------
    BadInputError
        The port is taken.
    """
    import uvicorn

    token = secrets.token_urlsafe(16)
    config = uvicorn.Config(under_token(app, token), log_level="error", lifespan="off", timeout_graceful_shutdown=2)
    with listening(port) as listener:
        announce(f"http://{HOST}:{listener.getsockname()[1]}/{token}/")
        uvicorn.Server(config).run(sockets=[listener])


def listening(port: int) -> socket.socket:
    """A socket that accepts connections on loopback.

    Raises
    ------
    BadInputError
        The port is taken, or not for this user.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise BadInputError(
            f"--port {port} cannot be used ({error.strerror}); name another, or leave it out"
        ) from error
    return listener
