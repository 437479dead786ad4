"""Requests in lines: over TCP, TLS and a Unix socket; from many clients, of which some are hostile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from machine import line_server, tls
from machine.authority import files_of, make_certificates
from machine.line_server import MAX_CLIENTS, MAX_LINE_BYTES, LineServer
from machine.tls import tls_context, use_identity
from mininet_topos.errors import BadInputError
from tests.patience import patient_s, wait_until

Connect = Callable[[], socket.socket]


@contextlib.contextmanager
def running(address: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that repeats requests; where it listens, and its events."""
    events: list[dict[str, Any]] = []
    end: list[Callable[[], object]] = []

    async def serve() -> None:
        task = asyncio.create_task(LineServer(lambda request: {"heard": request}, events.append).run(address))
        loop = asyncio.get_running_loop()
        end.append(lambda: loop.call_soon_threadsafe(task.cancel))
        with contextlib.suppress(asyncio.CancelledError):
            await task

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        wait_until(lambda: events, "the server listens", 20)
        yield events[0]["listen"], events
    finally:
        end[0]()
        thread.join(patient_s(20))
        assert not thread.is_alive()


def tcp(place: str) -> socket.socket:
    host, _, port = place.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=patient_s(20))


def ask(connection: socket.socket, request: object) -> Any:
    with connection, connection.makefile("rw", encoding="utf-8") as stream:
        stream.write(json.dumps(request) + "\n")
        stream.flush()
        return json.loads(stream.readline())


def test_requests_are_answered_over_tcp_and_a_unix_socket(tmp_path: Path) -> None:
    with running("127.0.0.1:0") as (place, _events):
        assert ask(tcp(place), [1, {"a": "\u00fc"}]) == {"heard": [1, {"a": "\u00fc"}]}
    path = tmp_path / "s1.sock"
    with running(f"unix:{path}"):
        assert path.stat().st_mode & 0o077 == 0
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(path))
        assert ask(connection, "x") == {"heard": "x"}
    assert not path.exists()


def test_tls_lets_in_clients_with_a_certificate_of_the_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "_identity", [])
    make_certificates(tmp_path / "tls", ("controller", "s1"), days=1)
    with pytest.raises(BadInputError, match="needs an identity"):
        asyncio.run(LineServer(lambda request: request, lambda _event: None).run("ssl:127.0.0.1:0"))
    use_identity(files_of(tmp_path / "tls", "s1"))
    with running("ssl:127.0.0.1:0") as (place, _events):
        assert ask(tls_context("the client").wrap_socket(tcp(place)), 7) == {"heard": 7}
        with tcp(place) as plain, contextlib.suppress(OSError):
            plain.sendall(b'"in clear"\n')
            assert b"heard" not in plain.recv(100)


def test_clients_that_keep_silent_or_send_nonsense_hinder_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_server, "SILENCE_S", 0.5)
    with running("127.0.0.1:0") as (place, events):
        silent = [tcp(place) for _ in range(3)]
        for connection, nonsense in zip(silent, (b"", b"{", b"no json\n"), strict=True):
            connection.sendall(nonsense)
        assert ask(tcp(place), 1) == {"heard": 1}
        with tcp(place) as long, contextlib.suppress(OSError):
            long.sendall(b'"' + b"x" * (2 * MAX_LINE_BYTES))
        wait_until(lambda: len(events) >= 5, "all four have lost their connections", 20)
        assert {event["event"] for event in events[1:]} == {"dropped"}
        assert ask(tcp(place), 2) == {"heard": 2}
        for connection in silent:
            assert connection.recv(1) == b""
            connection.close()


def test_more_clients_than_are_served_are_turned_away_and_the_others_are_not() -> None:
    with running("127.0.0.1:0") as (place, events):
        first = [tcp(place) for _ in range(MAX_CLIENTS)]
        with first[-1].makefile("rw") as stream:  # all of them are in once the last is
            stream.write("1\n")
            stream.flush()
            assert json.loads(stream.readline()) == {"heard": 1}
        with tcp(place) as late:
            assert late.recv(1) == b""
        assert str(MAX_CLIENTS) in events[-1]["reason"]
        for connection in first[:-1]:
            assert ask(connection, 3) == {"heard": 3}
        first[-1].close()
        assert ask(tcp(place), 4) == {"heard": 4}
