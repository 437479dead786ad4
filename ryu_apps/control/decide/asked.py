"""Which lists a controller has asked a switch for: a list that nobody asked for is not worth its decoding.

A reply is a list of up to 65,535 bytes, and decoding it takes milliseconds in which nobody else gets an answer. Other
messages are short, are not decoded, or come unasked by nature (packet-ins, errors, port changes).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ryu_apps.openflow.wire import HEADER_BYTES, MULTIPART_MORE, VERSION, MsgType, header

MOST_ASKED = 1000
_REQUESTS = (MsgType.MULTIPART_REQUEST, MsgType.QUEUE_REQUEST)
_REPLIES = (MsgType.MULTIPART_REPLY, MsgType.QUEUE_REPLY)


@dataclass(slots=True)
class Asked:
    """Requests for lists, on all connections of a switch, whose reply has not ended; the latest `MOST_ASKED` ids."""

    _n_of_xid: dict[int, int] = field(default_factory=dict)

    def sent(self, messages: bytes) -> None:
        """Whole messages go to the switch."""
        at = 0
        while at + HEADER_BYTES <= len(messages):
            length = max(HEADER_BYTES, int.from_bytes(messages[at + 2 : at + 4], "big"))
            if messages[at] == VERSION and messages[at + 1] in _REQUESTS:
                self._asks(messages[at : at + length])
            at += length

    def _asks(self, request: bytes) -> None:
        if not _is_last(request):
            return
        xid = header(request).xid
        self._n_of_xid[xid] = self._n_of_xid.pop(xid, 0) + 1
        if len(self._n_of_xid) > MOST_ASKED:
            del self._n_of_xid[next(iter(self._n_of_xid))]

    def admits(self, message: bytes) -> bool:
        """Whether a message of the switch is no list, or one that was asked for; its last part ends the request."""
        if message[0] != VERSION or message[1] not in _REPLIES:
            return True
        xid = header(message).xid
        n_asked = self._n_of_xid.get(xid, 0)
        if n_asked > 1 and _is_last(message):
            self._n_of_xid[xid] = n_asked - 1
        elif _is_last(message):
            self._n_of_xid.pop(xid, None)
        return n_asked > 0


def _is_last(message: bytes) -> bool:
    """Whether no part follows; requests and replies have their flags at the same place, and queues have none."""
    if message[1] in (MsgType.QUEUE_REQUEST, MsgType.QUEUE_REPLY):
        return True
    return not int.from_bytes(message[10:12], "big") & MULTIPART_MORE
