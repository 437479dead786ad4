"""For which switch the service takes a connection, and what a per-class connection may let wait; without sockets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ryu_apps.control.decide.peers import AllowList, Peer
from ryu_apps.control.priority.decide.settings import PsoSettings
from ryu_apps.openflow import encode
from ryu_apps.openflow.decode import decode_features
from ryu_apps.openflow.wire import VERSION, MsgType, WireError, split_messages
from tests.control.priority.running import features_reply, punt
from tests.control.priority.test_channels import OUT_OF_BAND

if TYPE_CHECKING:
    from ryu_apps.control.datapath import MessageRefused
    from ryu_apps.control.priority.channel import ClassChannel
    from ryu_apps.control.priority.service import PsoService

pytestmark = pytest.mark.ryu
OWN, FOREIGN = "10.0.0.1", "10.0.0.9"
ONLY_OWN = AllowList(of_address={OWN: frozenset((1,))})


class Registry:
    """Writes down what a per-class connection reports."""

    def __init__(self) -> None:
        self.known: list[int | None] = []
        self.errors: list[str] = []

    def channel_known(self, channel: ClassChannel) -> None:
        self.known.append(channel.dpid)

    def channel_closed(self, channel: ClassChannel) -> None:
        """Not of interest here."""

    def error(self, kind: str) -> None:
        self.errors.append(kind)


class Socket:
    """A socket whose other end sends chunks, takes nothing before `takes` is set, and ends once `ends` is set."""

    def __init__(self, *chunks: bytes) -> None:
        from ryu.lib import hub

        self._chunks = list(chunks)
        self.takes, self.ends = hub.Event(), hub.Event()
        self.sent = b""
        self.n_read_bytes = 0
        self.is_closed = False

    def recv(self, _most_bytes: int) -> bytes:
        if not self._chunks:
            self.ends.wait()
            return b""
        chunk = self._chunks.pop(0)
        self.n_read_bytes += len(chunk)
        return chunk

    def sendall(self, data: bytes) -> None:
        self.takes.wait()
        self.sent += data

    def setsockopt(self, *_option: int) -> None:
        """Nothing to set."""

    def settimeout(self, _timeout_s: float) -> None:
        """Nothing to set."""

    def shutdown(self, _how: int) -> None:
        self.ends.set()

    def close(self) -> None:
        self.is_closed = True


class MainConnection:
    """A main connection as far as the service knows one; Ryu takes the id of every FEATURES_REPLY for it."""

    def __init__(self, service: PsoService, address: str) -> None:
        self.id: int | None = None
        self.state, self.peer, self.address = "config", Peer(address), (address, 1)
        self.ofproto = SimpleNamespace(OFP_VERSION=VERSION)
        self._service, self.is_closed = service, False
        self.named: list[MessageRefused] = []
        self.ofp_brick = SimpleNamespace(send_event_to_observers=self.named.append)
        self.link = service.main_opened(self)

    def claim(self, dpid: int) -> None:
        """Let a FEATURES_REPLY come, and be delivered."""
        self.link.received(features_reply(dpid))
        while self._service._receiver._next():
            continue

    def admits(self, _message: bytes) -> bool:
        return True

    def deliver(self, message: bytes, _decorate: Any) -> None:
        self.id = decode_features(message).dpid

    def mark(self, _dscp: int) -> None:
        """Nothing to mark."""

    def close(self) -> None:
        from ryu.controller.handler import DEAD_DISPATCHER

        self.state, self.is_closed = DEAD_DISPATCHER, True
        self._service.main_closed(self.link)


def service_with(allow_list: AllowList | None) -> PsoService:
    from ryu_apps.control.priority.service import PsoService

    return PsoService(OUT_OF_BAND, PsoSettings(), ("127.0.0.1", 6653), allow_list)


def of_class(connection: Socket, registry: Any, address: str = OWN) -> ClassChannel:
    from ryu_apps.control.priority.channel import ClassChannel

    return ClassChannel(connection, (address, 1), 2, registry)


def test_a_main_connection_has_one_switch_and_nothing_of_it_is_left_behind() -> None:
    service = service_with(None)
    foreign = MainConnection(service, FOREIGN)
    foreign.claim(1)
    foreign.claim(1)
    assert set(service.links) == {1}
    with pytest.raises(WireError, match="0x2, and has claimed 0x1 before"):
        foreign.claim(2)
    foreign.close()
    assert service.links == {}
    own = MainConnection(service, OWN)
    own.claim(1)
    assert service.links == {1: own.link}
    assert service.counters.errors == {}


def test_a_main_connection_that_may_not_speak_for_a_switch_is_never_registered() -> None:
    service = service_with(ONLY_OWN)
    foreign, own = MainConnection(service, FOREIGN), MainConnection(service, OWN)
    foreign.claim(1)
    assert (service.links, foreign.is_closed, service.counters.errors) == ({}, True, {"refused connection": 1})
    (event,) = foreign.named
    assert (event.what, "claims datapath id 0x1, and may not" in event.text) == ("refused switch", True)
    own.claim(1)
    assert service.links == {1: own.link}


def test_a_per_class_connection_has_to_be_allowed_also_while_its_switch_is_not_connected() -> None:
    service = service_with(ONLY_OWN)
    for address, n_refused in ((OWN, 0), (FOREIGN, 1)):
        connection = Socket(features_reply(1))
        connection.ends.set()
        of_class(connection, service, address).serve(10.0)
        assert service.counters.errors.get("refused connection", 0) == n_refused
    assert service._channels == {}


def test_a_per_class_connection_is_known_once_and_closed_when_it_claims_another_switch(caplog) -> None:
    registry, connection = Registry(), Socket(features_reply(1) + features_reply(1) + features_reply(2))
    connection.ends.set()
    of_class(connection, registry).serve(10.0)
    assert (registry.known, registry.errors, connection.is_closed) == ([1], ["malformed"], True)
    assert "it claims datapath id 0x2, and has claimed 0x1 before" in caplog.text


@pytest.mark.parametrize(
    ("chunks", "ends", "n_offences"),
    [
        ((), True, 1),
        ((encode.hello(), features_reply(1)[:9]), True, 1),
        ((), False, 1),  # within the time for a handshake
        ((features_reply(1), features_reply(2)), True, 1),
        ((features_reply(1),), True, 0),
    ],
)
def test_a_per_class_connection_that_ends_without_a_handshake_or_for_what_it_says_is_one_offence(
    chunks, ends, n_offences, monkeypatch
) -> None:
    offences: list[object] = []
    monkeypatch.setattr("ryu_apps.control.priority.channel.count_offence", offences.append)
    connection = Socket(*chunks)
    if ends:
        connection.ends.set()
    of_class(connection, Registry()).serve(10.0 if ends else 0.01)
    assert offences == n_offences * [(OWN, 1)]


def test_a_switch_whose_connection_is_not_read_for_now_hears_something_all_the_same() -> None:
    from ryu.lib import hub

    connection = Socket(punt(1), punt(2))
    connection.takes.set()
    channel = of_class(connection, Registry())
    behind = [True]
    channel.link = SimpleNamespace(  # type: ignore[assignment]
        sender=SimpleNamespace(next_apart=lambda _class_id: b""),
        deliver=lambda *_message: None,
        is_behind=lambda *_place: behind[-1],
    )
    channel._is_ready = True
    serving = hub.spawn(channel.serve, 10.0)
    for _ in range(10):
        hub.sleep(0)
    assert MsgType.ECHO_REQUEST not in [message[1] for message in split_messages(connection.sent)[0]]
    channel.say_something()
    hub.sleep(0)
    assert [message[1] for message in split_messages(connection.sent)[0]][-1] == MsgType.ECHO_REQUEST
    behind.append(False)
    channel._caught_up.ring()
    connection.ends.set()
    serving.wait()
    channel.say_something()
    assert channel._urgent == b""


def test_a_per_class_connection_is_not_read_while_too_many_of_its_echoes_are_not_taken() -> None:
    from ryu.lib import hub

    from ryu_apps.control.priority.channel import MAX_UNSENT_BYTES

    chunk = encode.echo_request(bytes(8)) * 1024
    connection = Socket(*[chunk] * 20)
    serving = hub.spawn(of_class(connection, Registry()).serve, 10.0)
    for _ in range(100):
        hub.sleep(0)
    assert connection.n_read_bytes <= MAX_UNSENT_BYTES + 3 * len(chunk)
    connection.takes.set()
    for _ in range(1000):
        hub.sleep(0)
    connection.ends.set()
    serving.wait()
    replies = [message for message in split_messages(connection.sent)[0] if message[1] == MsgType.ECHO_REPLY]
    assert len(replies) == 20 * 1024
