"""The interpreter, action by action. That Open vSwitch agrees is tested in test_against_ovs.py."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import PlanError
from ryu_apps.plan import rows
from ryu_apps.plan.ids import ALWAYS_LIVE_GROUP, OFPP_IN_PORT
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch, learned_row, merge_action_set, packet_meets
from ryu_apps.plan.rows import Bucket, FlowRow, GroupRow, Output, RulePlan, match

UNTAGGED, TAGGED = Packet(), Packet(vlan_tci=0x1005)


def run(*flows, packet=UNTAGGED, in_port=9, groups=(), live=range(1, 8), extra=(), slot=0):
    """What a switch with these rows does."""
    plan = RulePlan(1, "s1", flows=flows, groups=groups)
    return interpret_switch(SwitchModel(plan), packet, in_port, frozenset(live), tuple(extra), slot=slot)


def row(*actions, table=0, priority=1, goto=None, write=(), **fields):
    return FlowRow(table, priority, match(**fields), actions, tuple(write), goto)


def ports(result):
    return [port for port, _, _ in result.outputs]


def leaving(result):
    return [packet for _, packet, _ in result.outputs]


def test_a_table_without_a_matching_row_drops():
    assert run().is_drop
    assert run(row(Output(2), ipv4_dst=7)).is_drop


def test_the_highest_priority_wins_whatever_the_order_and_the_masks():
    low, high = row(Output(2), priority=1), row(Output(3), priority=2, ipv4_dst=(0, 0xFF))
    assert ports(run(low, high)) == ports(run(high, low)) == [3]
    assert ports(run(low, high, packet=Packet(ipv4_dst=5))) == [2]


def test_rows_that_came_later_win_ties_and_lose_to_higher_priorities():
    planned = row(Output(2), priority=5)
    assert ports(run(planned, extra=[row(Output(3), priority=5)])) == [3]
    assert ports(run(planned, extra=[row(Output(3), priority=4)])) == [2]
    assert ports(run(planned, extra=[row(Output(3), priority=6, ipv4_dst=1)])) == [2]
    assert ports(run(planned, extra=[row(Output(3), priority=5), row(Output(4), priority=5)])) == [3]


def test_actions_run_in_order_and_goto_comes_after_them():
    first = row(Output(2), rows.SetField("ipv4_dst", 4), Output(3), goto=1)
    result = run(first, row(Output(4), table=1, ipv4_dst=4))
    assert ports(result) == [2, 3, 4]
    assert [packet.ipv4_dst for packet in leaving(result)] == [0, 4, 4]
    assert [each.table_id for each in result.rules] == [0, 1]


def test_resubmit_comes_back_and_keeps_what_it_changed():
    first = row(rows.Resubmit(3), Output(2))
    assert leaving(run(first, row(rows.SetField("ipv4_src", 8), table=3))) == [Packet(ipv4_src=8)]
    assert ports(run(first)) == [2]


def test_a_packet_never_leaves_by_the_port_it_came_from_unless_that_is_forgotten_or_asked_for():
    forget = rows.Load("in_port", 0, 16, 0)
    assert not ports(run(row(Output(2)), in_port=2))
    assert ports(run(row(forget, Output(2)), in_port=2)) == [2]
    assert ports(run(row(Output(OFPP_IN_PORT)), in_port=2)) == [2]
    assert ports(run(row(forget, Output(OFPP_IN_PORT)), in_port=2)) == [2]


@pytest.mark.parametrize(
    ("fields", "untagged", "tagged"),
    [
        ({"vlan_vid": 0}, True, False),
        ({"vlan_vid": 0x1005}, False, True),
        ({"vlan_vid": 0x1006}, False, False),
        ({"vlan_vid": (0x1000, 0x1000)}, False, True),
        ({"vlan_tci": (0, 0x1000)}, True, False),
        ({"vlan_pcp": 0, "vlan_vid": (0x1000, 0x1000)}, False, True),
        ({"vlan_pcp": 1}, False, False),
    ],
)
def test_tags_match_as_openflow_says(fields, untagged, tagged):
    assert bool(ports(run(row(Output(2), **fields)))) == untagged
    assert bool(ports(run(row(Output(2), **fields), packet=TAGGED))) == tagged
    assert (packet_meets(Packet(), match(**fields)), packet_meets(TAGGED, match(**fields))) == (untagged, tagged)


@pytest.mark.parametrize(
    ("actions", "tci"),
    [
        ([rows.PushVlan()], 0x1000),
        ([rows.PopVlan()], 0),
        ([rows.SetField("vlan_vid", 0x1007)], 0x1007),
        ([rows.SetField("vlan_pcp", 3)], 0x7005),
        ([rows.Load("vlan_tci", 13, 3, 2)], 0x5005),
        ([rows.Load("vlan_tci", 0, 16, 0x3009)], 0x3009),
        ([rows.Load("vlan_tci", 0, 16, 0)], 0),
        ([rows.Load("vlan_tci", 12, 1, 0)], 0),
    ],
)
def test_tags_are_written_as_open_vswitch_does(actions, tci):
    assert leaving(run(row(*actions, Output(2)), packet=TAGGED)) == [Packet(vlan_tci=tci)]


def test_loading_a_status_into_an_untagged_packet_leaves_it_untagged():
    assert leaving(run(row(rows.Load("vlan_tci", 13, 3, 2), Output(2)))) == [Packet()]


def test_registers_are_loaded_moved_and_matched_by_bits():
    first = row(rows.Load("reg1", 0, 32, 0xABCD), rows.Move("reg1", 4, "reg2", 8, 8), goto=1)
    assert ports(run(first, row(Output(2), table=1, reg2=(0xBC00, 0xFF00)))) == [2]
    assert not ports(run(first, row(Output(2), table=1, reg2=0xBC01)))


def test_labels_are_pushed_written_and_popped():
    push = [rows.PushMpls(), rows.SetField("mpls_label", 7), rows.SetField("mpls_tc", 5)]
    labelled = leaving(run(row(*push, Output(2))))[0]
    assert labelled.mpls == ((7, 5),)
    rest = row(rows.PopMpls(0x0800), Output(3), eth_type=0x8847, mpls_label=7, mpls_tc=5)
    assert leaving(run(rest, packet=labelled)) == [Packet()]
    assert run(rest).is_drop


def test_a_group_works_on_a_copy():
    group = GroupRow(5, "all", (Bucket((rows.PushVlan(), Output(2))), Bucket((Output(3),))))
    result = run(row(rows.Group(5), Output(4)), groups=[group])
    assert [(port, packet.vlan_tci) for port, packet, _ in result.outputs] == [(2, 0x1000), (3, 0), (4, 0)]


def test_fast_failover_takes_the_first_bucket_whose_port_or_group_lives():
    always = GroupRow(ALWAYS_LIVE_GROUP, "all", (Bucket(()),))
    group = GroupRow(
        5,
        "ff",
        (
            Bucket((Output(2),), watch_port=2),
            Bucket((Output(3),), watch_port=3),
            Bucket((Output(4),), watch_group=ALWAYS_LIVE_GROUP),
        ),
    )
    chosen = [ports(run(row(rows.Group(5)), groups=[always, group], live=live)) for live in ({2, 3}, {3}, set())]
    assert chosen == [[2], [3], [4]]


def test_a_watched_group_lives_while_one_of_its_buckets_does():
    inner = GroupRow(6, "ff", (Bucket((), watch_port=6), Bucket((), watch_port=7)))
    group = GroupRow(5, "ff", (Bucket((Output(2),), watch_group=6), Bucket((Output(3),), watch_port=3)))
    chosen = [ports(run(row(rows.Group(5)), groups=[inner, group], live=live)) for live in ({3, 7}, {3}, set())]
    assert chosen == [[2], [3], []]


@pytest.mark.parametrize("live", [{2, 3}, {3}])
def test_a_select_group_spreads_slots_over_live_buckets_by_weight(live):
    group = GroupRow(5, "select", (Bucket((Output(2),), watch_port=2, weight=3), Bucket((Output(3),), 3, None, 1)))
    chosen = [ports(run(row(rows.Group(5)), groups=[group], live=live, slot=slot))[0] for slot in range(8)]
    assert chosen == ([2, 2, 2, 3] * 2 if live == {2, 3} else [3] * 8)


def test_multipath_writes_the_slot():
    spread = rows.Multipath("symmetric_l3l4+udp", 1, "modulo_n", 4, "reg0[0..15]")
    flows = [row(spread, goto=1), *(row(Output(2 + slot), table=1, reg0=slot) for slot in range(4))]
    assert [ports(run(*flows, slot=slot))[0] for slot in range(8)] == [2, 3, 4, 5] * 2


def test_queues_and_controllers_see_the_packet_as_it_is_then():
    flow = row(rows.SetQueue(3), Output(2), rows.Controller(7), rows.PushVlan(), rows.Controller(8))
    result = run(flow)
    assert result.outputs == ((2, Packet(), 3),)
    assert result.punts == ((7, Packet()), (8, Packet(vlan_tci=0x1000)))
    assert not result.is_drop


def test_write_actions_run_at_the_end_once_a_kind_in_the_order_of_the_specification():
    first = row(write=[Output(2), rows.SetField("ipv4_src", 1)], goto=1)
    second = row(Output(5), write=[Output(3), rows.PushVlan()], table=1)
    result = run(first, second)
    assert [(port, packet.ipv4_src, packet.vlan_tci) for port, packet, _ in result.outputs] == [
        (5, 0, 0),
        (3, 1, 0x1000),
    ]
    assert merge_action_set((Output(2),), ()) == (Output(2),)


LEARN = rows.Learn(
    3,
    30000,
    9,
    (
        rows.LearnMatch("eth_type", 0, 16, 0x0800),
        rows.LearnMatch("vlan_tci", 12, 1, 0),
        rows.LearnMatch("ipv4_dst", 0, 32, 7),
    ),
    (rows.LearnLoad("vlan_tci", 0, 16, 0x3005),),
    hard_timeout_s=4,
)


def test_learn_reports_the_row_that_it_adds():
    learned = learned_row(LEARN)
    assert run(row(LEARN)).learned == (learned,)
    assert learned == FlowRow(
        3,
        30000,
        match(eth_type=0x0800, ipv4_dst=7, vlan_tci=(0, 0x1000)),
        (rows.Load("vlan_tci", 0, 16, 0x3005),),
        cookie=9,
        hard_timeout_s=4,
    )
    assert leaving(run(row(rows.Resubmit(3), Output(2)), packet=Packet(ipv4_dst=7), extra=[learned])) == [
        Packet(ipv4_dst=7, vlan_tci=0x3005)
    ]


def test_a_recirculated_copy_takes_a_pass_of_its_own_and_leaves_the_packet_as_it_was():
    second = FlowRow(7, 1, match(reg1=4), (LEARN, rows.Load("reg1", 0, 32, 9), Output(3)), (Output(4),))
    extra = [second, FlowRow(8, 1, match(reg1=4), (Output(2),))]
    first = row(rows.Load("reg1", 0, 32, 4), rows.Recirculate(7), replace(LEARN, priority=5), rows.Resubmit(8))
    found = run(first, extra=extra)
    assert [port_no for port_no, _, _ in found.outputs] == [3, 4, 2]
    assert [each.priority for each in found.learned] == [5, LEARN.priority]


def test_mistakes_of_a_plan_are_named():
    with pytest.raises(PlanError, match="group 5 is used but not planned"):
        run(row(rows.Group(5)))
    with pytest.raises(PlanError, match="more than 64 nested"):
        run(row(rows.Resubmit(0)))
    circle = GroupRow(5, "all", (Bucket((rows.Group(5),)),))
    with pytest.raises(PlanError, match="more than 64 nested"):
        run(row(rows.Group(5)), groups=[circle])
    with pytest.raises(PlanError, match="does not know the action 'sing'"):
        run(row("sing"))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(0, 3)), max_size=9), st.integers(0, 3))
def test_a_look_up_finds_what_trying_every_row_finds(drawn, destination):
    flows = {
        (priority, match(ipv4_dst=(value & mask, mask))): port for port, (mask, priority, value) in enumerate(drawn)
    }
    table = [FlowRow(0, priority, fields, (Output(port),)) for (priority, fields), port in flows.items()]
    packet = Packet(ipv4_dst=destination)
    best = max((each.priority for each in table if packet_meets(packet, each.match)), default=None)
    found = run(*table, packet=packet, in_port=99).rules
    assert (found[0].priority if found else None) == best
    assert not found or packet_meets(packet, found[0].match)
