"""Questions to a node of 1+1 protection that is hostile: they end in time, and cost a bounded amount."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from dataplane.model.node_lines import NodeError
from ryu_apps.control import protection
from ryu_apps.control.protection import ANSWER_BYTES, exchange
from tests.patience import patient_s

pytestmark = pytest.mark.ryu


@contextlib.contextmanager
def node(pieces: Sequence[bytes], pause_s: float = 0.0) -> Iterator[str]:
    """A node that answers one request with these pieces; its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _address = listener.accept()
        with connection, contextlib.suppress(OSError):  # the other end may have had enough
            connection.recv(65536)
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause_s)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        thread.join(patient_s(20))
        listener.close()


def test_the_first_line_is_the_answer_whatever_its_pieces_and_what_follows() -> None:
    with node((b'{"epoch"', b': "a"}\n{"more', b'": 1}\n')) as address:
        assert exchange(address, {}) == {"epoch": "a"}


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ((b"x" * 65536,) * (ANSWER_BYTES // 65536 + 2), "a line of more than"),
        ((b"[" * 100_000 + b"\n",), "which is no JSON"),
        ((b"\xff\xfe\n",), "which is no JSON"),
        ((), "which is no JSON"),
    ],
    ids=["endless", "nested", "bytes", "nothing"],
)
def test_what_is_no_answer_is_refused(pieces: Sequence[bytes], said: str) -> None:
    with node(pieces) as address, pytest.raises(NodeError, match=said):
        exchange(address, {})


def test_a_byte_now_and_then_does_not_make_the_time_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protection, "ANSWER_S", 0.3)
    with node((b" ",) * 4000, pause_s=0.001) as address, pytest.raises(TimeoutError):
        exchange(address, {})
