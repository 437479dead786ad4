"""The conversation with a switch that reads nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.decide.reply_limit import MAX_REPLY_BYTES, MAX_REPLY_ENTRIES, Gathered

pytestmark = pytest.mark.ryu


def test_what_a_switch_that_reads_nothing_is_posted_is_dropped_and_shown() -> None:
    from ryu_apps.control.channel import MAX_POSTED, SwitchChannel
    from ryu_apps.control.route_configuration import Status
    from ryu_apps.control.switch import Switch

    datapath: Any = SimpleNamespace(id=1)
    channel = SwitchChannel(datapath)  # its writer does not run before this test gives way
    for _number in range(MAX_POSTED + 3):
        channel.post(b"message")
    routes: Any = SimpleNamespace(status=Status())
    assert Switch("s1", 1, channel, routes).state()["posts_dropped"] == 3


def test_a_reply_without_end_ends_the_connection_with_a_reason_and_keeps_nothing(monkeypatch) -> None:
    from ryu.lib import hub

    from ryu_apps.control.channel import SwitchChannel, SwitchClosedError
    from ryu_apps.control.decide import reply_limit
    from ryu_apps.openflow import encode
    from ryu_apps.openflow.messages import DumpPart, PortDesc, Received
    from ryu_apps.openflow.wire import MsgType, Multipart

    monkeypatch.setattr(reply_limit, "MAX_REPLY_BYTES", 1000)
    said: list[str] = []
    datapath: Any = SimpleNamespace(id=1, xid=0, send=lambda _message: True)
    datapath.refuse = lambda kind, text: said.append(f"{kind}: {text}")
    datapath.close_refused = lambda: said.append("closed")
    channel = SwitchChannel(datapath)
    waiting = hub.spawn(channel.dump, encode.port_desc_request, PortDesc, raise_error=True)
    hub.sleep(0)
    part = DumpPart(Multipart.PORT_DESC, (PortDesc(1, 1, "p1", 0, 4),), True)
    taken = [channel.on_message(Received(MsgType.MULTIPART_REPLY, datapath.xid, part, 64)) for _ in range(10_000)]
    assert all(taken)
    (pending,) = channel._pending.values()
    assert pending.replies == []
    with pytest.raises(SwitchClosedError):
        waiting.wait()
    hub.sleep(0)
    assert len(said) == 2
    assert "overlong: the reply to one request has 1,024 bytes and 16 entries so far" in said[0]
    assert said[1] == "closed"


@given(st.lists(st.tuples(st.sampled_from([16, 1 << 16, 1 << 24]), st.sampled_from([0, 1, 200_000])), max_size=20))
def test_a_reply_is_too_long_from_the_part_on_that_exceeds_a_bound(parts: list[tuple[int, int]]) -> None:
    gathered = Gathered()
    for number, part in enumerate(parts, start=1):
        gathered = gathered.with_part(*part)
        n_bytes, n_entries = (sum(column) for column in zip(*parts[:number], strict=True))
        assert bool(gathered.too_long) == (n_bytes > MAX_REPLY_BYTES or n_entries > MAX_REPLY_ENTRIES)
