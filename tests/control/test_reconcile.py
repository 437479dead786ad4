"""A dump against a plan: stale rows of ours go, foreign rows stay and are named, recovery rows wait for their link."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.reconcile import SwitchState, foreign_macs, is_ours, reconcile
from ryu_apps.openflow.messages import FlowStat, GroupStat
from ryu_apps.plan.edge_rows import with_edge_rows
from ryu_apps.plan.ids import Kind, Owner, cookie
from ryu_apps.plan.in_band.plan import plan_in_band
from ryu_apps.plan.in_band.values import Channel, Service
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.order import canonical
from ryu_apps.plan.protection import ProtectedFlow, protection_of
from ryu_apps.plan.recovery_rows import deliver_seen_row, tagged_row, untagged_row
from ryu_apps.plan.rows import Bucket, FlowRow, Group, GroupRow, Learn, Load, Output, RulePlan, match
from ryu_apps.schemes import plan_network, route_schemes, tunnel_schemes
from tests import schemes
from tests.plan.deltas import apply_delta

TOPOLOGY = load_topology("figure2")
PLANS = {
    (scheme, mode): with_edge_rows(plan_network(scheme, TOPOLOGY, PlanOptions(mode=mode))[2])
    for scheme, mode in (("sdfast", "learned"), ("sdfast", "agent"), ("ffg", "learned"), ("shortest", "learned"))
}
LEARNED = PLANS["sdfast", "learned"]
AGENT = PLANS["sdfast", "agent"]


def stat(row, *, cookie_value=None, reason=""):
    return FlowStat(
        None if reason else row,
        row.table_id,
        row.priority,
        row.cookie if cookie_value is None else cookie_value,
        b"",
        1,
        2,
        3.0,
        0,
        reason,
    )


def dump(plan, extra_flows=(), extra_groups=()):
    return SwitchState(
        tuple(map(stat, (*plan.flows, *extra_flows))),
        tuple(GroupStat(row.group_id, row) for row in (*plan.groups, *extra_groups)),
    )


def a_learned_row():
    learn = next(action for row in LEARNED.flows for action in row.apply_actions if isinstance(action, Learn))
    loads = tuple(Load(one.field, one.first_bit, one.n_bits, one.value) for one in learn.loads)
    fields = match(eth_type=0x800, vlan_vid=(0, 0x1000), ipv4_dst=learn.matches[2].value)
    return FlowRow(learn.table_id, learn.priority, fields, loads, cookie=learn.cookie)


@pytest.mark.parametrize("plan", PLANS.values(), ids=["-".join(name) for name in PLANS])
def test_a_switch_that_holds_its_plan_is_not_touched(plan):
    found = reconcile(dump(plan), plan)
    assert found.is_clean
    assert (found.recovery, found.foreign, found.conflicts) == ((), (), ())


@pytest.mark.parametrize("plan", PLANS.values(), ids=["-".join(name) for name in PLANS])
def test_an_empty_switch_gets_the_whole_plan(plan):
    delta = reconcile(SwitchState(), plan).delta
    empty = RulePlan(plan.dpid, plan.node)
    assert apply_delta(delta, replace(plan, flows=(), groups=())) == canonical(plan)
    assert apply_delta(delta, replace(empty, local_ipv4=plan.local_ipv4)).flows == canonical(plan).flows


@given(
    st.sampled_from(sorted(PLANS)),
    st.sampled_from(sorted(PLANS)),
    st.sets(st.integers(0, 400)),
    st.sets(st.integers(0, 9)),
)
def test_whatever_part_of_whatever_scheme_is_there_the_plan_is_reached(before, after, missing, missing_groups):
    held = PLANS[before]
    part = replace(
        held,
        flows=tuple(row for number, row in enumerate(held.flows) if number not in missing),
        groups=tuple(row for number, row in enumerate(held.groups) if number not in missing_groups),
    )
    wanted = PLANS[after]
    found = reconcile(dump(part), wanted)
    reached = apply_delta(found.delta, replace(wanted, flows=part.flows, groups=part.groups))
    assert reached.flows == canonical(wanted).flows
    assert reached.groups == canonical(wanted).groups
    assert found.foreign == ()


def test_foreign_rows_and_their_groups_are_named_and_left_alone():
    chained = GroupRow(77, "all", (Bucket((Output(3),)),))
    theirs = GroupRow(78, "ff", (Bucket((Group(77),), watch_port=2),))
    flows = [
        FlowRow(0, 7, match(in_port=5), (Group(78),), cookie=0),
        FlowRow(9, 7, match(in_port=5), (Output(1),), cookie=0xDD << 56),
    ]
    found = reconcile(dump(LEARNED, flows, [chained, theirs]), LEARNED)
    assert found.is_clean
    assert len(found.foreign) == 4
    assert "cookie 0x0" in found.foreign[0]
    assert found.foreign[2:] == ("group 77", "group 78")
    assert found.conflicts == ()


def test_a_group_that_nobody_uses_is_foreign_unless_it_has_our_shape():
    unexpected = GroupRow(4711, "select", (Bucket((Output(2),), weight=1),))
    ours = GroupRow(9, "ff", (Bucket((Output(9),), watch_port=9),))
    found = reconcile(dump(LEARNED, (), [unexpected, ours]), LEARNED)
    assert found.foreign == ("group 4711",)
    assert found.delta.delete_groups == (ours,)


def test_a_foreign_row_in_the_place_of_ours_is_named_and_replaced():
    row = LEARNED.flows[0]
    held = replace(LEARNED, flows=LEARNED.flows[1:])
    found = reconcile(dump(held, [replace(row, cookie=0, apply_actions=(Output(9),))]), LEARNED)
    assert found.delta.add_flows == (row,)
    assert len(found.conflicts) == 1


def test_a_foreign_group_with_the_id_of_ours_is_named_and_replaced():
    wanted = LEARNED.groups[0]
    theirs = GroupRow(wanted.group_id, "select", (Bucket((Output(2),), weight=1),))
    flows = [FlowRow(9, 7, match(in_port=5), (Group(wanted.group_id),), cookie=0)]
    held = replace(LEARNED, flows=(), groups=LEARNED.groups[1:])
    found = reconcile(dump(held, flows, [theirs]), LEARNED)
    assert found.conflicts == (f"group {wanted.group_id}",)
    assert found.delta.modify_groups == (wanted,)


def test_an_unreadable_group_with_the_id_of_ours_is_replaced():
    wanted = LEARNED.groups[0]
    state = dump(replace(LEARNED, groups=LEARNED.groups[1:]))
    state = replace(state, groups=(*state.groups, GroupStat(wanted.group_id, None, "unexpected")))
    found = reconcile(state, LEARNED)
    assert found.delta.modify_groups == (wanted,)


def test_rows_with_our_cookie_in_words_that_we_do_not_speak_are_removed():
    odd = stat(FlowRow(1, 5, (), cookie=cookie(schemes.SDFAST, Kind.PLANNED)), reason="no such action")
    state = dump(LEARNED)
    found = reconcile(replace(state, flows=(*state.flows, odd)), LEARNED)
    assert found.unreadable == (odd,)
    assert not found.is_clean


def test_learned_rows_that_the_plan_can_make_stay():
    row = a_learned_row()
    found = reconcile(dump(LEARNED, [row]), LEARNED)
    assert found.is_clean
    assert found.recovery == (row,)
    assert len(found.recovery_tag_ids) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"cookie": cookie(schemes.SDFAST, Kind.LEARNED, 4000, 5)},
        {"cookie": cookie(schemes.CB, Kind.LEARNED, 1, 5)},
        {"apply_actions": (Load("vlan_tci", 0, 16, 0x1FFF),)},
    ],
)
def test_learned_rows_that_the_plan_cannot_make_go(change):
    row = replace(a_learned_row(), **change)
    found = reconcile(dump(LEARNED, [row]), LEARNED)
    assert found.delta.delete_flows == (row,)
    assert found.recovery == ()


def test_agent_rows_for_a_planned_way_out_stay_and_others_go():
    backup = next(row for row in AGENT.backups if row.tag_id)
    fitting = [tagged_row(backup), untagged_row(backup), deliver_seen_row(3, 0x0A000005, AGENT.local_ipv4[0])]
    elsewhere = tagged_row(replace(backup, out_port=99, destination=backup.destination))
    found = reconcile(dump(AGENT, [*fitting, replace(elsewhere, priority=29999)]), AGENT)
    assert set(found.recovery) == set(fitting)
    assert found.delta.delete_flows == (replace(elsewhere, priority=29999),)


def test_agent_rows_go_when_the_scheme_has_none():
    backup = next(row for row in AGENT.backups if row.tag_id)
    shortest = PLANS["shortest", "learned"]
    row = tagged_row(backup)
    found = reconcile(dump(shortest, [row]), shortest)
    assert row in found.delta.delete_flows


def test_foreign_macs_are_read_from_the_rows_that_use_them():
    plan = with_edge_rows(plan_network("sdfast", TOPOLOGY, PlanOptions())[2], {LEARNED.local_ipv4[0]: 0xABC})
    assert foreign_macs(dump(plan)) == {LEARNED.local_ipv4[0]: 0xABC}
    assert foreign_macs(dump(LEARNED)) == {}


def test_rows_of_schemes_that_stand_beside_are_not_ours_to_touch():
    assert is_ours(cookie(schemes.FFG, Kind.PLANNED))
    assert not is_ours(cookie(Owner.PSO, Kind.PLANNED))
    assert not is_ours(0)


def test_rows_and_groups_of_flows_that_are_no_longer_protected_go() -> None:
    topology = load_topology("square")
    flow = ProtectedFlow("s1", "s3")
    protected, plain = (
        plan_network("protect", topology, PlanOptions(protection=protection_of(topology, flows)))[1]
        for flows in ([flow], [])
    )
    found = reconcile(dump(protected), plain)
    assert not found.foreign
    assert apply_delta(found.delta, protected) == plain


@pytest.mark.parametrize("scheme", sorted(set(tunnel_schemes()) - {"precomputed"}))  # its weights are of links
def test_rows_of_agents_about_failed_tunnels_stay_where_agents_notify_and_go_elsewhere(scheme):
    def tunnels(notified_by):
        options = TunnelOptions(notified_by=notified_by)
        return TunnelPlanner(tunnel_schemes()[scheme], TOPOLOGY, equal_commodities(TOPOLOGY), options)

    by_agents, by_controller = (
        with_edge_rows(tunnels(notified_by).plans()[1]) for notified_by in ("agent", "controller")
    )
    failed = frozenset({TOPOLOGY.link_ids[0]})
    rows = tunnels("agent").failure_rows([failed], Kind.AGENT).get(1, ())
    assert bool(rows) == tunnel_schemes()[scheme].tunnels.recovers
    there = reconcile(dump(by_agents, rows), by_agents)
    assert set(there.recovery) == set(rows)
    assert there.is_clean
    assert set(reconcile(dump(by_controller, rows), by_controller).delta.delete_flows) == set(rows)
    other = schemes.RESCALING if scheme == "kuijia" else schemes.KUIJIA
    unexpected = tuple(replace(row, cookie=cookie(other, Kind.AGENT)) for row in rows)
    assert set(reconcile(dump(by_agents, unexpected), by_agents).delta.delete_flows) == set(unexpected)


def test_the_rows_of_every_scheme_are_ours():
    known = {
        plan_network(name, TOPOLOGY, PlanOptions())[1] for name in route_schemes() if name not in ("protect", "sqr")
    }
    owned = {row.cookie for plan in known for row in plan.flows} | {
        cookie(scheme.number, Kind.PLANNED) for scheme in tunnel_schemes().values()
    }
    assert all(map(is_ours, owned))


@pytest.mark.parametrize("key", PLANS)
def test_rows_of_in_band_control_stay_whatever_a_scheme_finds_and_changes(key):
    control = plan_in_band(TOPOLOGY, Channel("s1", (Service(6653),))).plans[2]
    plan, empty = PLANS[key], replace(PLANS[key], flows=(), groups=())
    for present in (plan, empty):
        found = reconcile(dump(present, control.flows, control.groups), plan)
        assert apply_delta(found.delta, canonical(present)) == canonical(plan)
        assert found.delta.delete_flows == found.delta.delete_groups == ()
        assert len(found.foreign) == len(control.flows) + len(control.groups)
        assert found.conflicts == ()
