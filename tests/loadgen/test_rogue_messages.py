"""Messages of rogue switches break the rule that their kind names, and no other; the same seed gives the same ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.decide import lies, rogue_messages
from experiments.loadgen.decide.misbehave import endless, malformed
from experiments.loadgen.decide.switch import Part, hear
from ryu_apps.openflow.decode import decode_received
from ryu_apps.openflow.encode import features_request, hello, port_desc_request
from ryu_apps.openflow.lengths import check_received
from ryu_apps.openflow.messages import DumpPart, PortStatus
from ryu_apps.openflow.wire import VERSION, MalformedMessageError, MsgType, header, message, split_messages

PORTS = (1, 2, 5)
Make = Callable[[np.random.Generator], bytes]
MAKERS: dict[str, Make] = {
    "endless": endless,
    "malformed": lambda rng: malformed(rng)[1],
    "zero-length": rogue_messages.zero_length,
    "truncated": rogue_messages.truncated,
    "oversized": rogue_messages.oversized,
    "wrong-version": rogue_messages.wrong_version,
    "hello": rogue_messages.other_hello,
    "half-open": rogue_messages.half_opening,
    "port-lies": lambda rng: lies.port_lie(rng, PORTS),
    "description-lies": lies.description_lie,
}
SEEDS = st.integers(0, 2**32)


def drawn(make: Make, seed: int) -> bytes:
    return make(np.random.default_rng(seed))


def many(make: Make, count: int = 300) -> list[bytes]:
    rng = np.random.default_rng(1)
    return [make(rng) for _ in range(count)]


@pytest.mark.parametrize("kind", MAKERS)
def test_the_same_seed_gives_the_same_messages_and_another_one_others(kind: str) -> None:
    make, runs = MAKERS[kind], []
    for seed in (7, 7, 8):
        rng = np.random.default_rng(seed)
        runs.append([make(rng) for _ in range(50)])
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("kind", ["zero-length", "truncated", "oversized", "port-lies", "description-lies"])
@given(SEEDS)
def test_each_is_one_whole_message_of_version_1_3(kind: str, seed: int) -> None:
    made = drawn(MAKERS[kind], seed)
    assert split_messages(made) == ([made], b"")
    assert header(made).version == VERSION


@given(SEEDS)
def test_an_entry_of_length_0_is_refused_for_its_length(seed: int) -> None:
    with pytest.raises(MalformedMessageError, match="of length 0"):
        check_received(drawn(rogue_messages.zero_length, seed), VERSION)


def test_entries_of_length_0_are_of_every_list() -> None:
    found = set()
    for made in many(rogue_messages.zero_length, 600):
        with pytest.raises(MalformedMessageError) as refused:
            check_received(made, VERSION)
        found.add(str(refused.value).partition(" of length")[0])
    assert found >= {
        "a hello element",
        "a match",
        "an instruction",
        "an action",
        "a bucket",
        "a meter band",
        "a table property",
        "a queue",
        "a queue property",
        "a flow",
        "a group",
        "a meter",
        "table features",
    }


@given(SEEDS)
def test_a_truncated_message_ends_inside_its_fixed_part(seed: int) -> None:
    with pytest.raises(MalformedMessageError, match="bytes"):
        check_received(drawn(rogue_messages.truncated, seed), VERSION)


def test_oversized_messages_are_of_nearly_the_greatest_length_and_some_are_well_formed() -> None:
    made = many(rogue_messages.oversized)
    assert min(map(len, made)) > 65000
    assert {MsgType(each[1]) for each in made} >= {MsgType.ECHO_REQUEST, MsgType.PACKET_IN, MsgType.MULTIPART_REPLY}
    flows = next(each for each in made if each[1] == MsgType.MULTIPART_REPLY and each[8:10] == b"\0\1")
    check_received(flows, VERSION)
    dump = decode_received(flows).value
    assert isinstance(dump, DumpPart)
    assert len(dump.entries) > 1000
    assert not decode_received(flows).ends_request  # it says that more parts follow


@given(SEEDS)
def test_only_the_version_of_a_message_is_wrong(seed: int) -> None:
    made = drawn(rogue_messages.wrong_version, seed)
    with pytest.raises(MalformedMessageError, match="of version"):
        check_received(made, VERSION)
    check_received(bytes([VERSION]) + made[1:], VERSION)


@given(SEEDS)
def test_no_hello_of_a_wrong_version_offers_1_3(seed: int) -> None:
    made = drawn(rogue_messages.other_hello, seed)
    assert header(made).version != VERSION
    assert header(made).length == len(made)
    assert made[8:] == b"" or made[8:12] == b"\0\1\0\x08"
    assert not made[8:] or not int.from_bytes(made[12:16], "big") & 1 << VERSION


@given(SEEDS)
def test_a_half_opening_ends_inside_a_message_or_after_hello(seed: int) -> None:
    made = drawn(rogue_messages.half_opening, seed)
    whole, rest = split_messages(made)
    assert rest or made == hello()
    for each in whole:
        check_received(each, VERSION)


@given(SEEDS)
def test_a_lie_about_a_port_has_the_form_of_a_port_status(seed: int) -> None:
    made = drawn(MAKERS["port-lies"], seed)
    check_received(made, VERSION)
    assert isinstance(decode_received(made).value, PortStatus)


def test_lies_are_about_own_reserved_and_new_ports() -> None:
    numbers = {int.from_bytes(each[16:20], "big") for each in many(MAKERS["port-lies"])}
    assert numbers >= {*PORTS, 0, 0xFFFFFFFE}
    assert len(numbers) > 50


@given(SEEDS)
def test_a_lie_about_the_switch_has_the_right_form(seed: int) -> None:
    check_received(drawn(lies.description_lie, seed), VERSION)


@given(SEEDS)
def test_lying_switches_answer_the_request_that_was_made_and_lie_in_their_own_matter_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    desc_request = message(MsgType.MULTIPART_REQUEST, bytes(8), 12)
    about_ports = lies.hear_lying_about_ports(rng, port_desc_request(xid=9), 4, PORTS)
    assert header(about_ports.reply).xid == 9
    check_received(about_ports.reply, VERSION)
    about_itself = lies.hear_lying_about_itself(rng, features_request(11), 4, PORTS)
    assert (header(about_itself.reply).xid, int.from_bytes(about_itself.reply[8:16], "big")) == (11, 4)
    check_received(about_itself.reply, VERSION)
    described = lies.hear_lying_about_itself(rng, desc_request, 4, PORTS)
    assert (header(described.reply).xid, described.reply[8:10]) == (12, Part.DESC.to_bytes(2, "big"))
    for other, lying in (
        (features_request(3), lies.hear_lying_about_ports),
        (desc_request, lies.hear_lying_about_ports),
        (port_desc_request(xid=5), lies.hear_lying_about_itself),
    ):
        assert lying(rng, other, 4, PORTS) == hear(other, 4, PORTS)


def test_lists_of_ports_are_empty_or_wrong() -> None:
    rng = np.random.default_rng(3)
    truth = hear(port_desc_request(xid=1), 4, PORTS).reply
    replies = [lies.hear_lying_about_ports(rng, port_desc_request(xid=1), 4, PORTS).reply for _ in range(50)]
    assert truth not in replies
    assert {len(each) - 16 for each in replies} >= {0, 64 * 2 * len(PORTS), 64 * 1000}
