"""A controller of a few lines in a thread: handshake, then answers to the packet-ins and echo requests it wants to."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from ryu_apps.openflow import encode
from ryu_apps.openflow.decode import decode_packet_in
from ryu_apps.openflow.wire import MsgType, header, split_messages
from ryu_apps.plan.rows import Output

Answers = Callable[[int], bool]


class FakeController:
    """Listens on as many ports as given ids; connections of port k get controller id `ids[k]` (None: none).

    `answers` and `echoes` decide about the n-th packet-in and the n-th echo request.
    """

    def __init__(
        self,
        ids: tuple[int | None, ...] = (None,),
        answers: Answers = lambda _: True,
        echoes: Answers = lambda _: True,
    ) -> None:
        self.ids, self.answers, self.echoes, self._n_echoes = ids, answers, echoes, 0
        self.seen: list[tuple[int | None, bytes]] = []
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        self._rest: dict[socket.socket, bytes] = {}
        self._open: list[socket.socket] = []
        self.ports = []
        for controller_id in ids:
            listener = socket.create_server(("127.0.0.1", 0))
            self.ports.append(listener.getsockname()[1])
            self._selector.register(listener, selectors.EVENT_READ, ("listen", controller_id))
            self._open.append(listener)
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> FakeController:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for each in self._open:
            each.close()
        self._selector.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            for key, _ in self._selector.select(0.02):
                what, controller_id = key.data
                if what == "listen":
                    self._accept(key.fileobj, controller_id)
                else:
                    self._read(key.fileobj, controller_id)

    def _accept(self, listener: socket.socket, controller_id: int | None) -> None:
        link, _ = listener.accept()
        self._open.append(link)
        self._rest[link] = b""
        self._selector.register(link, selectors.EVENT_READ, ("link", controller_id))
        with suppress(ConnectionError):  # a rogue switch may hang up at once
            link.sendall(encode.hello() + encode.features_request(1))
            if controller_id is not None:
                link.sendall(encode.set_controller_id(controller_id, 2) + encode.barrier_request(3))

    def _read(self, link: socket.socket, controller_id: int | None) -> None:
        try:
            data = link.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            self._selector.unregister(link)
            return
        messages, self._rest[link] = split_messages(self._rest[link] + data)
        for message in messages:
            self.seen.append((controller_id, message))
            packets = sum(header(each).msg_type == MsgType.PACKET_IN for _, each in self.seen)
            if header(message).msg_type == MsgType.PACKET_IN and self.answers(packets):
                link.sendall(encode.packet_out(decode_packet_in(message).data, (Output(1),)))
            if header(message).msg_type == MsgType.ECHO_REQUEST:
                self._n_echoes += 1
                if self.echoes(self._n_echoes):
                    link.sendall(encode.echo_reply(message))

    def packet_ins(self, controller_id: int | None) -> list[bytes]:
        """Packets that came on connections of an id."""
        return [
            decode_packet_in(message).data
            for seen_id, message in self.seen
            if seen_id == controller_id and header(message).msg_type == MsgType.PACKET_IN
        ]
