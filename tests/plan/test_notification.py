"""What a switch learns from a notification, and what packets do that start afresh."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.toy import figure2
from ryu_apps.plan import notification
from ryu_apps.plan.backup_planner import BackupPlanner
from ryu_apps.plan.check import check_plan
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import AGENT_CONTROLLER_ID, Table
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.notification import AFRESH, Teaching, collected, heard_row, taught_by
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import split_tci, tag_tci
from ryu_apps.plan.rows import Learn
from ryu_apps.plan.sdfast import plan_sdfast
from ryu_apps.plan.walk import Learning, Network
from te_solver.routes import NO_LINK
from tests.examples import examples
from tests.verify.networks import case_of, connected, numbers_of, send

FLOOD = PlanOptions(notification="flood")


@st.composite
def teachings(draw):
    """(teaching, sets, paths) of a switch: any paths that avoid the links of their set."""
    sets = FailureSets(draw(st.integers(1, 6)), draw(st.integers(1, 3)))
    paths = {}
    for tag_id in range(len(sets.masks)):
        others = [number for number in range(sets.n_links) if not sets.masks[tag_id] >> number & 1]
        if others and draw(st.integers(0, 9)):
            paths[tag_id] = tuple(draw(st.permutations(others))[: draw(st.integers(1, len(others)))])
    return Teaching(sets, sets.n_links + 1, paths), sets, paths


@examples(200)
@given(teachings())
def test_the_path_with_the_tag_that_is_taught_meets_no_link_of_the_set(case):
    teaching, sets, paths = case
    for failed_set, mask in enumerate(sets.masks):
        found = teaching.learned(0, failed_set)
        if found is None:
            continue
        assert sets.masks[found[0]] & ~mask == 0
        assert not {number for number in paths[found[0]] if mask >> number & 1}


@examples(200)
@given(teachings())
def test_all_failed_sets_that_concern_a_switch_are_found_and_no_others(case):
    teaching, sets, _ = case
    asked = {
        (failed_set, *found)
        for failed_set in range(1, len(sets.masks))
        if (found := teaching.learned(0, failed_set)) is not None
    }
    notified = list(teaching.notified())
    assert set(notified) == asked
    assert len(notified) == len(asked)


@examples(200)
@given(teachings())
def test_who_knows_all_failures_of_two_sets_ranks_above_who_knows_one(case):
    """So what decides at a switch is the same in whatever order it hears of failures."""
    teaching, sets, _ = case
    best = {}
    for failed_set, mask in enumerate(sets.masks):
        found = teaching.learned(0, failed_set)
        known = [best[part] for part in best if sets.masks[part] & ~mask == 0]
        if found is None:
            continue
        assert all(found[1] >= rank for _, rank in known)
        assert all(found[0] == tag for tag, rank in known if rank == found[1])
        best[failed_set] = found


@examples(40)
@given(connected(max_nodes=5), st.integers(1, 2), st.data())
def test_one_packet_teaches_all_switches_what_ends_backtracking(topology, size, data):
    """After one packet each of a set's failures, no later packet of anybody crosses a link that has failed."""
    options = PlanOptions(notification="flood", max_failures=size, planner=data.draw(st.sampled_from(["tree", "pair"])))
    failed = data.draw(st.sets(st.sampled_from(topology.link_ids), min_size=1, max_size=size))
    case = case_of("sdfast", topology, options, failed)
    network = case.network()
    rounds = 0
    while sum(len(send(network, *pair).notifications) for pair in case.pairs):  # everybody sends in each round
        rounds += 1
        assert rounds <= size
    router = BackupPlanner(topology, options).router
    mask = sum(1 << number for number in numbers_of(topology, failed))
    for source, target in case.pairs:
        commodity = next(
            each for each in router.commodities if each.destination == target and each.source in (None, source)
        )
        walk = send(network, source, target)
        if router.next_link(commodity, mask, source) == NO_LINK:
            assert walk.outcome == "dropped"
        else:
            assert walk.outcome == "delivered"
            assert len(set(walk.path)) == len(walk.path)


