"""Paths of single flows: every switch gets what it would have asked for, later ones first, and nobody asks twice."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.allowance import Rate
from ryu_apps.control.decide.reactive import (
    LONGEST_WAIT_S,
    SETTLE_S,
    Confirm,
    Install,
    Options,
    PathSetup,
    Release,
    Routes,
    flow_of,
)
from ryu_apps.control.decide.reactive_settings import REACTIVE, ReactiveSettings
from ryu_apps.openflow import encode
from ryu_apps.plan.addressing import host_ipv4
from ryu_apps.plan.rows import Output
from ryu_apps.pmt.classify import Classifier
from tests.control.priority.test_channels import OUT_OF_BAND
from tests.pmt.frames import Ip, ethernet, ipv4, packet_in

TOPOLOGY = load_topology("darkstrand")
ROUTES = Routes(TOPOLOGY)
N_SWITCHES = len(TOPOLOGY.nodes)
ALL = range(1, N_SWITCHES + 1)
hosts = st.integers(1, N_SWITCHES)
ports = st.integers(0, 0xFFFF)


def frame(src: int, dst: int, udp_dst: int = 20000, udp_src: int = 1) -> bytes:
    """A UDP packet from host `src` to host `dst`."""
    ip = Ip(source=host_ipv4(src), destination=host_ipv4(dst), ports=(udp_src, udp_dst))
    return ethernet(0x0800, ipv4(ip), eth_dst=dst, eth_src=src)


def ask(setup: PathSetup, at: int, packet: bytes, now_s: float = 0.0, connected=ALL):
    return setup.asked(at, 1, packet, connected, now_s)


def installs(actions) -> list[Install]:
    return [action for action in actions if isinstance(action, Install)]


def releases(actions) -> list[Release]:
    return [action for action in actions if isinstance(action, Release)]


@given(hosts, hosts, ports, ports)
def test_a_path_has_the_rules_that_each_of_its_switches_would_have_asked_for(src, dst, udp_src, udp_dst) -> None:
    packet = frame(src, dst, udp_dst, udp_src)
    at_once = installs(ask(PathSetup(ROUTES, Options()), src, packet))
    one_by_one = PathSetup(ROUTES, Options(whole_path=False))
    asked = [installs(ask(one_by_one, install.dpid, packet)) for install in at_once]
    assert asked == [[install] for install in at_once]
    path = ROUTES.path(src, host_ipv4(dst))
    assert [(each.dpid, each.row.apply_actions) for each in at_once] == [
        (hop.dpid, (Output(hop.port_no),)) for hop in reversed(path)
    ]


@given(hosts, hosts, st.booleans())
def test_the_first_switch_comes_last_and_its_packet_behind_its_rule(src, dst, whole_path) -> None:
    actions = ask(PathSetup(ROUTES, Options(whole_path)), src, frame(src, dst))
    assert isinstance(actions[-2], Install)
    assert actions[-2].dpid == src
    assert releases(actions) == [actions[-1]]
    assert actions[-1] == Release(src, 1, actions[-2].row.apply_actions[0].port_no, frame(src, dst))


@given(hosts, hosts, st.sampled_from([20000, 999]))
def test_rules_have_the_class_of_the_packet_in_that_asked_for_them(src, dst, udp_dst) -> None:
    classifier = Classifier(OUT_OF_BAND)
    packet = frame(src, dst, udp_dst)
    wanted = classifier.classify(packet_in(packet)).class_id
    messages = [encode.flow_add(each.row) for each in installs(ask(PathSetup(ROUTES, Options()), src, packet))]
    assert {classifier.classify(message).class_id for message in messages} == {wanted}


@given(hosts, hosts, st.booleans(), st.lists(st.booleans(), min_size=1, max_size=12))
def test_a_flow_gets_rules_once_while_its_packets_are_under_way(src, dst, confirm, later) -> None:
    setup = PathSetup(ROUTES, Options(confirm=confirm))
    packet = frame(src, dst)
    first = ask(setup, src, packet)
    reached = {each.dpid for each in installs(first)} | {src}
    asking = [src if is_first or confirm else max(reached) for is_first in later]
    again = [action for at in asking for action in ask(setup, at, packet, 0.9 * SETTLE_S)]
    assert not installs(again)
    answers = [each for confirm in first if isinstance(confirm, Confirm) for each in setup.confirmed(confirm, 0.1)]
    assert len(releases([*first, *again, *answers])) == 1 + len(later)


def test_a_flow_whose_rules_have_gone_gets_them_again() -> None:
    setup = PathSetup(ROUTES, Options())
    before = ask(setup, 1, frame(1, 9))
    assert ask(setup, 1, frame(1, 9), SETTLE_S) == before


@given(hosts, hosts)
def test_with_confirmation_the_first_switch_waits_for_every_later_one(src, dst) -> None:
    setup = PathSetup(ROUTES, Options(confirm=True))
    actions = ask(setup, src, frame(src, dst))
    asked = [action for action in actions if isinstance(action, Confirm)]
    later = [hop.dpid for hop in ROUTES.path(src, host_ipv4(dst))[1:]]
    assert sorted(each.dpid for each in asked) == sorted(later)
    for number, confirm in enumerate(asked, 1):
        answer = setup.confirmed(confirm, 0.1)
        assert bool(answer) == (number == len(asked))
        assert setup.confirmed(confirm, 0.1) == ()
        actions = (*actions, *answer)
    assert [each.dpid for each in installs(actions)][-1] == src
    assert len(releases(actions)) == 1


def test_nobody_waits_for_a_switch_that_is_gone_or_silent() -> None:
    far = max(range(2, N_SWITCHES + 1), key=lambda dst: len(ROUTES.path(1, host_ipv4(dst))))
    later = [hop.dpid for hop in ROUTES.path(1, host_ipv4(far))[1:]]
    gone = PathSetup(ROUTES, Options(confirm=True))
    ask(gone, 1, frame(1, far))
    answers = [gone.switch_gone(dpid, 0.1) for dpid in later]
    assert [bool(answer) for answer in answers] == [False] * (len(later) - 1) + [True]
    silent = PathSetup(ROUTES, Options(confirm=True))
    ask(silent, 1, frame(1, far))
    assert releases(silent.asked(2, 1, b"", ALL, LONGEST_WAIT_S)) == releases(answers[-1])
    away = ask(PathSetup(ROUTES, Options(confirm=True)), 1, frame(1, far), connected=[1])
    assert [type(action) for action in away] == [Install, Release]


def test_paths_avoid_failed_links_and_are_asked_for_again() -> None:
    setup = PathSetup(ROUTES, Options())
    before = installs(ask(setup, 1, frame(1, 9)))
    used = next(link for link in TOPOLOGY.link_ids if "s1" in (link.a, link.b) and _crosses(before, link))
    assert setup.links_failed(frozenset([used]))
    assert not setup.links_failed(frozenset([used]))
    after = installs(ask(setup, 1, frame(1, 9)))
    assert after
    assert not _crosses(after, used)
    setup.links_failed(frozenset(link for link in TOPOLOGY.link_ids if "s1" in (link.a, link.b)))
    assert ask(setup, 1, frame(1, 9)) == ()


def _crosses(actions: list[Install], link) -> bool:
    ends = {int(end[1:]) for end in (link.a, link.b)}
    order = [action.dpid for action in reversed(actions)]
    return any({here, there} == ends for here, there in pairwise(order))


@given(st.binary(max_size=80), st.integers(0, N_SWITCHES + 3))
def test_any_bytes_from_any_switch_are_answered_or_left(packet, dpid) -> None:
    actions = ask(PathSetup(ROUTES, Options()), dpid, packet)
    assert len(releases(actions)) == (flow_of(packet) is not None and bool(actions))


@pytest.mark.parametrize(
    "packet",
    [
        ethernet(0x0806, bytes(28)),
        ethernet(0x86DD, bytes(40)),
        ethernet(0x8100, bytes.fromhex("00010800") + frame(1, 2)[14:]),  # tagged: nobody here pushes tags
        frame(1, N_SWITCHES + 1),
    ],
)
def test_packets_that_no_host_of_the_topology_gets_have_no_path(packet) -> None:
    assert ask(PathSetup(ROUTES, Options()), 1, packet) == ()


def test_settings_are_read_and_refused() -> None:
    assert REACTIVE.read({}, {"PATH": "/usr/bin"}) == ReactiveSettings()
    given_ = {"ARMOR_REACTIVE_PATH": "hop", "ARMOR_REACTIVE_CONFIRM": "on", "ARMOR_REACTIVE_IDLE_S": "0"}
    assert REACTIVE.read({}, given_) == ReactiveSettings(Options(False, True), 0)
    assert REACTIVE.read({}, {"ARMOR_REACTIVE_PACKET_INS_PER_S": "7"}).packet_ins == Rate(7, 14)
    assert REACTIVE.read({"path": "hop", "idle_s": "0"}, {"ARMOR_REACTIVE_CONFIRM": "on"}) == REACTIVE.read({}, given_)
    wrong = (("PATH", "half"), ("CONFIRM", "1"), ("IDLE_S", "-1"), ("IDLE_S", "70000"), ("PACKET_INS_PER_S", "0"))
    for name, value in (*wrong, ("SPEED", "1")):
        word = "ARMOR_REACTIVE_SPEED" if name == "SPEED" else f"setting {name.lower()} = '{value}'"
        with pytest.raises(BadInputError, match=word):
            REACTIVE.read({}, {f"ARMOR_REACTIVE_{name}": value})
