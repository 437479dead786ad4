"""The address on which switches find this controller: loopback, unless somebody names another."""

from __future__ import annotations

import socket

from ryu import cfg
from ryu.ofproto import ofproto_common

from mininet_topos.errors import BadInputError

cfg.CONF.import_opt("ofp_listen_host", "ryu.controller.controller")


def listen_on_loopback() -> None:
    """Make loopback the default in place of every address: in clear, OpenFlow asks nobody who they are.

    An address from the command line, the environment (OS_DEFAULT__OFP_LISTEN_HOST) or a file goes first.
    """
    cfg.CONF.set_default("ofp_listen_host", "127.0.0.1")


def listen_address() -> tuple[str, int]:
    """Host and port that switches connect to."""
    return str(cfg.CONF.ofp_listen_host), int(cfg.CONF.ofp_tcp_listen_port or ofproto_common.OFP_TCP_PORT)


def refuse_taken_port() -> None:
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
            probe.bind((host, port))
            probe.listen()
        except OSError as error:
            raise BadInputError(
                f"the OpenFlow port {host}:{port} cannot be used ({error.strerror}); stop the controller that has it, "
                "or choose another with --ofp-tcp-listen-port"
            ) from error