def test_one_packet_tells_all_of_darkstrand_and_each_switch_sends_the_notification_on_once():
    topology = load_topology("darkstrand")
    link = topology.link_ids[0]
    case = case_of("sdfast", topology, replace(FLOOD, max_failures=1), [link])
    network = case.network()
    crossing = [pair for pair in case.pairs if send(network.with_failed(case.failed), *pair).notifications]
    first = send(network, *crossing[0])
    degree = {node: len(topology.links_from[node]) for node in topology.node_names}
    away = sum(degree.values()) - 2  # the failed link carries none
    assert len(first.notifications) == away - (len(degree) - 1)  # all but by the port that it came by
    for pair in crossing:
        walk = send(network, *pair)
        assert (walk.outcome, walk.notifications) == ("delivered", ())
        assert len(set(walk.path)) == len(walk.path)


@examples(100)
@given(st.data())
def test_while_a_plan_that_notifies_takes_over_nothing_is_lost_and_one_copy_may_be_delivered(data):
    """A switch of the older plan takes a notification for the packet that it is a copy of."""
    topology = figure2()
    older, newer = (plan_sdfast(topology, PlanOptions(notification=each)) for each in ("off", "flood"))
    mixed = {dpid: data.draw(st.sampled_from((older, newer)))[dpid] for dpid in newer}
    failed = frozenset({data.draw(st.sampled_from(topology.link_ids))})
    source, target = data.draw(st.permutations(range(len(topology.node_names))))[:2]
    before, meanwhile = (Network(topology, plans, Learning(), failed) for plans in (older, mixed))
    first, *later = (send(meanwhile, source, target).deliveries for _ in range(3))
    if send(before, source, target).outcome == "delivered":
        assert first in (1, 2)
        assert later == [1, 1]
    else:
        assert (first, *later) == (0, 0, 0)


@examples(40)
@given(connected(), st.integers(1, 2), st.data())
def test_a_notification_goes_on_over_all_other_links_once(topology, size, data):
    plan = data.draw(
        st.sampled_from(list(plan_sdfast(topology, PlanOptions(notification="flood", max_failures=size)).values()))
    )
    ports = {port for (node, port) in assign_ports(topology).direction_at if node == plan.node}
    tag_id = data.draw(st.integers(1, len(FailureSets(*plan.tag_space).masks) - 1))
    status = data.draw(st.sampled_from([3, 7]))
    frame, in_port = Packet(vlan_tci=tag_tci(tag_id, status)), data.draw(st.sampled_from(sorted(ports)))
    model, live = SwitchModel(plan), frozenset(ports) | {HOST_PORT}
    first = interpret_switch(model, frame, in_port, live)
    assert {(port, packet) for port, packet, _ in first.outputs} == {(port, frame) for port in ports - {in_port}}
    again = interpret_switch(model, frame, in_port, live, first.learned)
    assert (again.outputs, again.learned) == ((), ())
    assert interpret_switch(model, frame, HOST_PORT, live).is_drop


@examples(200)
@given(teachings(), st.data())
def test_with_more_failures_than_a_set_names_packets_keep_what_they_met_first(case, data):
    _, sets, paths = case
    failed = data.draw(st.integers(0, (1 << sets.n_links) - 1))
    tag_id, positions = collected(sets, paths.get, failed)
    assert sets.masks[tag_id] & ~failed == 0
    assert len(positions) == sets.masks[tag_id].bit_count() <= sets.max_failures
    met = {number for number in paths.get(tag_id, ()) if failed >> number & 1}
    assert not met or len(positions) == sets.max_failures


