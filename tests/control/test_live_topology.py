"""What the network shows against the topology: every difference has a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.frames import LldpProbe
from ryu_apps.control.decide.live_topology import (
    MAX_UNEXPECTED_PORTS,
    Expected,
    LiveTopology,
    find_mismatches,
    lldp_probe_heard,
    port_changed,
    switch_connected,
    switch_gone,
)
from ryu_apps.openflow.messages import PortDesc

EXPECTED = Expected(load_topology("square"))
INTERVAL_S = 5.0


def port(port_no, live=True):
    return PortDesc(port_no, 0x020000000000 + port_no, f"p{port_no}", 0, 4 if live else 1)


def described(ports=None, now_s=0.0):
    """All switches connected, each with its ports, or with others where `ports` says so."""
    live = LiveTopology(EXPECTED)
    for node in EXPECTED.topology.node_names:
        numbers = (ports or {}).get(node, EXPECTED.ports_at(node))
        live = switch_connected(live, node, {number: port(number) for number in numbers}, now_s)
    return live


def heard_all(live, now_s=1.0):
    for sender, receiver in EXPECTED.peer_of.items():
        lldp_probe = LldpProbe(next(dpid for dpid, node in EXPECTED.node_of.items() if node == sender[0]), sender[1])
        live = lldp_probe_heard(live, *receiver, lldp_probe, now_s)
    return live


def kinds(live, now_s=1.0, interval_s=INTERVAL_S):
    return [(one.kind, one.node) for one in find_mismatches(live, now_s, interval_s)]


def test_a_network_as_drawn_has_no_mismatch():
    assert kinds(heard_all(described())) == []


def test_peers_are_each_others_peers():
    assert all(EXPECTED.peer_of[EXPECTED.peer_of[port]] == port for port in EXPECTED.peer_of)
    for link, (one, other) in EXPECTED.link_ends.items():
        assert EXPECTED.peer_of[one] == other
        assert (one[0], other[0]) == (link.a, link.b)


def test_a_missing_port_is_named_with_what_should_be_there():
    ports = {"s1": sorted(EXPECTED.ports_at("s1"))[:-1]}
    (mismatch,) = find_mismatches(described(ports), 1.0, None)
    assert (mismatch.kind, mismatch.node) == ("missing port", "s1")
    assert "link to" in mismatch.text


def test_an_unexpected_port_is_named_and_reserved_ports_are_not():
    ports = {"s1": [*EXPECTED.ports_at("s1"), 77, 0xFFFFFFFE]}
    (mismatch,) = find_mismatches(described(ports), 1.0, None)
    assert (mismatch.kind, mismatch.node) == ("unexpected port", "s1")
    assert "77" in mismatch.text


def test_swapped_wires_are_named_at_the_port_that_hears_the_wrong_switch():
    live = lldp_probe_heard(described(), "s1", 2, LldpProbe(3, 2), 1.0)
    (mismatch,) = find_mismatches(live, 1.0, None)
    assert mismatch.kind == "wrong peer"
    assert "s3 port 2" in mismatch.text
    assert "s2" in mismatch.text


def test_a_wire_at_a_host_port_and_one_to_an_unknown_switch_are_named():
    live = lldp_probe_heard(described(), "s1", 1, LldpProbe(3, 1), 1.0)
    assert kinds(live, interval_s=None) == [("unexpected link", "s1")]
    live = lldp_probe_heard(described(), "s1", 1, LldpProbe(0xABC, 1), 1.0)
    assert "datapath 0xabc" in find_mismatches(live, 1.0, None)[0].text


def test_a_link_that_is_live_but_silent_is_named_after_three_intervals():
    live = described()
    assert kinds(live, 14.9) == []
    assert len(kinds(live, 15.0)) == len(EXPECTED.peer_of)
    assert kinds(heard_all(live, 14.0), 15.0) == []
    assert len(kinds(heard_all(live, 14.0), 30.0)) == len(EXPECTED.peer_of)


def test_a_failed_link_is_not_called_silent():
    live = heard_all(described(), 14.0)
    one, _other = next(iter(EXPECTED.link_ends.values()))
    live = port_changed(live, one[0], port(one[1], live=False), 14.5)
    assert kinds(live, 15.0) == []
    assert live.is_live(one) is False
    live = port_changed(live, one[0], port(one[1]), 100.0)
    assert [kind for kind, _node in kinds(heard_all(live, 105.0), 110.0)] == []


def test_a_failed_port_is_a_failure_for_planners_and_an_unknown_one_is_not():
    live = described()
    assert live.failure_scenario().directions == frozenset()
    one, _other = next(iter(EXPECTED.link_ends.values()))
    live = port_changed(live, one[0], port(one[1], live=False), 1.0)
    assert live.failure_scenario().directions == {EXPECTED.direction_of[one]}
    live = switch_gone(live, one[0])
    assert live.failure_scenario().directions == frozenset()
    assert live.is_live(one) is None


def test_a_port_that_is_deleted_is_missing():
    live = port_changed(described(), "s1", port(1), 1.0, deleted=True)
    assert kinds(live, interval_s=None) == [("missing port", "s1")]


def test_a_switch_that_describes_its_ports_again_keeps_since_when_they_are_live():
    live = described(now_s=3.0)
    again = switch_connected(live, "s1", {2: port(2)}, 50.0)
    assert again.live_since_s["s1", 2] == 3.0
    back = switch_connected(switch_gone(live, "s1"), "s1", {2: port(2)}, 50.0)
    assert back.live_since_s["s1", 2] == 50.0


@pytest.mark.parametrize("name", ["parallel", "figure2", "gscale"])
def test_every_link_end_is_a_port_of_its_switch(name):
    expected = Expected(load_topology(name))
    assert len(expected.peer_of) == len(expected.topology.links)
    for node, port_no in expected.peer_of:
        assert port_no in expected.ports_at(node)


changes = st.lists(
    st.tuples(
        st.sampled_from(EXPECTED.topology.node_names), st.integers(1, 4), st.sampled_from(["up", "down", "gone", "del"])
    ),
    max_size=30,
)


@given(changes)
def test_live_since_names_exactly_the_live_ports(sequence):
    live = described()
    for number, (node, port_no, change) in enumerate(sequence):
        if change == "gone":
            live = switch_gone(live, node)
        else:
            live = port_changed(live, node, port(port_no, change == "up"), float(number), change == "del")
    truth = {(node, port_no) for node, ports in live.ports.items() for port_no, known in ports.items() if known.live}
    assert live.live_since_s.keys() == truth
    find_mismatches(live, 1e6, INTERVAL_S)


reports = st.lists(
    st.tuples(st.sampled_from(["s1", "s2"]), st.integers(1, 1 << 32), st.booleans(), st.booleans()), max_size=200
)


def expected_part(live):
    """What is known of the ports that the topology has."""
    return {
        (node, port_no): (port, live.live_since_s.get((node, port_no)))
        for node, ports in live.ports.items()
        for port_no, port in ports.items()
        if EXPECTED.has_port((node, port_no))
    }


@given(reports)
def test_ports_that_the_topology_lacks_fill_no_memory_and_change_nothing_of_others(sequence):
    before = live = described()
    for node, port_no, is_live, deleted in sequence:
        if not EXPECTED.has_port((node, port_no)):
            live = port_changed(live, node, port(port_no, is_live), 1.0, deleted)
            live = lldp_probe_heard(live, node, port_no, LldpProbe(port_no, 1), 1.0)
    assert expected_part(live) == expected_part(before)
    for node, ports in live.ports.items():
        assert len(ports.keys() - EXPECTED.port_nos[node]) <= MAX_UNEXPECTED_PORTS
    assert all(port_no in live.ports[node] for node, port_no in (*live.live_since_s, *live.heard))
    named = [one for one in find_mismatches(live, 1.0, None) if one.kind == "unexpected port"]
    assert len(named) <= 2 * (MAX_UNEXPECTED_PORTS + 1)


@given(st.integers(0, 3 * MAX_UNEXPECTED_PORTS))
def test_as_many_unexpected_ports_as_are_kept_are_named_whether_described_or_reported(number):
    numbers = range(100, 100 + number)
    at_once = described({"s1": [*EXPECTED.ports_at("s1"), *numbers]})
    one_by_one = described()
    for port_no in numbers:
        one_by_one = port_changed(one_by_one, "s1", port(port_no), 0.0)
    assert find_mismatches(at_once, 1.0, None) == find_mismatches(one_by_one, 1.0, None)
    assert at_once.crowded == one_by_one.crowded == (frozenset({"s1"}) if number > MAX_UNEXPECTED_PORTS else set())
    texts = [one.text for one in find_mismatches(at_once, 1.0, None)]
    assert len(texts) == min(number, MAX_UNEXPECTED_PORTS + 1)
    assert any("more than 16 ports" in text for text in texts) == (number > MAX_UNEXPECTED_PORTS)
    assert switch_gone(at_once, "s1").crowded == frozenset()
