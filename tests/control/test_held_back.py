"""Port changes that wait until the ports are described: few wait, and nothing that matters is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.held_back import held_back, in_order
from ryu_apps.control.decide.live_topology import (
    MAX_UNEXPECTED_PORTS,
    Expected,
    LiveTopology,
    port_changed,
    switch_connected,
)
from ryu_apps.control.decide.returning import ReturnState, ports_known
from ryu_apps.openflow.messages import PortDesc, PortStatus

EXPECTED = Expected(load_topology("square"))
NODE = "s1"
PORT_NOS = EXPECTED.port_nos[NODE]


def change(port_no: int, live: bool, reason: int = 2) -> PortStatus:
    return PortStatus(reason, PortDesc(port_no, port_no, f"p{port_no}", 0, 4 if live else 1))


changes = st.lists(
    st.builds(
        change, st.one_of(st.sampled_from(sorted(PORT_NOS)), st.integers(1, 99)), st.booleans(), st.integers(0, 2)
    ),
    max_size=200,
)


def waiting(sequence):
    held = {}
    for status in sequence:
        held = held_back(held, status, PORT_NOS)
    return list(in_order(held))


def applied(sequence):
    """Ports of the topology after changes, and the links whose failure was noticed."""
    described = {port_no: change(port_no, True).port for port_no in PORT_NOS}
    live = switch_connected(LiveTopology(EXPECTED), NODE, described, 0.0)
    state = ports_known(ReturnState(EXPECTED.link_ends), {(NODE, port_no): True for port_no in PORT_NOS}, 0.0)
    for status in sequence:
        live = port_changed(live, NODE, status.port, 1.0, status.is_deleted)
        state = ports_known(state, {(NODE, status.port.port_no): status.is_live}, 1.0)
    ports = {port_no: port for port_no, port in live.ports[NODE].items() if port_no in PORT_NOS}
    return ports, state.live, {link for link, history in state.links.items() if history.remembered}, live.crowded


@given(changes)
def test_what_waits_has_the_effect_of_all_changes(sequence) -> None:
    ports, liveness, failed, _crowded = applied(sequence)
    assert applied(waiting(sequence))[:3] == (ports, liveness, failed)


@given(changes)
def test_at_most_two_changes_of_a_port_wait_and_few_ports_that_the_topology_lacks(sequence) -> None:
    held = waiting(sequence)
    assert len(held) <= 2 * (len(PORT_NOS) + MAX_UNEXPECTED_PORTS + 1)


def test_a_switch_with_too_many_ports_is_still_found_out() -> None:
    many = [change(100 + number, True) for number in range(1000)]
    assert len(waiting(many)) == MAX_UNEXPECTED_PORTS + 1
    assert applied(waiting(many))[3] == {NODE}
    assert applied(waiting(many[:MAX_UNEXPECTED_PORTS]))[3] == frozenset()
