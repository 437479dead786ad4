"""Which links routes avoid, and what a switch is sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.live_topology import Expected
from ryu_apps.control.decide.restoration import Avoidance, observed, returned, switch_commands
from ryu_apps.control.decide.returning import ReturnState, ports_known, ports_unknown
from ryu_apps.plan.diff import Operation
from ryu_apps.plan.rows import FlowRow, Output, match

TOPOLOGY = load_topology("figure2")
ENDS = Expected(TOPOLOGY).link_ends
LINK, OTHER = TOPOLOGY.link_ids[:2]
NEAR, FAR = ENDS[LINK]


def after(*changes):
    """Avoidance and ports after changes of ports, one after another."""
    ports, avoidance = ReturnState(ENDS), Avoidance()
    for second, live in enumerate(changes):
        ports = ports_known(ports, live, float(second))
        avoidance = observed(avoidance, ports)
    return avoidance, ports


def all_ports(live):
    return {end: live for ends in ENDS.values() for end in ends}


def test_one_failed_end_is_enough_to_avoid_a_link():
    assert after(all_ports(True))[0].avoided == frozenset()
    for end in (NEAR, FAR):
        assert after(all_ports(True), {end: False})[0].avoided == {LINK}


def test_a_link_that_is_back_is_avoided_until_it_is_returned_to():
    avoidance, _ = after(all_ports(True), {NEAR: False}, {NEAR: True})
    assert avoidance.avoided == {LINK}
    assert returned(avoidance, [LINK]).avoided == frozenset()
    assert returned(avoidance, [OTHER]).avoided == {LINK}


def test_links_that_come_up_for_the_first_time_are_used_at_once():
    avoidance, _ = after(all_ports(False))
    assert avoidance.avoided == set(TOPOLOGY.link_ids)
    avoidance, _ = after(all_ports(False), {NEAR: True})
    assert LINK in avoidance.avoided
    avoidance, _ = after(all_ports(False), {NEAR: True}, {FAR: True})
    assert avoidance.avoided == set(TOPOLOGY.link_ids) - {LINK}
    avoidance, _ = after(all_ports(False), {NEAR: True}, {FAR: True}, {FAR: False}, {FAR: True})
    assert LINK in avoidance.avoided


def test_a_switch_that_is_away_changes_nothing():
    avoidance, ports = after(all_ports(True), {NEAR: False})
    for node in (NEAR[0], FAR[0]):
        ports = ports_unknown(ports, node)
        assert observed(avoidance, ports) == avoidance
    ports = ports_unknown(after(all_ports(True))[1], NEAR[0])
    assert observed(Avoidance(), ports).avoided == frozenset()


ROWS = st.dictionaries(
    st.integers(0, 5), st.integers(1, 4).map(lambda port: (Output(port),)) | st.just(()), max_size=6
).map(
    lambda actions: {
        row.key: row
        for row in (FlowRow(1, 7, match(eth_type=0x800, ipv4_dst=number), acts) for number, acts in actions.items())
    }
)


@given(ROWS, ROWS, ROWS)
def test_commands_lead_from_any_restoration_to_any_other_and_touch_nothing_else(planned, held, wanted):
    commands = switch_commands(planned, held, wanted)
    switch = {**planned, **held}
    for command in commands:
        present = command.row.key in switch
        assert present == (command.operation is not Operation.ADD)
        if command.operation is Operation.DELETE:
            del switch[command.row.key]
        else:
            assert switch.get(command.row.key) != command.row
            switch[command.row.key] = command.row
    assert switch == {**planned, **wanted}
    assert len({command.row.key for command in commands}) == len(commands)
    assert switch_commands(planned, wanted, wanted) == ()
