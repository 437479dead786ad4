"""How many OpenFlow connections may be open."""

from __future__ import annotations

import errno
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.connections import OFFENCES, OPENFLOW, ConnectionLimits, Connections

steps = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=100)


@given(steps, st.integers(1, 6), st.integers(1, 4))
def test_no_limit_is_exceeded_and_nobody_below_both_is_refused(sequence, altogether, per_address) -> None:
    connections, is_open = Connections(ConnectionLimits(altogether, per_address)), Counter()
    n_refused = 0
    for address, opens in sequence:
        if opens:
            has_room = is_open.total() < altogether and is_open[address] < per_address
            refused = connections.why_refused(address, 0.0)
            assert bool(refused) != has_room
            n_refused += bool(refused)
            is_open[address] += not refused
        elif is_open[address]:
            connections.ended(address)
            is_open[address] -= 1
        assert connections.n_open == is_open.total() <= altogether
        assert connections.of_address == {name: number for name, number in is_open.items() if number}
        assert all(number <= per_address for number in connections.of_address.values())
    assert connections.n_refused == n_refused


def test_a_refusal_names_the_address_and_the_setting() -> None:
    connections = Connections(ConnectionLimits(2, 1))
    assert connections.why_refused("10.0.0.1", 0.0) == ""
    assert "10.0.0.1 is refused: it has 1 OpenFlow connections open; raise the setting max_connections_per_address" in (
        connections.why_refused("10.0.0.1", 0.0)
    )
    assert connections.why_refused("10.0.0.2", 0.0) == ""
    assert "2 OpenFlow connections are open; raise the setting max_connections " in connections.why_refused(
        "10.0.0.3", 0.0
    )


def test_an_address_whose_connections_offend_gets_no_new_ones_for_a_while_and_others_do() -> None:
    connections, now_s = Connections(), 0.0
    for _ in range(int(OFFENCES.at_once)):
        assert connections.why_refused("10.0.0.9", now_s) == ""
        connections.offended("10.0.0.9", now_s)
        connections.ended("10.0.0.9")
    assert "had no handshake or sent what is refused" in connections.why_refused("10.0.0.9", now_s)
    assert connections.why_refused("10.0.0.1", now_s) == ""
    assert connections.n_refused == 1
    assert connections.why_refused("10.0.0.9", now_s + 1 / OFFENCES.per_s) == ""


def test_ever_new_addresses_that_offend_cost_bounded_memory() -> None:
    connections = Connections()
    for number in range(3000):
        connections.offended(f"fd00::{number:x}", 0.0)
    assert len(connections._offences) == 1000


def test_settings_come_from_the_file_and_the_environment_and_are_checked() -> None:
    assert OPENFLOW.read({}, {}) == ConnectionLimits()
    given_ = {"ARMOR_OPENFLOW_MAX_CONNECTIONS_PER_ADDRESS": "7"}
    assert OPENFLOW.read({"max_connections": "9"}, given_) == ConnectionLimits(9, 7)
    with pytest.raises(BadInputError, match="max_connections"):
        OPENFLOW.read({"max_connections": "0"}, {})
    with pytest.raises(BadInputError, match="ARMOR_OPENFLOW_MAX is no setting"):
        OPENFLOW.read({}, {"ARMOR_OPENFLOW_MAX": "1"})


@pytest.mark.ryu
def test_a_system_without_open_files_to_give_is_asked_again_and_the_place_of_what_ended_is_free(monkeypatch, caplog):
    from ryu.lib import hub

    from ryu_apps.control import listening

    connections = Connections(ConnectionLimits(1, 1))
    monkeypatch.setattr(listening, "CONNECTIONS", connections)
    for pause in ("_ACCEPT_AGAIN_S", "_REFUSED_OPEN_S"):
        monkeypatch.setattr(listening, pause, 0.0)
    first, second, third = (SimpleNamespace(close=lambda number=number: closed.append(number)) for number in range(3))
    closed: list[int] = []
    served: list[object] = []
    full, ended = OSError(errno.EMFILE, "Too many open files"), OSError(errno.EBADF, "closed")
    coming = iter([full, *((each, ("10.0.0.1", 1)) for each in (first, second, third)), ended])

    def accept() -> object:
        found = next(coming)
        if isinstance(found, OSError):
            raise found
        return found

    server = listening.OpenFlowServer.__new__(listening.OpenFlowServer)

    def handle(connection: object, _address: object) -> None:
        served.append(connection)
        hub.sleep(0)

    server.server, server.handle = SimpleNamespace(accept=accept), handle
    with pytest.raises(OSError, match="closed"):
        server.serve_forever()
    hub.sleep(0)
    assert served == [first, third]  # the first has ended while the second was refused
    assert closed == [1]
    assert connections.n_open == 0
    assert "no connection can be accepted: Too many open files" in caplog.text


@pytest.mark.ryu
def test_a_connection_that_is_closed_meanwhile_gives_nothing_more_of_what_has_arrived() -> None:
    from ryu_apps.control.datapath import read_messages
    from ryu_apps.openflow import encode

    taken: list[bytes] = []
    connection = SimpleNamespace(recv=lambda _size: 100 * encode.hello())
    read_messages(connection, lambda: len(taken) < 3, taken.append)
    assert taken == 3 * [encode.hello()]


@pytest.mark.ryu
def test_connections_to_several_ports_begin_one_at_a_time_and_others_are_served_between(monkeypatch) -> None:
    from ryu.lib import hub

    from ryu_apps.control import listening

    monkeypatch.setattr(listening, "CONNECTIONS", Connections())
    steps: list[str] = []

    def other() -> None:
        while len(steps) < 30:
            steps.append("other")
            hub.sleep(0)

    def serve_five() -> None:
        server = listening.OpenFlowServer.__new__(listening.OpenFlowServer)
        coming = iter([(SimpleNamespace(), ("10.0.0.9", 1))] * 5)
        server.server = SimpleNamespace(accept=lambda: next(coming))
        server.handle = lambda _connection, _address: steps.append("begins")
        with pytest.raises(StopIteration):
            server.serve_forever()

    greenlets = [hub.spawn(each) for each in (other, serve_five, serve_five)]
    hub.joinall(greenlets)
    assert steps.count("begins") == 10
    assert "begins begins" not in " ".join(steps)
