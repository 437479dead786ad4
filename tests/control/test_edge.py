"""ARP at the edge: who is asked, who is answered, and what is done about foreign MAC addresses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.edge import (
    MAX_UNEXPECTED,
    MAX_WAITING,
    SendArp,
    UnexpectedHost,
    UseMac,
    derived_mac,
    edge_state,
    foreign_macs_at,
    on_arp,
    probe,
    remember_macs,
)
from ryu_apps.control.decide.frames import CONTROLLER_MAC, Arp
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.fields import ARP_REPLY, ARP_REQUEST

HOSTS = hosts_of(load_topology("square"))
H1, H2, H3 = (HOSTS[node] for node in ("s1", "s2", "s3"))
FOREIGN = 0x0A1122334455


def request(asker, target, mac=None):
    return Arp(ARP_REQUEST, derived_mac(asker) if mac is None else mac, asker.ipv4, 0, target.ipv4)


def reply(host, mac):
    return Arp(ARP_REPLY, mac, host.ipv4, CONTROLLER_MAC, 0)


def test_a_probe_asks_the_hosts_of_one_switch_without_an_address_of_its_own():
    (asked,) = probe(edge_state(HOSTS), "s2")
    assert (asked.node, asked.port_no, asked.arp.target_ipv4, asked.arp.sender_ipv4) == ("s2", 1, H2.ipv4, 0)


def test_an_unknown_target_is_asked_first_and_the_asker_is_answered_once_it_has_replied():
    state, actions = on_arp(edge_state(HOSTS), "s1", 1, request(H1, H2))
    assert [type(action) for action in actions] == [UseMac, SendArp]
    assert (actions[1].node, actions[1].arp.op, actions[1].arp.target_ipv4) == ("s2", ARP_REQUEST, H2.ipv4)
    state, actions = on_arp(state, "s2", 1, reply(H2, FOREIGN))
    assert actions[0] == UseMac("s2", H2.ipv4, FOREIGN, True)
    (answer,) = (action for action in actions if isinstance(action, SendArp))
    assert (answer.node, answer.port_no, answer.eth_dst) == ("s1", 1, derived_mac(H1))
    assert answer.arp == Arp(ARP_REPLY, FOREIGN, H2.ipv4, derived_mac(H1), H1.ipv4)
    assert state.waiting == {}


def test_a_known_target_is_answered_for_at_once():
    state, _ = on_arp(edge_state(HOSTS), "s2", 1, reply(H2, FOREIGN))
    state, actions = on_arp(state, "s1", 1, request(H1, H2))
    assert actions[-1].arp.sender_mac == FOREIGN
    _state, actions = on_arp(state, "s1", 1, request(H1, H2))
    assert [type(action) for action in actions] == [SendArp]


def test_a_host_with_the_derived_mac_needs_no_rewriting():
    state, actions = on_arp(edge_state(HOSTS), "s2", 1, reply(H2, derived_mac(H2)))
    assert actions == (UseMac("s2", H2.ipv4, derived_mac(H2), False),)
    assert foreign_macs_at(state, "s2") == {}


def test_a_host_that_gets_another_mac_is_followed():
    state, _ = on_arp(edge_state(HOSTS), "s2", 1, reply(H2, FOREIGN))
    assert foreign_macs_at(state, "s2") == {H2.ipv4: FOREIGN}
    assert foreign_macs_at(state, "s1") == {}
    state, actions = on_arp(state, "s2", 1, reply(H2, FOREIGN + 1))
    assert actions == (UseMac("s2", H2.ipv4, FOREIGN + 1, True),)
    state, actions = on_arp(state, "s2", 1, reply(H2, FOREIGN + 1))
    assert actions == ()


def test_macs_that_rows_name_already_are_known_after_a_restart_and_do_not_overrule_what_was_heard():
    state, _ = on_arp(edge_state(HOSTS), "s2", 1, reply(H2, FOREIGN))
    state = remember_macs(state, {H2.ipv4: 5, H3.ipv4: 6, 99: 7})
    assert state.mac_of == {H2.ipv4: FOREIGN, H3.ipv4: 6}


def test_a_host_with_an_address_outside_the_scheme_is_named_once_and_not_answered():
    unexpected = Arp(ARP_REQUEST, FOREIGN, H3.ipv4 + 100, 0, H2.ipv4)
    state, actions = on_arp(edge_state(HOSTS), "s1", 1, unexpected)
    assert [type(action) for action in actions] == [UnexpectedHost]
    assert "10.0.0.103" in actions[0].text
    assert H1.address in actions[0].text
    assert on_arp(state, "s1", 1, unexpected) == (state, ())


def test_a_host_that_uses_the_address_of_another_teaches_nothing():
    stolen = Arp(ARP_REPLY, FOREIGN, H2.ipv4, 0, 0)
    state, actions = on_arp(edge_state(HOSTS), "s1", 1, stolen)
    assert state.mac_of == {}
    assert [type(action) for action in actions] == [UnexpectedHost]


def test_a_question_for_an_address_that_nobody_has_is_named_and_not_answered():
    _state, actions = on_arp(edge_state(HOSTS), "s1", 1, Arp(ARP_REQUEST, derived_mac(H1), H1.ipv4, 0, 12345))
    assert [type(action) for action in actions] == [UseMac, UnexpectedHost]


def test_our_own_questions_and_group_addresses_teach_nothing():
    for mac in (CONTROLLER_MAC, 0xFFFFFFFFFFFF, 0x010000000001):
        state, _actions = on_arp(edge_state(HOSTS), "s2", 1, reply(H2, mac))
        assert state.mac_of == {}


arps = st.builds(
    Arp,
    st.integers(0, 3),
    st.integers(0, 2**48 - 1),
    st.sampled_from([host.ipv4 for host in HOSTS.values()]) | st.integers(0, 2**32 - 1),
    st.integers(0, 2**48 - 1),
    st.sampled_from([host.ipv4 for host in HOSTS.values()]) | st.integers(0, 2**32 - 1),
)
arrivals = st.tuples(st.sampled_from(sorted(HOSTS)), st.integers(1, 3), arps)


@given(st.lists(arrivals, max_size=30))
def test_every_asker_is_answered_or_still_waits_whatever_arrives(sequence):
    state, sent = edge_state(HOSTS), []
    for node, port_no, arp in sequence:
        state, actions = on_arp(state, node, port_no, arp)
        sent += [action for action in actions if isinstance(action, SendArp) and action.arp.op == ARP_REPLY]
        honest = arp.op == ARP_REQUEST and HOSTS[node].ipv4 == arp.sender_ipv4 and port_no == 1
        known_target = arp.target_ipv4 in state.hosts and arp.target_ipv4 != arp.sender_ipv4
        if honest and known_target:
            waits = arp.sender_ipv4 in state.waiting.get(arp.target_ipv4, ())
            answered = any(
                (one.arp.target_ipv4, one.arp.sender_ipv4) == (arp.sender_ipv4, arp.target_ipv4) for one in sent
            )
            assert waits or answered
    assert all(len(askers) <= MAX_WAITING for askers in state.waiting.values())
    assert not state.waiting.keys() & state.mac_of.keys()
    assert all(state.hosts[one.arp.target_ipv4].node == one.node for one in sent)


def test_one_switch_that_names_many_addresses_does_not_keep_another_from_being_named():
    state = edge_state(HOSTS)
    for number in range(2 * MAX_UNEXPECTED):
        state, _actions = on_arp(state, "s1", 1, Arp(ARP_REQUEST, derived_mac(H1), H1.ipv4, 0, 12345 + number))
    assert len(state.unexpected) == MAX_UNEXPECTED
    _state, actions = on_arp(state, "s2", 1, Arp(ARP_REQUEST, derived_mac(H2), H2.ipv4, 0, 12345))
    assert UnexpectedHost in {type(action) for action in actions}
