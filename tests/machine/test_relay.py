"""A relay carries bytes both ways, ends with either end, and closes connections that lead nowhere."""

from __future__ import annotations

import socket
import threading

import pytest

from experiments.loadgen.ports import free_port
from machine.relay import Relay
from tests.patience import patient_s


def echo(listener: socket.socket) -> None:
    connection, _address = listener.accept()
    with connection:
        while data := connection.recv(1 << 16):
            connection.sendall(data)


def test_bytes_go_both_ways_and_the_end_is_handed_on() -> None:
    sent = bytes(range(256)) * 2000
    with socket.create_server(("127.0.0.1", 0)) as target:
        thread = threading.Thread(target=echo, args=(target,))
        thread.start()
        listener = socket.create_server(("127.0.0.1", 0))
        with Relay(listener, target.getsockname()[:2]):
            with socket.create_connection(listener.getsockname()[:2], patient_s(20)) as client:
                writer = threading.Thread(target=client.sendall, args=(sent,))
                writer.start()
                received = b""
                while len(received) < len(sent):
                    received += client.recv(1 << 16)
                writer.join()
                assert received == sent
            thread.join(patient_s(20))
            assert not thread.is_alive()


def test_without_a_target_a_connection_is_closed_and_the_next_may_come() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with Relay(listener, ("127.0.0.1", free_port())):
        for _attempt in range(2):
            with socket.create_connection(listener.getsockname()[:2], patient_s(20)) as client:
                assert client.recv(1) == b""


def test_it_ends_beside_a_target_that_reads_nothing() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with socket.create_server(("127.0.0.1", 0)) as target:
        with (
            Relay(listener, target.getsockname()[:2]),
            socket.create_connection(listener.getsockname()[:2], patient_s(20)) as client,
            target.accept()[0],
        ):
            client.settimeout(0.5)
            with pytest.raises(TimeoutError):  # once the buffers on the way are full
                client.sendall(bytes(1 << 26))
        assert not [thread for thread in threading.enumerate() if thread.name == "relay"]
