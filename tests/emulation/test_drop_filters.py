"""The netlink bytes of a failure: their shape, and that a real kernel does with them what they say."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.drop_program import drop_program
from emulation.decide import clsact
from emulation.decide.netlink import carrier_message, read_errors
from emulation.decide.nft import TABLE, chain_name, loss_rule, rate_rule, switch_message
from emulation.drop_filters import CLSACT, NFT, DropFilterError, DropFilters
from emulation.features import kernel_features
from mininet_topos.errors import MissingRequirementError

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}-eth[0-9]{1,3}", fullmatch=True)


def messages_of(batch: bytes) -> list[tuple[int, bytes]]:
    """(type, body) of every netlink message; fails when lengths do not tile the batch."""
    found, at = [], 0
    while at < len(batch):
        length, kind = struct.unpack_from("=IH", batch, at)
        assert 16 <= length <= len(batch) - at
        assert length % 4 == 0
        found.append((kind, batch[at + 16 : at + length]))
        at += length
    return found


@given(st.dictionaries(NAMES, st.booleans(), min_size=1, max_size=8))
def test_a_batch_is_framed_and_holds_one_policy_per_interface(live_of: dict[str, bool]) -> None:
    begin, *changes, end = messages_of(switch_message(live_of))
    assert (begin[0], end[0]) == (0x10, 0x11)
    assert len(changes) == len(live_of)
    for (interface, live), (kind, body) in zip(live_of.items(), changes, strict=True):
        assert kind == 10 << 8 | 3
        assert body[0] == 5  # NFPROTO_NETDEV
        assert TABLE.encode() + b"\0" in body
        assert chain_name(interface).encode() + b"\0" in body
        assert body.endswith(struct.pack(">I", 1 if live else 0))


@given(st.binary(max_size=200))
def test_any_reply_is_read_or_refused(reply: bytes) -> None:
    try:
        errors = read_errors(reply)
    except ValueError:
        return
    assert all(isinstance(number, int) for number in errors)


def test_acknowledgement_and_refusal_are_distinguished() -> None:
    def answer(code: int) -> bytes:
        return struct.pack("=IHHII", 36, 2, 0, 1, 0) + struct.pack("=i", code) + bytes(16)

    assert read_errors(answer(0) + answer(-2)) == [0, 2]


def test_carrier_message_changes_the_up_flag_only() -> None:
    for up in (True, False):
        ((kind, body),) = messages_of(carrier_message(7, up))
        assert kind == 16
        assert struct.unpack("=BBHiII", body) == (0, 0, 0, 7, int(up), 1)


@pytest.fixture
def namespace():
    """A namespace with the two ends of a cable, 192.0.2.1 and .2, the second end in a namespace inside."""
    script = (
        "for knob in /proc/sys/net/ipv6/conf/*/disable_ipv6; do [ ! -e $knob ] || echo 1 > $knob; done; "  # it talks
        "ip link add a0 type veth peer name b0 && ip addr add 192.0.2.1/24 dev a0 && ip link set a0 up && "
        "ip link set b0 up && echo ready && exec sleep 60"
    )
    process = subprocess.Popen(["unshare", "--net", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process.pid
    process.kill()
    process.wait()
    process.stdout.close()


def sent_packets(pid: int, count: int = 1) -> int:
    """Packets that b0 received, after broadcasts (one) were tried on a0."""
    program = (
        "import socket\n"
        "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
        "s.bind(('a0', 0))\n"
        f"for _ in range({count}):\n"
        "    try:\n        s.send(b'\\xff' * 6 + b'\\2' * 6 + b'\\x88\\xb5' + b'x' * 46)\n"
        "    except OSError:\n        pass\n"
        "print(open('/proc/net/dev').read().split('b0:')[1].split()[1])\n"
    )
    command = ["nsenter", "--net", f"--target={pid}", "/usr/bin/python3", "-c", program]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@given(st.dictionaries(st.integers(1, 2**31 - 1), st.booleans(), min_size=1, max_size=8))
def test_a_filter_is_added_to_shut_and_deleted_to_open(live_of: dict[int, bool]) -> None:
    messages = messages_of(clsact.switch_message(live_of))
    assert [kind for kind, _ in messages] == [45 if live else 44 for live in live_of.values()]
    for (index, live), (_, body) in zip(live_of.items(), messages, strict=True):
        _, _, _, seen, handle, parent, info = struct.unpack_from("=BBHiIII", body)
        assert (seen, handle, parent, info >> 16) == (index, 0, 0xFFFFFFF3, 1)
        assert info & 0xFFFF == socket.htons(3)
        assert (b"matchall\0" in body, b"gact\0" in body) == (not live, not live)


def test_a_filter_by_a_program_names_it_in_the_filter() -> None:
    ((kind, body),) = messages_of(clsact.switch_message({7: False}, 12))
    assert kind == 44
    assert b"bpf\0" in body
    assert struct.pack("=HHI", 8, 6, 12) in body  # TCA_BPF_FD
    assert struct.pack("=HHI", 8, 8, 1) in body  # TCA_BPF_FLAGS: its verdict counts
    assert messages_of(clsact.switch_message({7: True}, 12)) == messages_of(clsact.switch_message({7: True}))


@pytest.fixture
def program() -> Iterator[int]:
    try:
        with drop_program() as handle:
            yield handle
    except MissingRequirementError as error:
        pytest.skip(str(error))


@pytest.mark.emulation
def test_a_filter_by_a_program_stops_packets_without_an_error(namespace: int, program: int) -> None:
    filters = DropFilters(lambda _: namespace, CLSACT, program)
    filters.prepare("x", ["a0"])
    base = sent_packets(namespace)
    assert sent_packets(namespace) == base + 1
    filters.switch({("x", "a0"): False})
    assert sent_packets(namespace) == base + 1
    filters.switch({("x", "a0"): True})
    assert sent_packets(namespace) == base + 2
    filters.close()


@pytest.fixture(params=[NFT, CLSACT])
def mechanism(request: pytest.FixtureRequest) -> str:
    """Each way of dropping that this kernel has."""
    features = kernel_features()
    if not (features.nft_egress if request.param == NFT else features.clsact):
        pytest.skip(f"kernel {features.release} cannot drop by {request.param}")
    return str(request.param)


@pytest.mark.emulation
def test_a_filter_stops_packets_only_while_it_is_on(namespace: int, mechanism: str) -> None:
    filters = DropFilters(lambda _: namespace, mechanism)
    filters.prepare("x", ["a0"])
    base = sent_packets(namespace)
    assert sent_packets(namespace) == base + 1
    before, after = filters.switch({("x", "a0"): False})
    assert before <= after <= time.monotonic()
    assert sent_packets(namespace) == base + 1
    filters.switch({("x", "a0"): False})  # once more changes nothing
    assert sent_packets(namespace) == base + 1
    filters.switch({("x", "a0"): True})
    assert sent_packets(namespace) == base + 2
    filters.close()


@pytest.mark.emulation
def test_switching_a_filter_that_is_gone_is_an_error(namespace: int, mechanism: str) -> None:
    filters = DropFilters(lambda _: namespace, mechanism)
    filters.prepare("x", ["a0"])
    remove = {NFT: ["nft", "flush", "ruleset"], CLSACT: ["tc", "qdisc", "del", "dev", "a0", "clsact"]}
    subprocess.run(["nsenter", "--net", f"--target={namespace}", *remove[mechanism]], check=True)
    with pytest.raises(DropFilterError, match="refuses"):
        filters.switch({("x", "a0"): False})
    filters.close()


@pytest.mark.emulation
def test_preparing_twice_keeps_the_filters_and_adds_new_ones(namespace: int, mechanism: str) -> None:
    filters = DropFilters(lambda _: namespace, mechanism)
    filters.prepare("x", ["a0", "a0"])
    filters.switch({("x", "a0"): False})
    filters.prepare("x", ["a0", "b0"])
    base = sent_packets(namespace)
    assert sent_packets(namespace) == base
    filters.switch({("x", "a0"): True, ("x", "b0"): False})
    assert sent_packets(namespace) == base + 1
    filters.close()


@pytest.mark.emulation
def test_sockets_opened_inside_leave_this_process_in_its_own_namespace(namespace: int, mechanism: str) -> None:
    own = os.readlink("/proc/self/ns/net")
    filters = DropFilters(lambda _: namespace, mechanism)
    filters.prepare("x", ["a0"])
    assert os.readlink("/proc/thread-self/ns/net") == own
    assert "a0" not in [name for _, name in socket.if_nameindex()]
    filters.close()


@pytest.mark.emulation
def test_a_rule_drops_a_part_until_it_is_taken_away(namespace: int) -> None:
    if not kernel_features().nft_egress:
        pytest.skip("this kernel cannot drop by nftables")
    filters = DropFilters(lambda _: namespace, NFT)
    filters.prepare("x", ["a0"])
    filters.set_rule([("x", "a0")], loss_rule(50))
    base = sent_packets(namespace)
    passed = sent_packets(namespace, count=400) - base
    assert 100 < passed < 300  # beyond by chance: less than once in 10^20
    filters.switch({("x", "a0"): False})  # a failure on a lossy link, and its repair
    assert sent_packets(namespace) == base + passed
    filters.switch({("x", "a0"): True})
    filters.set_rule([("x", "a0")], None)
    assert sent_packets(namespace, count=50) == base + passed + 50
    filters.set_rule([("x", "a0")], rate_rule(1))
    assert 0 < sent_packets(namespace, count=1000) - base - passed - 50 < 500  # 8 kB of 60 kB, and 1 kB a second
    filters.close()


def test_a_program_cannot_drop_a_part() -> None:
    with pytest.raises(DropFilterError, match="only nftables"):
        DropFilters(lambda _: 1, CLSACT).set_rule([("x", "a0")], loss_rule(50))
