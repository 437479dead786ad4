"""The address on which switches find this controller: loopback, unless somebody names another; and who gets in."""

from __future__ import annotations

import errno
import logging
import resource
import socket
import time
from collections.abc import Callable
from typing import Any

from ryu import cfg
from ryu.base import app_manager  # noqa: F401 (ryu.controller.controller cannot be imported before it)
from ryu.controller import controller as ryu_controller
from ryu.lib import hub
from ryu.ofproto import ofproto_common

from machine.tls import HANDSHAKE_S, TlsFiles, handshake_error, has_identity, tls_context, use_identity
from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.connections import OPENFLOW, Connections
from ryu_apps.control.limited_lines import LimitedLog
from ryu_apps.control.settings import load_settings

CONNECTIONS = Connections()
"""Of all OpenFlow ports of this process."""
LOG = logging.getLogger("armor.tls")
_REFUSED = LimitedLog(LOG)
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_ACCEPT_AGAIN_S = 0.1
_OTHER_FILES = 512  # open files that are no OpenFlow connections
_REFUSED_OPEN_S, _MOST_REFUSED_OPEN = 0.25, 64  # who connects again as soon as it is closed has to wait so long
_ONE_AT_A_TIME = hub.Semaphore()  # of all ports: a switch may open a connection to each at once
_SLOW = f"its handshake has not ended within {HANDSHAKE_S:g} s"
Handle = Callable[[Any, Any], None]
"""Serves a connection, given its socket and the switch's address."""


class OpenFlowServer(hub.StreamServer):
    """A server of connections of switches, with TLS if this process has an identity; it refuses those over a limit.

    Ryu's own forgets its TLS settings at the first connection, so that no second switch could connect.
    """

    _n_refused_open = 0

    def __init__(self, address: tuple[str, int], handle: Handle, **_of_ryu: Any) -> None:
        super().__init__(address, _with_tls(handle) if has_identity() else handle)

    def serve_forever(self) -> None:
        """Serve each connection that is not refused in a greenlet of its own."""
        while True:
            try:
                connection, address = self.server.accept()
            except OSError as error:
                if error.errno not in (*_NO_DESCRIPTOR, errno.ECONNABORTED):
                    raise
                _REFUSED.error(
                    "connections that cannot be accepted", f"no connection can be accepted: {error.strerror}"
                )
                hub.sleep(_ACCEPT_AGAIN_S)
                continue
            with _ONE_AT_A_TIME:
                self._begin(connection, address)
                hub.sleep(0)  # others are served while somebody goes on connecting

    def _begin(self, connection: Any, address: Any) -> None:
        refused = CONNECTIONS.why_refused(str(address[0]), time.monotonic())
        if refused:
            self._refuse(connection)
            _REFUSED.error("refused connections", refused)
        else:
            hub.spawn(self._serve, connection, address)

    def _refuse(self, connection: Any) -> None:
        """Close a connection a little later, unread, or at once while many wait for that."""
        if self._n_refused_open < _MOST_REFUSED_OPEN:
            self._n_refused_open += 1
            hub.spawn_after(_REFUSED_OPEN_S, self._close_refused, connection)
        else:
            connection.close()

    def _close_refused(self, connection: Any) -> None:
        self._n_refused_open -= 1
        connection.close()

    def _serve(self, connection: Any, address: Any) -> None:
        try:
            self.handle(connection, address)
        finally:
            CONNECTIONS.ended(str(address[0]))


def prepare_listening() -> None:
    """Have Ryu listen on loopback and port 6653 unless another address is given, with TLS if it has keys.

    In clear, OpenFlow asks nobody who they are. What the command line, the environment (OS_DEFAULT__OFP_LISTEN_HOST) or
    a file says goes first.

    Raises
    ------
    BadInputError
        A setting of the group [openflow] cannot be used; some of the three files of TLS are missing, or one cannot be
        used; or another controller has the port.
    """
    options = cfg.CONF
    options.set_default("ofp_listen_host", "127.0.0.1")
    options.set_default("ofp_tcp_listen_port", ofproto_common.OFP_TCP_PORT)  # else Ryu opens port 6633, too
    files = (options.ctl_privkey, options.ctl_cert, options.ca_certs)
    if any(files):
        if not all(files):
            raise BadInputError("--ctl-privkey, --ctl-cert and --ca-certs go together; give all three, or none")
        use_identity(TlsFiles(*files))
        options.set_default("ofp_ssl_listen_port", options.ofp_tcp_listen_port)
    ryu_controller.StreamServer = OpenFlowServer
    CONNECTIONS.limits = load_settings(OPENFLOW)
    _allow_open_files(CONNECTIONS.limits.max_connections + _OTHER_FILES)
    _refuse_taken_port()


def listen_address() -> tuple[str, int]:
    """Host and port that switches connect to."""
    options = cfg.CONF
    port = options.ofp_ssl_listen_port if has_identity() else options.ofp_tcp_listen_port
    return str(options.ofp_listen_host), int(port or ofproto_common.OFP_TCP_PORT)


def count_offence(address: Any) -> None:
    """Count a connection that ended without a handshake, or for what it said, against the address of its other end."""
    CONNECTIONS.offended(str(address[0]), time.monotonic())


def _with_tls(handle: Handle) -> Handle:
    context = tls_context("the OpenFlow port", is_server=True)

    def serve(connection: Any, address: Any) -> None:
        connection.settimeout(HANDSHAKE_S)
        try:
            with hub.Timeout(HANDSHAKE_S, TimeoutError(_SLOW)):  # of all of it; the socket's is that of each wait
                secured = context.wrap_socket(connection, server_side=True)
        except OSError as error:
            _REFUSED.error("failed TLS handshakes", f"{address[0]} has not got in: {handshake_error(error)}")
            connection.close()
            count_offence(address)
            return
        handle(secured, address)

    return serve


def _allow_open_files(wanted: int) -> None:
    """Raise this process's limit of open files to what its connections may take, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        LOG.warning(
            "this process may open %d files, fewer than max_connections needs (%d); raise ulimit -n, or lower it",
            allowed,
            wanted,
        )


def _refuse_taken_port() -> None:
    """Refuse an address that another controller has.

    eventlet listens with SO_REUSEPORT: two controllers would share the switches between them, in silence.

    Raises
    ------
    BadInputError
        Ryu cannot listen there.
    """
    host, port = listen_address()
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))  # only: a switch whose connection was taken here would lose it at once
        except OSError as error:
            raise BadInputError(
                f"the OpenFlow port {host}:{port} cannot be used ({error.strerror}); stop the controller that has it, "
                "or choose another with --ofp-tcp-listen-port"
            ) from error
