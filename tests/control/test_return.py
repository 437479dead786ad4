"""When and in what order the network returns to a link."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.topology import LinkId
from ryu_apps.control.decide.live_topology import Expected
from ryu_apps.control.decide.returning import (
    PUSHING_TABLES,
    RECOVERY_MASK,
    ReturnState,
    begin_return,
    due_at_s,
    due_links,
    end_return,
    found,
    hops_outward,
    links_of_tag_ids,
    ports_known,
    ports_unknown,
    remember,
    return_work,
    tag_ids_of_links,
)
from ryu_apps.plan.choices import NOTIFICATIONS
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import Kind, Status, Table, split_cookie
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import tag_tci
from ryu_apps.plan.rows import Learn
from ryu_apps.schemes import plan_network
from tests import schemes

TOPOLOGY = load_topology("figure2")
EXPECTED = Expected(TOPOLOGY)
LINK = TOPOLOGY.link_ids[1]
NEAR, FAR = EXPECTED.link_ends[LINK]
DAMPING = Damping(wait_s=5.0, window_s=60.0, max_wait_s=30.0)


def all_live(now_s=0.0):
    ports = {end: True for ends in EXPECTED.link_ends.values() for end in ends}
    return ports_known(ReturnState(EXPECTED.link_ends, DAMPING), ports, now_s)


def failed_and_back(state, down_s, up_s):
    state = ports_known(state, {NEAR: False}, down_s)
    return ports_known(state, {NEAR: True}, up_s)


def test_a_network_without_failures_has_nothing_to_return_to():
    assert due_links(all_live(), 1e9) == ()


def test_a_link_is_due_when_it_has_been_up_for_the_wait_to_restore_time():
    state = failed_and_back(all_live(), 10.0, 20.0)
    assert due_links(state, 24.9) == ()
    assert due_links(state, 25.0) == (LINK,)
    assert due_at_s(state, LINK, 21.0) == 25.0


def test_a_link_is_not_due_while_one_end_is_down_or_unknown():
    state = ports_known(all_live(), {NEAR: False, FAR: False}, 10.0)
    state = ports_known(state, {NEAR: True}, 20.0)
    assert due_links(state, 1e9) == ()
    state = ports_known(state, {FAR: True}, 30.0)
    assert due_links(state, 35.0) == (LINK,)
    state = ports_unknown(state, FAR[0])
    assert due_links(state, 1e9) == ()
    state = ports_known(state, {FAR: True}, 100.0)
    assert due_links(state, 104.0) == ()
    assert due_links(state, 105.0) == (LINK,)


def test_a_lost_connection_to_a_switch_is_not_a_failure_of_its_links():
    state = ports_unknown(all_live(), NEAR[0])
    assert state.failed_links() == frozenset()
    state = ports_known(state, {NEAR: True}, 50.0)
    assert due_links(state, 1e9) == ()


def test_a_link_that_flaps_waits_twice_as_long_for_each_failure_up_to_a_limit():
    state, waits = all_live(), []
    for number in range(5):
        state = failed_and_back(state, float(number), number + 0.5)
        waits.append(due_at_s(state, LINK, number + 0.5) - (number + 0.5))
    assert waits == [5.0, 10.0, 20.0, 30.0, 30.0]
    quiet = due_at_s(state, LINK, 4.5 + 61.0)
    assert quiet == 4.5 + 5.0


def test_rows_that_were_found_on_a_switch_make_its_link_due_without_a_failure_having_been_seen():
    state = remember(all_live(100.0), [LINK])
    assert due_links(state, 104.9) == ()
    assert due_links(state, 105.0) == (LINK,)


def test_rows_of_a_failure_that_nobody_reported_make_a_link_due_after_a_wait_and_change_nothing_that_is_awaited():
    state = found(all_live(100.0), [LINK], 200.0)
    assert due_links(state, 204.9) == ()
    assert due_links(state, 205.0) == (LINK,)
    for awaited in (state, begin_return(state, [LINK]), failed_and_back(all_live(), 10.0, 20.0)):
        assert found(awaited, [LINK], 300.0) == awaited
    ended = end_return(begin_return(state, [LINK]), [LINK])
    assert due_links(found(ended, [LINK], 300.0), 305.0) == (LINK,)


def test_a_return_under_way_is_not_begun_again_and_one_that_is_done_is_forgotten():
    state = begin_return(failed_and_back(all_live(), 10.0, 20.0), [LINK])
    assert due_links(state, 1e9) == ()
    assert due_links(end_return(state, [LINK]), 1e9) == ()


def test_a_return_that_failed_is_tried_again_later():
    state = begin_return(failed_and_back(all_live(), 10.0, 20.0), [LINK])
    state = end_return(state, [LINK], retry_at_s=40.0)
    assert due_links(state, 39.9) == ()
    assert due_links(state, 40.0) == (LINK,)


def test_a_failure_during_the_return_is_remembered():
    state = begin_return(failed_and_back(all_live(), 10.0, 20.0), [LINK])
    state = failed_and_back(state, 26.0, 27.0)
    state = end_return(state, [LINK])
    assert due_links(state, 36.9) == ()
    assert due_links(state, 37.0) == (LINK,)


def test_ports_that_carry_no_link_change_nothing():
    state = all_live()
    assert ports_known(state, {("s1", 1): False}, 5.0).links == state.links


moves = st.lists(
    st.tuples(
        st.sampled_from(sorted({end for ends in EXPECTED.link_ends.values() for end in ends})),
        st.sampled_from(["up", "down", "gone"]),
        st.floats(0.1, 20.0),
    ),
    max_size=40,
)


@given(moves)
def test_a_due_link_has_failed_is_up_and_has_been_up_for_long_enough(sequence):
    state, now_s = all_live(), 0.0
    failed, up_since = set(), dict.fromkeys(EXPECTED.link_ends, 0.0)
    for end, change, pause_s in sequence:
        now_s += pause_s
        live = {end: change == "up"}
        state = ports_unknown(state, end[0]) if change == "gone" else ports_known(state, live, now_s)
        failed |= state.failed_links()
        for link in EXPECTED.link_ends:
            if not state.is_up(link):
                up_since.pop(link, None)
            else:
                up_since.setdefault(link, now_s)
        for link in due_links(state, now_s):
            assert link in failed
            assert now_s - up_since[link] >= DAMPING.wait_s
    later = now_s + 1000.0
    state = ports_known(state, {end: True for ends in EXPECTED.link_ends.values() for end in ends}, now_s)
    assert set(due_links(state, later)) == failed


def test_hops_lead_outward_and_reach_every_switch_once():
    hops = hops_outward(TOPOLOGY, [LINK])
    assert set(hops[0]) == {LINK.a, LINK.b}
    assert sorted(name for hop in hops for name in hop) == sorted(TOPOLOGY.node_names)
    for nearer, farther in pairwise(hops):
        for name in farther:
            assert {link.dst for link in TOPOLOGY.links_from[name]} & set(nearer)


def test_tag_ids_and_links_name_each_other():
    space = (len(TOPOLOGY.link_ids), 2)
    tag_ids = tag_ids_of_links(space, TOPOLOGY, [LINK])
    sets = FailureSets(*space)
    assert all(1 in sets.numbers(tag_id) for tag_id in tag_ids)
    assert len(tag_ids) == len(TOPOLOGY.link_ids)
    single = next(tag_id for tag_id in tag_ids if len(sets.numbers(tag_id)) == 1)
    assert links_of_tag_ids(space, TOPOLOGY, [single, 99999]) == {LINK}
    assert links_of_tag_ids((0, 0), TOPOLOGY, [0, 5]) == frozenset()


def test_a_return_makes_look_ups_read_a_field_that_they_did_not_read_and_its_end_another():
    plans = {name: plan_network("sdfast", TOPOLOGY, PlanOptions(notification=name))[2] for name in NOTIFICATIONS}
    work = {name: return_work(plan, schemes.SDFAST, frozenset({1})) for name, plan in plans.items()}
    assert (work["off"].cache, work["off"].cache_meanwhile) == ((), ())
    before, meanwhile = (one for rows in (work["flood"].cache, work["flood"].cache_meanwhile) for one in rows)
    assert before in plans["flood"].flows
    fields = [{name for name, _value, _mask in row.match} for row in (before, meanwhile)]
    assert fields[0] - fields[1]
    assert fields[1] - fields[0]
    above = [row.priority for row in plans["flood"].flows if row.table_id == Table.NOTIFY and row != before]
    assert min(before.priority, meanwhile.priority) > max(above)


@pytest.mark.parametrize("notification", NOTIFICATIONS)
def test_the_work_of_a_return_silences_exactly_the_rows_that_teach_about_the_link(notification):
    plan = plan_network("sdfast", TOPOLOGY, PlanOptions(notification=notification))[2]
    tag_ids = tag_ids_of_links(plan.tag_space, TOPOLOGY, [LINK])
    work = return_work(plan, schemes.SDFAST, tag_ids)
    assert work.learning
    assert set(work.learning) <= set(plan.flows)
    for before, after in zip(work.learning, work.silenced, strict=True):
        assert before.key == after.key
        assert before.cookie == after.cookie
        assert not any(isinstance(action, Learn) for action in after.apply_actions)
        onward = tuple(one for one in before.apply_actions if not isinstance(one, Learn))
        assert after.apply_actions == (() if before.table_id == Table.NOTIFY else onward)
    for row in set(plan.flows) - set(work.learning):
        learns = [one for one in row.apply_actions if isinstance(one, Learn)]
        assert all(split_cookie(one.cookie).tag_id not in tag_ids for one in learns)
    named = {(split_cookie(value).kind, split_cookie(value).tag_id) for value in work.cookies}
    assert named == {(kind, tag_id) for kind in (Kind.LEARNED, Kind.AGENT) for tag_id in tag_ids}
    assert all(value & ~RECOVERY_MASK == 0 for value in work.cookies)


@pytest.mark.parametrize("hard_timeout_s", [0, 30])
def test_after_a_return_no_notification_of_the_link_goes_on_and_nothing_that_one_taught_is_left(hard_timeout_s):
    options = PlanOptions(notification="flood", max_failures=2, hard_timeout_s=hard_timeout_s)
    for plan in plan_network("sdfast", TOPOLOGY, options).values():
        returning = tag_ids_of_links(plan.tag_space, TOPOLOGY, [LINK])
        work = return_work(plan, schemes.SDFAST, returning)
        silenced = {row.key: row for row in work.silenced}
        during = replace(plan, flows=tuple(silenced.get(row.key, row) for row in plan.flows))
        for tag_id in range(1, len(FailureSets(*plan.tag_space).masks)):
            notification = Packet(vlan_tci=tag_tci(tag_id, Status.NOTIFICATION))
            before, after = (
                interpret_switch(SwitchModel(each), notification, 9, frozenset(range(9))) for each in (plan, during)
            )
            assert before.outputs
            assert before.learned
            if tag_id not in returning:
                assert after == before
                continue
            assert (after.outputs, after.learned) == ((), ())
            drops, teaching = (
                [row for row in before.learned if row.table_id == table] for table in (Table.NOTIFY, Table.LEARNED)
            )
            assert {row.hard_timeout_s for row in before.learned} == {hard_timeout_s}
            assert [row.apply_actions for row in drops] == [()]
            assert all(row.cookie & RECOVERY_MASK in work.cookies for row in drops)
            gone = [row for row in teaching if row.cookie & RECOVERY_MASK in work.cookies]
            assert gone == [row for row in teaching if split_cookie(row.cookie).tag_id in returning]
    assert PUSHING_TABLES[0] == Table.NOTIFY


def test_a_link_id_of_the_state_is_one_of_the_topology():
    assert set(EXPECTED.link_ends) == set(TOPOLOGY.link_ids)
    assert all(isinstance(link, LinkId) for link in EXPECTED.link_ends)


@given(st.lists(st.tuples(st.integers(1 << 8, 1 << 32), st.booleans())))
def test_ports_of_no_link_change_nothing(ports):
    state = all_live()
    for port_no, live in ports:
        state = ports_known(state, {(NEAR[0], port_no): live}, 1.0)
    assert state == all_live()
