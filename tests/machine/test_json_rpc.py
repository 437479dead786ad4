"""JSON-RPC to the daemons: answers in pieces, requests in between, errors and silence."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from machine import json_rpc
from machine.json_rpc import JsonRpcClient, JsonRpcError, call, connected, transact
from machine.places import run_program
from tests.rights import with_capabilities

_ASK = """
import sys
from pathlib import Path
from machine.json_rpc import JsonRpcError, call
try:
    call(Path(sys.argv[1]), "list_dbs", [])
except JsonRpcError as error:
    print(error)
"""


@contextmanager
def server(folder: Path, *pieces: bytes, stays: bool = False, pause_s: float = 0.0) -> Iterator[Path]:
    """A server that reads one request and answers in the given pieces, then hangs up, or stays and reads on."""
    path = folder / "db.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        connection, _ = listener.accept()
        # A client that has read enough may hang up with bytes unread, which resets the connection.
        with connection, suppress(ConnectionError):
            connection.recv(65536)
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause_s)
            while stays and connection.recv(65536):
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    yield path
    thread.join()
    listener.close()


def answer(result: object, error: object = None) -> bytes:
    return json.dumps({"id": 1, "result": result, "error": error}).encode()


def test_an_answer_in_pieces_is_put_together(tmp_path: Path) -> None:
    whole = answer({"a": [1, {"b": "}"}], "c": "\u00fc"})
    for cut in (1, 20, len(whole) - 1):
        with server(tmp_path, whole[:cut], whole[cut:]) as path:
            assert call(path, "list_dbs", []) == {"a": [1, {"b": "}"}], "c": "\u00fc"}
        path.unlink()


def test_an_error_answer_is_raised_with_its_words(tmp_path: Path) -> None:
    with (
        server(tmp_path, answer(None, "no such bridge")) as path,
        pytest.raises(JsonRpcError, match="no such bridge"),
    ):
        call(path, "x", [])


def test_hanging_up_half_way_is_an_error(tmp_path: Path) -> None:
    with server(tmp_path, b'{"id": 1, "resu') as path, pytest.raises(JsonRpcError, match="connection closed"):
        call(path, "x", [])


def test_no_server_is_an_error_that_names_the_socket(tmp_path: Path) -> None:
    with pytest.raises(JsonRpcError, match=r"none\.sock"):
        call(tmp_path / "none.sock", "x", [])


def test_a_refused_operation_of_a_transaction_is_raised(tmp_path: Path) -> None:
    results = [{}, {"error": "constraint violation", "details": "too many"}]
    with (
        server(tmp_path, answer(results)) as path,
        pytest.raises(JsonRpcError, match="constraint violation: too many"),
        connected(f"unix:{path}", 5.0) as client,
    ):
        transact(client, "Open_vSwitch", [{"op": "comment", "comment": "x"}])


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ((b"[[[[",), "no JSON-RPC message"),
        ((b'{"a": ' + 100_000 * b"[",), "too many brackets"),
        ((1100 * b'{"method": "echo"}',), "sent 1000 other messages"),
        ((b'{"a": "' + (1 << 20) * b"x",), "more than 1,000,000 bytes"),
    ],
)
def test_whatever_a_server_sends_costs_a_bounded_amount(tmp_path: Path, pieces: tuple[bytes, ...], reason: str) -> None:
    with (
        server(tmp_path, *pieces, stays=True) as path,
        connected(f"unix:{path}", 5.0, 1_000_000) as client,
        pytest.raises(JsonRpcError, match=reason),
    ):
        client.call("x", [])


def test_a_server_that_sends_a_byte_at_a_time_does_not_have_all_of_it_read_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries, parse = [], JsonRpcClient._parse
    monkeypatch.setattr(JsonRpcClient, "_parse", lambda client: tries.append(client) or parse(client))
    monkeypatch.setattr(json_rpc, "_PATIENCE", 1e9)
    pieces = (b'{"a": [', *[b"1,"] * 30)
    with server(tmp_path, *pieces, pause_s=0.02) as path, pytest.raises(JsonRpcError, match="connection closed"):
        call(path, "x", [])
    assert len(tries) <= 2  # the first pause, and the end


@pytest.mark.parametrize(
    ("pieces", "result"),
    [
        ((b'{"id": 1}',), None),
        ((b'{"method": "echo"}' + answer("there"),), "there"),
        ((b'{"}": "', b"y" * 900, b'"}', answer("late")), "late"),
    ],
)
def test_an_answer_is_found_among_other_messages(tmp_path: Path, pieces: tuple[bytes, ...], result: object) -> None:
    with server(tmp_path, *pieces, stays=True) as path, connected(f"unix:{path}", 5.0) as client:
        assert client.call("x", []) == result


def test_a_transaction_without_results_is_refused(tmp_path: Path) -> None:
    with (
        server(tmp_path, answer({"rows": 1})) as path,
        pytest.raises(JsonRpcError, match="which are no results"),
        connected(f"unix:{path}", 5.0) as client,
    ):
        transact(client, "Open_vSwitch", [])


def test_a_socket_that_this_process_may_not_open_is_no_server_to_start(tmp_path: Path) -> None:
    path = tmp_path / "db.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0)
        said = run_program(with_capabilities((), [sys.executable, "-c", _ASK, str(path)]))
    assert "run this as the user of the socket" in said
