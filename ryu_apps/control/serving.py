"""HTTP in the controller's own process."""

from __future__ import annotations

from typing import Any

import eventlet
import eventlet.wsgi
from ryu.lib import hub

from mininet_topos.errors import BadInputError


def listen_and_serve(application: Any, host: str, port: int, settings: str) -> Any:
    """Start answering for a WSGI application; the greenlet that does.

    Parameters
    ----------
    application : WSGI application
    host, port : str, int
    settings
        What to change when the address cannot be used, for the error.

    Raises
    ------
    BadInputError
        The address is taken or is none of this machine's.
    """
    try:
        # Not shared with another process, which SO_REUSEPORT (eventlet's default) would allow.
        listener = eventlet.listen((host, port), reuse_port=False)
    except OSError as error:
        raise BadInputError(
            f"the REST interface cannot listen on {host}:{port} ({error.strerror or error}); choose another {settings}"
        ) from error
    return hub.spawn(eventlet.wsgi.server, listener, application, log_output=False)
