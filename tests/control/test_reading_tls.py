"""TLS on the OpenFlow port: records that never end let others run, and a handshake that never ends is ended."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from eventlet.green import socket
from eventlet.green import ssl as green_ssl
from ryu.lib import hub

from machine import tls
from machine.authority import files_of, make_certificates
from machine.tls import use_identity
from ryu_apps.control import listening
from ryu_apps.control.datapath import read_messages
from ryu_apps.control.listening import OpenFlowServer
from ryu_apps.openflow import encode

pytestmark = pytest.mark.ryu


class EndlessRecords(ssl.SSLSocket):
    """Always has one more short record."""

    def __init__(self) -> None:
        self.n_read = 0

    def recv(self, *_size: Any) -> bytes:
        self.n_read += 1
        return encode.echo_request()


def test_a_tls_connection_that_always_has_a_record_lets_others_run() -> None:
    ran: list[bool] = []
    hub.spawn(ran.append, True)
    connection = EndlessRecords()
    read_messages(connection, lambda: not ran and connection.n_read < 1000, lambda _message: None)
    assert ran


def test_a_handshake_of_one_byte_at_a_time_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(tls, "_identity", [])
    monkeypatch.setattr(tls, "ssl", green_ssl)  # as under ryu-manager
    monkeypatch.setattr(listening, "HANDSHAKE_S", 0.5)
    make_certificates(tmp_path, ("controller",), days=1)
    use_identity(files_of(tmp_path, "controller"))
    server = OpenFlowServer(("127.0.0.1", 0), lambda _connection, _address: None)
    serving = hub.spawn(server.serve_forever)
    try:
        with socket.create_connection(server.server.getsockname(), timeout=20) as client, suppress(OSError):
            client.sendall(b"\x16\x03\x01\x02\x00")  # a record of 512 bytes follows
            for _ in range(100):
                hub.sleep(0.1)
                client.sendall(b"\x01")
    finally:
        hub.kill(serving)
        server.server.close()
    assert "its handshake has not ended within" in caplog.text
