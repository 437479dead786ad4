"""Rows that the agent and the learned mode make from backup rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.ids import Kind, Priority, Status, Table, cookie
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.recovery_rows import (
    commodity_match,
    deliver_seen_row,
    learned_route_row,
    rows_on_punt,
    split_tci,
    tag_tci,
    tagged_row,
    tags_learned_from,
    untagged_row,
)
from ryu_apps.plan.rows import BackupRow, FlowRow, Learn, RulePlan, match
from tests import schemes

TAGS = st.integers(1, 4094)
BACKUPS = st.builds(
    BackupRow,
    destination=st.integers(1, 9),
    source=st.none() | st.integers(1, 9),
    tag_id=st.integers(100, 4094),
    out_port=st.integers(2, 9),
    status=st.sampled_from([int(status) for status in Status]),
    crosses=st.booleans(),
    replaces=st.lists(st.integers(1, 99), unique=True, max_size=3).map(tuple),
)


def sent_on(row: FlowRow, packet: Packet, in_port: int = 5):
    """(port, packet) that a row of any table makes of a packet, as the only row of table 0."""
    alone = FlowRow(0, row.priority, row.match, row.apply_actions)
    result = interpret_switch(SwitchModel(RulePlan(1, "s1", flows=(alone,))), packet, in_port, frozenset(range(99)))
    return [(port, leaving) for port, leaving, _ in result.outputs]


@given(st.integers(0, 0xFFF), st.integers(0, 7))
def test_a_tag_says_its_set_and_its_status(tag_id, status):
    assert split_tci(tag_tci(tag_id, status)) == (tag_id, status)


@given(BACKUPS, st.integers(2, 9))
def test_an_untagged_row_pushes_the_set_and_may_send_a_packet_back(backup, in_port):
    packet = Packet(backup.source or 7, backup.destination)
    tagged = Packet(backup.source or 7, backup.destination, vlan_tci=tag_tci(backup.tag_id, backup.status))
    assert sent_on(untagged_row(backup), packet, in_port) == [(backup.out_port, tagged)]
    assert not sent_on(untagged_row(backup), tagged, in_port)


@given(BACKUPS, TAGS, st.integers(0, 7), st.integers(2, 9))
def test_a_tagged_row_takes_packets_of_one_set_whatever_their_status(backup, tag_id, status, in_port):
    packet = Packet(backup.source or 7, backup.destination, vlan_tci=tag_tci(tag_id, status))
    sent = sent_on(tagged_row(backup, tag_id), packet, in_port)
    assert sent == [
        (backup.out_port, Packet(packet.ipv4_src, backup.destination, vlan_tci=tag_tci(backup.tag_id, backup.status)))
    ]
    assert not sent_on(tagged_row(backup, tag_id), Packet(packet.ipv4_src, backup.destination), in_port)


@given(BACKUPS)
def test_a_punt_calls_for_a_row_for_each_set_that_this_one_serves(backup):
    tags = {{name: value for name, value, _ in row.match}["vlan_vid"] for row in rows_on_punt(backup)}
    served = {backup.tag_id, *backup.replaces}
    assert tags == {0x1000 | tag_id for tag_id in served} | ({0} if backup.crosses else set())
    assert all(row.send_flow_removed for row in rows_on_punt(backup))
    assert {row.cookie for row in rows_on_punt(backup)} == {
        cookie(schemes.SDFAST, Kind.AGENT, backup.tag_id, backup.destination)
    }


@given(BACKUPS)
def test_a_route_row_teaches_exactly_those_sets_too(backup):
    taught = tags_learned_from(backup)
    assert {each.tag_in for each in taught} == {*backup.replaces} | ({0} if backup.crosses else set())
    assert {each.tag_id for each in taught} <= {backup.tag_id}
    learns = [each for each in learned_route_row(backup, taught).apply_actions if isinstance(each, Learn)]
    assert [each.loads[0].value for each in learns] == [tag_tci(backup.tag_id, backup.status)] * len(taught)
    assert learned_route_row(backup, ()).key == learned_route_row(backup, taught).key


@given(TAGS, st.integers(1, 9), st.integers(1, 9))
def test_a_seen_flow_is_delivered_without_its_tag_and_without_a_copy(tag_id, source, local):
    row = deliver_seen_row(tag_id, source, local, hard_timeout_s=3)
    packet = Packet(source, local, vlan_tci=tag_tci(tag_id, Status.RECOVERED))
    assert sent_on(row, packet) == [(HOST_PORT, Packet(source, local))]
    assert (row.table_id, row.hard_timeout_s) == (Table.ROUTE, 3)


def test_a_seen_flow_is_looked_up_before_the_row_that_copies_every_tagged_packet():
    assert deliver_seen_row(1, 2, 3).priority > Priority.DELIVER_FOREIGN > Priority.DELIVER


@pytest.mark.parametrize(("source", "names"), [(None, 3), (9, 4)])
def test_a_match_names_the_source_only_for_pairs(source, names):
    assert len(commodity_match(7, source, 5)) == names
    assert commodity_match(7, None, 0) == match(eth_type=0x0800, vlan_vid=0, ipv4_dst=7)
