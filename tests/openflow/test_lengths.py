"""Lists inside messages: impossible lengths are refused, and what passes does not hold Ryu's parser up."""

from __future__ import annotations

import signal
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.decide.switch import Part, features_reply, hear, opening
from ryu_apps.openflow import encode
from ryu_apps.openflow.fields import encode_match
from ryu_apps.openflow.lengths import check_received
from ryu_apps.openflow.wire import VERSION, BundleControl, MalformedMessageError, MsgType, message
from ryu_apps.plan.rows import Bucket, FlowRow, GroupRow, Output, SetField
from tests.examples import examples

# Mostly small numbers, since lengths are small; 0 is the dangerous one.
BYTES = st.lists(st.sampled_from([0, 0, 0, 0, 1, 2, 4, 8, 16, 24, 40, 64, 255]), max_size=140).map(bytes)
LISTED = (1, 6, 7, 9, 10, 12)
LONGEST_S = 5


def part(number: int, body: bytes) -> bytes:
    return message(MsgType.MULTIPART_REPLY, struct.pack("!HH4x", number, 0) + body)


def flow_entry(row: FlowRow) -> bytes:
    """A flow as a switch lists it: the flow-mod's match and instructions behind 48 bytes of its own."""
    rest = encode.flow_add(row)[48:]
    return struct.pack("!HB45x", 48 + len(rest), row.table_id) + rest


FLOW = flow_entry(FlowRow(0, 7, (("eth_type", 0x800, None),), (SetField("ip_dscp", 8), Output(3))))
WRITING = flow_entry(FlowRow(0, 7, (), (), write_actions=(Output(3),)))
# Bytes of an entry, by multipart type (OpenFlow 1.3.5 section 7.3.5): description, aggregate, tables, ports, queues,
# features of groups and of meters, descriptions of ports.
FIXED = {0: 1056, 2: 24, 3: 24, 4: 112, 5: 40, 8: 40, 11: 16, 13: 64}
GROUP = encode.group_add(GroupRow(5, "all", (Bucket((Output(1),)), Bucket((Output(2),)))))[16:]


@pytest.mark.parametrize(
    "good",
    [
        opening(),
        features_reply(1, 2),
        message(MsgType.HELLO),
        part(1, FLOW + FLOW),
        part(7, struct.pack("!HBxI", 8 + len(GROUP), 0, 5) + GROUP),
        part(1, WRITING),
        *(part(number, bytes(2 * size)) for number, size in FIXED.items()),
        encode.bundle_control(1, BundleControl.OPEN_REPLY, 0),
        *(hear(message(MsgType.MULTIPART_REQUEST, struct.pack("!HH4x", each, 0)), 1).reply for each in Part),
    ],
)
def test_what_switches_say_passes(good: bytes) -> None:
    check_received(good, VERSION)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (message(MsgType.HELLO, bytes(8)), "a hello element of length 0"),
        (struct.pack("!BBHI", 5, 0, 16, 1) + bytes(8), "a hello element of length 0"),
        (message(MsgType.HELLO, struct.pack("!HH", 1, 40) + bytes(36)), "a bitmap of versions of length 40"),
        *((part(number, bytes(64)), "of length 0") for number in LISTED),
        (struct.pack("!BBHI", 4, 23, 32, 1) + bytes(24), "a queue of length 0"),
        (part(1, FLOW[:-16] + bytes(16)), "of length 0"),
        (part(7, struct.pack("!H6x", 4)), "a group of length 4"),
        (part(1, WRITING[:-16] + bytes(16)), "an action of length 0"),
        (part(1, FLOW + FLOW[:-8]), f"a flow of length {len(FLOW)} .*{len(FLOW) - 8} are left"),
        (message(MsgType.PACKET_IN, bytes(16) + encode_match((("in_port", 1, None),))), "ends with its match"),
        *((part(number, bytes(size + size // 2)), f"no multiple of the {size}") for number, size in FIXED.items()),
        (encode.flow_add(FlowRow(0, 1, (), (Output(1),))), "only controllers send it"),
        (struct.pack("!BBHI", 1, 20, 8, 1), "a message of version 0x01 where 0x04 is spoken"),
    ],
)
def test_what_would_hold_a_parser_up_is_refused_by_name(bad: bytes, words: str) -> None:
    with pytest.raises(MalformedMessageError, match=words):
        check_received(bad, VERSION)


def test_errors_of_any_version_and_old_hellos_pass() -> None:
    check_received(struct.pack("!BBHI", 1, 0, 12, 1) + bytes(4), VERSION)
    check_received(struct.pack("!BBHI", 6, 1, 12, 1) + bytes(4), VERSION)


class ParserStuckError(BaseException):
    """The parser did not end."""


@pytest.fixture(scope="module")
def alarm() -> Iterator[None]:
    def ring(_number: int, _frame: object) -> None:
        raise ParserStuckError

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.ryu
@examples(400)
@given(
    kind=st.integers(0, 29),
    first=st.sampled_from((0, *LISTED, 3)),
    body=BYTES,
    entry=st.sampled_from((b"", FLOW, GROUP)),
)
def test_what_passes_does_not_hold_the_parser_of_ryu_up(
    alarm: None, kind: int, first: int, body: bytes, entry: bytes
) -> None:
    from ryu.ofproto import ofproto_v1_3, ofproto_v1_3_parser

    class Switch:
        ofproto, ofproto_parser, id = ofproto_v1_3, ofproto_v1_3_parser, 1

    head = struct.pack("!HH4x", first, 0) if kind == MsgType.MULTIPART_REPLY else b""
    given_bytes = struct.pack("!BBHI", 4, kind, 8 + len(head + entry + body), 1) + head + entry + body
    try:
        check_received(given_bytes, VERSION)
    except MalformedMessageError:
        return
    parser = ofproto_v1_3_parser._MSG_PARSERS.get(kind)
    if parser is None:
        return
    signal.alarm(LONGEST_S)
    try:
        parser(Switch(), VERSION, kind, len(given_bytes), 1, bytearray(given_bytes))
    except Exception:  # noqa: BLE001 - it may refuse in any way, if only it ends
        return
    finally:
        signal.alarm(0)