@examples(40)
@given(connected(), st.integers(1, 2), st.data())
def test_in_agent_mode_a_notification_goes_on_once_and_the_agent_gets_a_copy(topology, size, data):
    options = PlanOptions(mode="agent", notification="flood", max_failures=size)
    plan = data.draw(st.sampled_from(list(plan_sdfast(topology, options).values())))
    check_plan(plan)
    ports = {port for (node, port) in assign_ports(topology).direction_at if node == plan.node}
    tag_id = data.draw(st.integers(1, len(FailureSets(*plan.tag_space).masks) - 1))
    frame = Packet(vlan_tci=tag_tci(tag_id, data.draw(st.sampled_from([3, 7]))))
    model, live = SwitchModel(plan), frozenset(ports) | {HOST_PORT}
    first = interpret_switch(model, frame, min(ports), live)
    assert {port for port, _, _ in first.outputs} == ports - {min(ports)}
    assert first.punts == ((AGENT_CONTROLLER_ID, frame),)
    again = interpret_switch(model, frame, min(ports), live, first.learned)
    assert (again.outputs, again.punts, again.learned) == ((), (), ())
    instead = interpret_switch(model, frame, min(ports), live, (heard_row(tag_id, 0),))
    assert (instead.outputs, instead.punts) == ((), ())
    assert interpret_switch(model, frame, HOST_PORT, live).is_drop


@pytest.mark.parametrize("planner", ["tree", "pair"])
def test_backup_rows_of_agents_that_are_notified_say_which_links_they_cross(planner):
    topology = figure2()
    plans = plan_sdfast(topology, PlanOptions(mode="agent", notification="flood", planner=planner))
    rows = [row for plan in plans.values() for row in plan.backups]
    masks = FailureSets(*plans[1].tag_space).masks
    assert all(row.path and len(set(row.path)) == len(row.path) for row in rows)
    assert not any(masks[row.tag_id] >> number & 1 for row in rows for number in row.path)
    off = plan_sdfast(topology, PlanOptions(mode="agent", notification="off", planner=planner))
    assert not any(row.path for plan in off.values() for row in plan.backups)


@examples(60)
@given(connected(), st.data())
def test_a_packet_whose_set_is_full_starts_afresh_once(topology, data):
    case = case_of(
        "sdfast",
        topology,
        PlanOptions(notification="flood", max_failures=1),
        data.draw(st.sets(st.sampled_from(topology.link_ids), min_size=1, max_size=4)),
    )
    network = case.network()
    for pair in case.pairs:
        tags = [split_tci(hop.packet.vlan_tci) for hop in send(network.with_failed(case.failed), *pair).hops]
        phases = [status & AFRESH for _, status in tags]
        assert phases == sorted(phases)


def test_with_notifications_off_no_row_knows_of_them():
    for plan in plan_sdfast(figure2(), PlanOptions(notification="off")).values():
        assert Table.NOTIFY not in {row.table_id for row in plan.flows}
        assert not taught_by(plan)


@pytest.mark.parametrize("name", ["cb", "cbc"])
def test_who_backtracks_for_ever_notifies_nobody(name):
    case = case_of(name, figure2(), FLOOD, figure2().link_ids[:1])
    network = case.network()
    assert not any(send(network.with_failed(case.failed), *pair).notifications for pair in case.pairs)


def test_what_a_message_cannot_hold_is_taught_by_several_rows(monkeypatch):
    whole = plan_sdfast(load_topology("ring:8"), PlanOptions(notification="flood", max_failures=1))[1]
    monkeypatch.setattr(notification, "_LEARNS_A_ROW", 2)
    plan = plan_sdfast(load_topology("ring:8"), PlanOptions(notification="flood", max_failures=1))[1]
    rows = [row for row in plan.flows if row.table_id == Table.NOTIFY]
    assert max(sum(isinstance(action, Learn) for action in row.apply_actions) for row in rows) == 2
    assert taught_by(plan) == taught_by(whole)
    live = frozenset({HOST_PORT, 2, 3})
    for tag_id in taught_by(plan):
        frame = Packet(vlan_tci=tag_tci(tag_id, 3))
        first = interpret_switch(SwitchModel(plan), frame, 2, live)
        assert set(first.learned) == set(interpret_switch(SwitchModel(whole), frame, 2, live).learned)
        assert first.outputs == ((3, frame, 0),)
        assert interpret_switch(SwitchModel(plan), frame, 3, live, first.learned).is_drop
