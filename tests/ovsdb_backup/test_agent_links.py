"""The agent's connections: bytes in odd portions, switches that talk nonsense, and the second liveness source."""

from __future__ import annotations

import socket
import struct
import tempfile
from collections.abc import Iterator

import pytest

from mininet_topos.errors import BadInputError
from mininet_topos.toy import figure2
from ovsdb_backup.switch_link import MAX_RETRY_S, PROVED_AFTER_S, SwitchLink
from ryu_apps.openflow import encode
from tests.ovsdb_backup.running import running_agent
from tests.ovsdb_backup.test_agent_on_ovs import primary_port, wanted_after_failure
from tests.ovsdb_backup.world import site
from tests.patience import wait_until

pytestmark = pytest.mark.filterwarnings("ignore:.*Eventlet is deprecated")

NODE_D = site(figure2(), "s4")
E = 0x0A000005


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with tempfile.TemporaryDirectory(prefix="armor-") as folder, socket.socket(socket.AF_UNIX) as found:
        found.bind(f"{folder}/x.mgmt")
        found.listen()
        found.settimeout(20)
        yield found


def address(listener: socket.socket) -> str:
    return f"unix:{listener.getsockname()}"


def test_messages_are_found_however_the_bytes_fail(listener):
    link = SwitchLink(address(listener))
    assert link.open(0.0)
    switch, _peer = listener.accept()
    sent = [encode.hello(), encode.echo_request(b"data", xid=7), encode.barrier_request(3)]
    for byte in b"".join(sent[:2]):
        switch.sendall(bytes([byte]))
        heard = link.receive()
    assert heard == [sent[1]], "the last byte completes the message; the one before was heard before"
    switch.sendall(b"".join(sent))
    assert link.receive() == sent
    assert link.receive() == []
    switch.close()


def test_more_than_the_socket_takes_is_sent_later(listener):
    link = SwitchLink(address(listener))
    link.open(0.0)
    switch, _peer = listener.accept()
    switch.settimeout(20)
    data = bytes(range(256)) * 20000
    link.send(data)
    link.send(b"end")
    received = b""
    while not received.endswith(b"end"):
        received += switch.recv(1 << 20)
        link.flush()
    assert received == data + b"end"
    switch.close()


@pytest.mark.parametrize("nonsense", [b"\x04\x00\x00\x00\x00\x00\x00\x00", b"\x04\x00\x00\x07" + b"\0" * 9])
def test_stream_that_cannot_be_followed_is_broken_off(listener, nonsense):
    link = SwitchLink(address(listener))
    link.open(0.0)
    switch, _peer = listener.accept()
    switch.sendall(nonsense)
    with pytest.raises(ConnectionError, match="reconnect"):
        link.receive()
    switch.close()


def test_closed_connection_is_noticed_by_reading_and_by_writing(listener):
    link = SwitchLink(address(listener))
    link.open(0.0)
    listener.accept()[0].close()
    with pytest.raises(ConnectionError):
        link.receive()
    with pytest.raises(ConnectionError):
        link.send(b"x" * 10)
    link.close(0.0)
    assert not link.is_open
    assert link.receive() == []


def test_pauses_between_tries_grow_to_a_limit_and_start_again_after_success(listener):
    link = SwitchLink(address(listener))
    listener.close()
    pauses, now_s = [], 0.0
    for _try in range(8):
        assert not link.open(now_s)
        pauses.append(link.next_try_s - now_s)
        now_s = link.next_try_s
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] == pytest.approx(MAX_RETRY_S)
    link.settled(now_s)
    link.close(now_s + PROVED_AFTER_S)
    assert link.next_try_s - (now_s + PROVED_AFTER_S) == pytest.approx(pauses[0])


def test_a_switch_that_breaks_off_as_soon_as_it_is_read_is_tried_less_and_less_often(listener):
    link = SwitchLink(address(listener))
    pauses, now_s = [], 0.0
    for _try in range(8):
        assert link.open(now_s)
        link.settled(now_s)
        link.close(now_s + PROVED_AFTER_S / 2)
        pauses.append(link.next_try_s - now_s - PROVED_AFTER_S / 2)
        now_s = link.next_try_s
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(MAX_RETRY_S)


@pytest.mark.parametrize("given", ["", "unix:", "tcp:127.0.0.1:1", "s1.mgmt"])
def test_address_of_another_kind_is_refused(given):
    with pytest.raises(BadInputError, match="management socket"):
        SwitchLink(given)


@pytest.mark.ovs
def test_agent_survives_a_switch_that_talks_nonsense():
    """A made-up switch sends a malformed PORT_STATUS and an error; the agent breaks off and comes again."""
    pytest.importorskip("ovs", reason="Python package ovs is not installed")
    with running_agent(NODE_D) as running, tempfile.TemporaryDirectory(prefix="armor-") as folder:
        false_switch = socket.socket(socket.AF_UNIX)
        false_switch.bind(f"{folder}/x.mgmt")
        false_switch.listen()
        false_switch.settimeout(20)
        running.options += ("--management", f"unix:{folder}/x.mgmt")
        running.start()
        error = struct.pack("!BBHIHH", 4, 1, 12, 999, 4, 4)
        for nonsense in (b"\x04\x0c\x00\x0a\0\0\0\0\0\0", b"\x04\0\0\x01\0\0\0\0", error):
            switch, _peer = false_switch.accept()
            switch.settimeout(20)
            switch.sendall(encode.hello() + nonsense)
            wait_until(lambda switch=switch: not switch.recv(1 << 16), "the agent breaks off")
            switch.close()
        assert running.process.poll() is None
        assert len(running.wait_events("error", 2)) >= 2
        assert "Traceback" not in running.output
        false_switch.close()


@pytest.mark.ovs
def test_database_alone_can_fail_a_port_and_its_loss_takes_that_back():
    pytest.importorskip("ovs", reason="Python package ovs is not installed")
    with running_agent(NODE_D) as running:
        running.start_ready()
        port_no = primary_port(NODE_D, E)
        interface = f"s4-p{port_no}"

        def is_failed_by_database() -> bool:
            # ovs-vswitchd writes the column itself once after it has added the port: say it again.
            running.ovs.vsctl("set", "interface", interface, "bfd_status:forwarding=false")
            return running.agent_rows() == wanted_after_failure(NODE_D, port_no)

        wait_until(is_failed_by_database, "OVSDB says that the port is down")
        running.ovs.vsctl("clear", "interface", interface, "bfd_status")
        running.wait_rows(set(), "OVSDB says nothing any more")


@pytest.mark.ovs
@pytest.mark.parametrize(
    ("link_state", "bfd_status", "live"),
    [
        ([], {}, True),
        (["up"], {}, True),
        (["down"], {}, False),
        (["up"], {"forwarding": "false", "state": "down"}, False),
        (["up"], {"forwarding": "true"}, True),
        (["up"], {"state": "up"}, True),
    ],
)
def test_what_the_columns_of_an_interface_say(link_state, bfd_status, live):
    pytest.importorskip("ovs", reason="Python package ovs is not installed")
    from ovsdb_backup.database_watch import is_live

    assert is_live(link_state, bfd_status) == live
