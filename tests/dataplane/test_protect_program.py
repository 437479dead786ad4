"""The 1+1 program in the kernel's test runs: byte for byte the model's packets, numbers and counters."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from dataplane.decide.protect import INDEX, PortUse, ReceivingEnd, pack_port
from dataplane.loader import Program
from dataplane.model.protection_node import Connection, Fate
from dataplane.model.sequence import Egress, Ingress, after_egress_restart, after_ingress_restart
from dataplane.model.tunnel_header import Tunnel, encapsulate
from dataplane.protect import ProtectNode
from mininet_topos.errors import BadInputError
from tests.dataplane.hostile import (
    ADDRESS,
    BEGINNING,
    DROPPED,
    ENDING,
    ETHERNET,
    FLOWS,
    HOSTS,
    LOOPBACK,
    PEER,
    REDIRECTED,
    compare,
    ipv4,
    random_flows,
    udp,
)

pytestmark = pytest.mark.emulation
PACKETS = 5000
NUMBER = slice(37, 41)  # behind Ethernet, the outer header and the connection
INNER = ipv4(random.Random(1), bytes(40), 17)


def program_of(node: ProtectNode, *, tags: bool = True) -> Program:
    """The program for test runs, whose frames come in by `lo`."""
    node._object.map("ports").set(INDEX.pack(LOOPBACK), pack_port(PortUse(LOOPBACK, LOOPBACK, tags=tags)))
    return node._object.program("protect")


@pytest.fixture
def node() -> Iterator[ProtectNode]:
    with ProtectNode(os.getpid(), ADDRESS, ENDING + BEGINNING) as made:
        yield made


@pytest.mark.parametrize(
    "fresh",
    [
        Egress(),
        Egress(last=(1 << 32) - 100),
        Egress(last=(1 << 32) - 100, history=100),
        Egress(history=960),
        Egress(window=1000, history=64),
    ],
    ids=["paper", "wrap", "wrap-history", "longest-history", "small-window"],
)
def test_each_packet_leaves_as_in_the_model_and_moves_the_same_counters(fresh: Egress) -> None:
    fates, _ = compare(PACKETS, random.randrange(1 << 30), fresh)
    assert min(fates[fate] for fate in Fate) > PACKETS / 100, fates


def test_random_prefixes_and_ranges_of_ports_match_as_in_the_model() -> None:
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    fates: Counter[Fate] = Counter()
    for _ in range(20):
        fates += compare(PACKETS // 10, dice.randrange(1 << 30), Egress(), random_flows(dice))[0]
    assert fates[Fate.PROTECT] > PACKETS / 10, (seed, fates)


def test_hostile_packets_reach_every_counter_of_the_program() -> None:
    _, counters = compare(PACKETS, 5, Egress(window=1000, history=64))
    for name in ("sent", "accepted", "late", "duplicate", "out_of_window", "unknown", "plain"):
        assert getattr(counters, name) > 10, (name, counters)
    assert (counters.gso, counters.failed) == (0, 0)


def tagged(vlan: int, packet: bytes) -> bytes:
    return ETHERNET[:12] + b"\x81\0" + vlan.to_bytes(2, "big") + ETHERNET[12:] + packet


def test_a_tag_names_the_connection_and_is_taken_off(node: ProtectNode) -> None:
    program = program_of(node)
    for connection in BEGINNING:
        wanted = encapsulate(INNER, Tunnel(connection.number, 1, ADDRESS, connection.egress))
        assert wanted is not None
        result = program.test(tagged(node.slot(connection), INNER + b"padding"))
        assert (result.code, result.data) == (REDIRECTED, ETHERNET + wanted)
    assert len({node.slot(connection) for connection in BEGINNING}) == len(BEGINNING)


def test_a_tag_without_a_connection_is_taken_off_and_the_packet_is_plain(node: ProtectNode) -> None:
    result = program_of(node).test(tagged(4000, INNER))
    assert (result.code, result.data, node.counters().plain) == (REDIRECTED, ETHERNET + INNER, 1)


def test_without_a_bridge_a_tag_is_no_concern_of_the_program(node: ProtectNode) -> None:
    frame = tagged(node.slot(BEGINNING[0]), INNER)
    result = program_of(node, tags=False).test(frame)
    assert (result.code, result.data, node.counters().sent) == (REDIRECTED, frame, 0)


def test_what_is_not_ipv4_is_plain_with_and_without_a_tag(node: ProtectNode) -> None:
    program = program_of(node)
    arp = ETHERNET[:12] + b"\x08\x06" + bytes(28)
    assert program.test(arp).data == arp
    assert program.test(arp[:12] + b"\x81\0\0\1" + arp[12:]).data == arp
    assert node.counters().plain == 2


def test_a_packet_that_would_be_too_long_gets_no_number(node: ProtectNode) -> None:
    program = program_of(node)
    frame = tagged(node.slot(BEGINNING[0]), INNER)
    lying = bytearray(frame)
    lying[20:22] = (65535).to_bytes(2, "big")
    assert program.test(bytes(lying)).code == REDIRECTED  # it does not hold what it says, so it is no IPv4 packet
    assert node.sending()[BEGINNING[0]].ingress == Ingress(0)


def test_a_connection_that_stays_keeps_its_numbers_and_one_that_goes_is_plain_again(node: ProtectNode) -> None:
    program = program_of(node)
    first, second = BEGINNING[:2]
    slots = {one: node.slot(one) for one in (first, second)}
    for one in (first, second):
        program.test(tagged(slots[one], INNER))
    node.update([second, *ENDING])
    assert node.slot(second) == slots[second]
    assert node.sending() == {second: node.sending()[second]}
    assert node.sending()[second].ingress.last == 1
    assert program.test(tagged(slots[first], INNER)).data == ETHERNET + INNER
    with pytest.raises(BadInputError, match="does not begin at"):
        node.slot(first)


def test_a_removed_flow_is_plain_ip_again(node: ProtectNode) -> None:
    program = program_of(node)
    packet = udp(HOSTS[0], HOSTS[1], (80, 53))
    node.update(ENDING + BEGINNING, FLOWS)
    assert len(program.test(ETHERNET + packet).data) == len(ETHERNET + packet) + 28
    node.update(ENDING + BEGINNING, ())
    assert program.test(ETHERNET + packet).data == ETHERNET + packet


def test_a_refused_update_changes_nothing(node: ProtectNode) -> None:
    before = node.sending(), node.receiving()
    with pytest.raises(BadInputError, match="ends twice"):
        node.update([*ENDING, Connection(7, PEER, ADDRESS), Connection(7, ADDRESS, ADDRESS)])
    assert (node.sending(), node.receiving()) == before


@pytest.mark.parametrize("last", [0, 5, (1 << 32) - 2])
def test_ends_find_together_after_either_has_restarted(node: ProtectNode, last: int) -> None:
    program, connection = program_of(node), ENDING[0]

    def arrive(number: int) -> int:
        packet = encapsulate(INNER, Tunnel(connection.number, number % (1 << 32), PEER, ADDRESS))
        assert packet is not None
        return program.test(ETHERNET + packet).code

    node.set_receiving(connection, Egress(last))
    assert [arrive(last), arrive(last + 1), arrive(last + 1)] == [DROPPED, REDIRECTED, DROPPED]
    ahead = after_ingress_restart(node.receiving()[connection].egress, in_flight=20)
    assert arrive(ahead.last + 1) == REDIRECTED
    node.set_receiving(connection, after_egress_restart(Ingress(last + 100 & 0xFFFFFFFF), Egress()))
    assert [arrive(last + 100), arrive(last + 101)] == [DROPPED, REDIRECTED]
    assert node.receiving()[connection].egress.accepted == 3  # counters outlive the setting of numbers
    node.set_sending(BEGINNING[0], Ingress(last))
    assert program.test(tagged(node.slot(BEGINNING[0]), INNER)).data[NUMBER] == ((last + 1) % (1 << 32)).to_bytes(
        4, "big"
    )


def test_two_processors_that_bring_both_copies_at_once_let_one_of_each_through() -> None:
    with ProtectNode(os.getpid(), ADDRESS, ENDING) as node:
        program = program_of(node)
        copies = [encapsulate(INNER, Tunnel(ENDING[0].number, number, PEER, ADDRESS)) for number in range(1, 4001)]
        accepted: list[int] = []

        def bring() -> None:
            for number, copy in enumerate(copies):
                if program.test(ETHERNET + (copy or b"")).code == REDIRECTED:
                    accepted.append(number)

        threads = [threading.Thread(target=bring) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        end = node.receiving()[ENDING[0]]
        assert len(accepted) == len(set(accepted)) == end.egress.accepted
        assert end.egress.accepted + end.duplicate == 2 * len(copies)
        assert end.egress.last == len(copies)


def test_parallel_senders_never_get_one_number_twice(node: ProtectNode) -> None:
    program, slot = program_of(node), node.slot(BEGINNING[0])
    numbers: list[bytes] = []

    def send() -> None:
        numbers.extend([program.test(tagged(slot, INNER)).data[NUMBER] for _ in range(3000)])

    threads = [threading.Thread(target=send) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int.from_bytes(number, "big") for number in numbers) == list(range(1, 9001))
    assert node.counters().sent == 9000


def test_the_program_is_the_same_after_a_hundred_settings_of_its_history(node: ProtectNode) -> None:
    dice = random.Random(2)
    for _ in range(100):
        history = dice.randrange(961)
        egress = Egress(dice.randrange(1 << 32), history=history, seen=dice.getrandbits(history) if history else 0)
        node.set_receiving(ENDING[0], egress)
        assert node.receiving()[ENDING[0]] == ReceivingEnd(PEER, egress)


def test_a_plan_chooses_the_slots_and_a_connection_takes_its_number_along(node: ProtectNode) -> None:
    program, first = program_of(node), BEGINNING[0]
    program.test(tagged(node.slot(first), INNER))
    node.update(ENDING + BEGINNING, slots={first: 4094, BEGINNING[1]: 1})
    assert [node.slot(one) for one in BEGINNING[:2]] == [4094, 1]
    assert program.test(tagged(4094, INNER)).data[NUMBER] == (2).to_bytes(4, "big")
    for slots in ({first: 0}, {first: 4095}, {first: 3, BEGINNING[1]: 3}):
        with pytest.raises(BadInputError, match="VLAN id"):
            node.update(ENDING + BEGINNING, slots=slots)
