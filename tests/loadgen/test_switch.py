"""What an emulated switch answers: whole, well-formed, and total on any bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.decide.packets import HOST_PORTS
from experiments.loadgen.decide.switch import Meaning, Part, describe_error, hear, opening
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import BundleControl, MsgType, header, message, split_messages
from tests.openflow.decode_sent import decode_bundle_reply

DPID = 0xA1


def test_the_handshake_is_answered():
    assert header(opening()).msg_type == MsgType.HELLO
    heard = hear(encode.features_request(7), DPID)
    assert heard.meaning is Meaning.FEATURES
    assert decode.decode_features(heard.reply).dpid == DPID
    ports, more = decode.decode_port_desc(hear(encode.port_desc_request(9), DPID).reply)
    assert [port.port_no for port in ports] == list(HOST_PORTS)
    assert all(port.live for port in ports)
    assert not more


def test_symmetric_and_barrier_messages_keep_their_transaction_id():
    assert hear(encode.echo_request(b"abc", 5), DPID).reply == message(MsgType.ECHO_REPLY, b"abc", 5)
    assert hear(encode.barrier_request(6), DPID).reply == message(MsgType.BARRIER_REPLY, b"", 6)


def test_roles_are_taken_as_asked():
    request = struct.pack("!BBHIIIQ", 4, 24, 24, 11, 2, 0, 99)
    reply = hear(request, DPID).reply
    assert (reply[1], header(reply).xid, reply[8:]) == (25, 11, request[8:])


@pytest.mark.parametrize("part", list(Part))
def test_every_kind_of_dump_has_a_reply(part):
    request = message(MsgType.MULTIPART_REQUEST, struct.pack("!HH4x", part, 0) + bytes(24), 3)
    assert decode.multipart_kind(hear(request, DPID).reply) == part


def test_bundles_are_opened_and_committed():
    heard = hear(encode.bundle_open(4, xid=8), DPID)
    assert decode_bundle_reply(heard.reply) is BundleControl.OPEN_REPLY
    assert decode_bundle_reply(hear(encode.bundle_commit(4), DPID).reply) is BundleControl.COMMIT_REPLY


def test_the_controller_id_of_a_connection_is_heard():
    heard = hear(encode.set_controller_id(3), DPID)
    assert (heard.meaning, heard.number, heard.reply) == (Meaning.CONTROLLER_ID, 3, b"")


def test_unknown_experimenters_are_refused_by_an_error():
    heard = hear(message(MsgType.EXPERIMENTER, struct.pack("!II", 0xABCDEF, 1), 4), DPID)
    assert decode.decode_error(heard.reply).xid == 4


@given(st.integers(0, 255), st.binary(max_size=120))
def test_any_message_gets_whole_replies_or_none(kind, body):
    given_bytes = struct.pack("!BBHI", 4, kind, 8 + len(body), 1) + body
    heard = hear(given_bytes, DPID)
    _, rest = split_messages(heard.reply)
    assert rest == b""
    if heard.meaning is Meaning.ERROR:
        assert "error" in describe_error(given_bytes)
