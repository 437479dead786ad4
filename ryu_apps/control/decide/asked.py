"""Which lists a controller has asked a switch for: a list that nobody asked for is not worth its decoding.

A reply is a list of up to 65,535 bytes, and decoding it takes milliseconds in which nobody else gets an answer. Other
messages are short, are not decoded, or come unasked by nature (packet-ins, errors, port changes).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ryu_apps.openflow.wire import HEADER_BYTES, VERSION, MsgType, header

MOST_ASKED = 1000
_MORE = 1  # the flag of a part behind which others follow, at the same place in requests and replies
_QUEUE_REQUEST, _QUEUE_REPLY = 22, 23
_REQUESTS = (MsgType.MULTIPART_REQUEST, _QUEUE_REQUEST)
_REPLIES = (MsgType.MULTIPART_REPLY, _QUEUE_REPLY)


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

    def is_unasked(self, message: bytes) -> bool:
        """Whether a message of the switch is a list that answers no request; the last part of one ends its request."""
        if message[0] != VERSION or message[1] not in _REPLIES:
            return False
        xid = header(message).xid
        n_asked = self._n_of_xid.get(xid, 0)
        if n_asked > 1 and _is_last(message):
            self._n_of_xid[xid] = n_asked - 1
        elif _is_last(message):
            self._n_of_xid.pop(xid, None)
        return not n_asked


def _is_last(message: bytes) -> bool:
    return message[1] in (_QUEUE_REQUEST, _QUEUE_REPLY) or not int.from_bytes(message[10:12], "big") & _MORE
