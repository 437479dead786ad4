"""SD-FAST's flow rows, seen by the packets that meet them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.toy import TOYS, figure2
from ryu_apps.plan.addressing import host_ipv4
from ryu_apps.plan.failure_sets import NO_TAG, FailureSets
from ryu_apps.plan.ids import ALWAYS_LIVE_GROUP, Kind, Status, Table, split_cookie
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.notification import is_for_notifications, is_notification
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import split_tci, tag_tci
from ryu_apps.plan.sdfast import plan_sdfast
from tests.examples import examples
from tests.verify.networks import connected, options


@st.composite
def switches(draw, **fixed):
    """(options, plan of one switch, its live ports)."""
    topology, chosen = draw(connected()), replace(draw(options()), **fixed)
    plan = draw(st.sampled_from(list(plan_sdfast(topology, chosen).values())))
    ports = {port for (node, port) in assign_ports(topology).direction_at if node == plan.node}
    return chosen, plan, ports


def visit(plan, packet, in_port, live, extra=()):
    return interpret_switch(SwitchModel(plan), packet, in_port, frozenset(live) | {HOST_PORT}, tuple(extra))


@examples(40)
@given(switches(), st.integers(0, 0xFFF), st.integers(0, 7), st.integers(1, 6))
def test_a_tagged_frame_from_a_host_goes_nowhere(case, tag_id, status, target):
    _, plan, ports = case
    assert visit(plan, Packet(ipv4_dst=host_ipv4(target), vlan_tci=tag_tci(tag_id, status)), HOST_PORT, ports).is_drop


@examples(40)
@given(switches(), st.integers(0, 0xFFF), st.integers(0, 7))
def test_the_tag_is_gone_before_the_host(case, tag_id, status):
    chosen, plan, ports = case
    assume(not (chosen.floods and is_notification(tag_tci(tag_id, status))))
    packet = Packet(ipv4_src=1, ipv4_dst=plan.local_ipv4[0], vlan_tci=tag_tci(tag_id, status))
    for port in ports:
        outputs = visit(plan, packet, port, ports).outputs
        assert [(out, leaving.vlan_tci) for out, leaving, _ in outputs] == [(HOST_PORT, 0)]


@examples(60)
@given(switches(), st.data())
def test_an_untagged_packet_takes_the_primary_and_carries_nothing(case, data):
    _, plan, ports = case
    row = data.draw(st.sampled_from([row for row in plan.backups if row.tag_id == NO_TAG]))
    packet = Packet(ipv4_src=row.source or 1, ipv4_dst=row.destination)
    result = visit(plan, packet, HOST_PORT, ports)
    assert result.outputs == ((row.out_port, packet, 0),)
    assert not result.learned


@examples(60)
@given(switches(mode="learned"), st.data())
def test_learned_mode_sends_a_tagged_packet_by_its_backup_row_whatever_port_it_came_by(case, data):
    _, plan, ports = case
    row = data.draw(st.sampled_from(plan.backups))
    packet = Packet(row.source or 1, row.destination, vlan_tci=tag_tci(row.tag_id, 0) if row.tag_id else 0)
    for port in ports:
        result = visit(plan, packet, port, ports)
        (out, leaving, _), *more = result.outputs
        assert not more
        assert out == row.out_port
        assert split_tci(leaving.vlan_tci) == (row.tag_id, row.status)


@examples(60)
@given(switches(mode="learned", notification="off"), st.data())
def test_learned_mode_extends_over_every_failed_port_until_one_lives(case, data):
    _chosen, plan, ports = case
    down = data.draw(st.sets(st.sampled_from(sorted(ports))))
    row = data.draw(st.sampled_from(plan.backups))
    rows = {each.key: each for each in plan.backups}
    larger = {(each.tag_id, each.port_no): each.new_tag_id for each in plan.extensions}
    packet = Packet(row.source or 1, row.destination, vlan_tci=tag_tci(row.tag_id, 0) if row.tag_id else 0)
    while row is not None and row.out_port in down:
        tag_id = larger.get((row.tag_id, row.out_port))
        row = rows.get((row.destination, row.source, tag_id)) if tag_id is not None else None
    result = visit(plan, packet, min(ports), ports - down)
    expected = [] if row is None else [(row.out_port, (row.tag_id, row.status))]
    assert [(out, split_tci(leaving.vlan_tci)) for out, leaving, _ in result.outputs] == expected


@examples(60)
@given(switches(mode="learned", notification="off"), st.data())
def test_a_passing_packet_teaches_untagged_packets_to_push_its_set(case, data):
    _, plan, ports = case
    crossing = [row for row in plan.backups if row.crosses]
    assume(crossing)
    row = data.draw(st.sampled_from(crossing))
    tagged = Packet(row.source or 1, row.destination, vlan_tci=tag_tci(row.tag_id, 0))
    learned = visit(plan, tagged, min(ports), ports).learned
    assert len(learned) == 1 + len(row.replaces)
    assert {split_cookie(each.cookie).kind for each in learned} == {Kind.LEARNED}
    untagged = Packet(row.source or 1, row.destination)
    (out, leaving, _) = visit(plan, untagged, HOST_PORT, ports, learned).outputs[0]
    assert (out, split_tci(leaving.vlan_tci)) == (row.out_port, (row.tag_id, row.status))


@examples(40)
@given(switches(mode="agent"), st.data())
def test_agent_mode_punts_every_tagged_packet_in_transit_and_a_copy_of_what_is_delivered(case, data):
    _, plan, ports = case
    row = data.draw(st.sampled_from(plan.backups))
    packet = Packet(row.source or 1, row.destination, vlan_tci=tag_tci(1, Status.RECOVERED))
    result = visit(plan, packet, min(ports), ports)
    assert [punted for _, punted in result.punts] == [packet]
    assert not result.outputs
    arrived = Packet(1, plan.local_ipv4[0], vlan_tci=tag_tci(1, Status.RECOVERED))
    result = visit(plan, arrived, min(ports), ports)
    assert [punted for _, punted in result.punts] == [arrived]
    assert len(result.outputs) == 1


@examples(40)
@given(switches(mode="agent"))
def test_agent_mode_keeps_backup_rows_out_of_the_switch(case):
    _, plan, _ = case
    assert {split_cookie(row.cookie).tag_id for row in plan.flows if not is_for_notifications(row)} == {NO_TAG}
    assert not plan.groups


@examples(40)
@given(connected(), options())
def test_the_plan_says_what_its_tags_mean(topology, chosen):
    for plan in plan_sdfast(topology, chosen).values():
        sets = FailureSets(*plan.tag_space)
        assert plan.tag_space == (len(topology.link_ids), chosen.max_failures)
        assert all(0 <= row.tag_id < len(sets.masks) for row in plan.backups)
        for row in plan.extensions:
            grown = sets.masks[row.new_tag_id] & ~sets.masks[row.tag_id]
            assert grown.bit_count() == 1
            direction = assign_ports(topology).direction_at[plan.node, row.port_no]
            assert topology.link_ids[grown.bit_length() - 1] == topology.link_id(direction)


def test_with_no_failures_planned_there_is_nothing_but_primaries():
    for mode in ("learned", "agent"):
        for plan in plan_sdfast(figure2(), PlanOptions(mode=mode, max_failures=0)).values():
            assert not plan.extensions
            assert {row.tag_id for row in plan.backups} == {NO_TAG}


def test_learned_mode_has_one_group_a_link_port_and_the_one_that_always_lives():
    topology = TOYS["parallel"]()
    for plan in plan_sdfast(topology, PlanOptions()).values():
        ports = {port for (node, port) in assign_ports(topology).direction_at if node == plan.node}
        assert {group.group_id for group in plan.groups} == ports | {ALWAYS_LIVE_GROUP}
        tables = {Table.CLASSIFY, Table.ROUTE, Table.EXTEND, Table.NOTIFY}
        assert {row.table_id for row in plan.flows} == tables


def test_a_hard_timeout_is_given_to_every_learned_row():
    plans = plan_sdfast(figure2(), PlanOptions(hard_timeout_s=7))
    learned = [
        action.hard_timeout_s
        for plan in plans.values()
        for row in plan.flows
        for action in row.apply_actions
        if hasattr(action, "hard_timeout_s")
    ]
    assert set(learned) == {7}
