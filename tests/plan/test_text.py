"""Rows survive being written and read, a real switch takes every line, and a plan is text that a person can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from experiments.verify.against_ovs.dummy_ovs import DummyOvs, dummy_ovs
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import PlanError
from ryu_apps.plan.dump_parse import parse_flow, parse_group
from ryu_apps.plan.ids import Table
from ryu_apps.plan.notification import taught_by
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.row_text import action_text, flow_text, group_text
from ryu_apps.plan.rows import (
    Bucket,
    ExtensionRow,
    FlowRow,
    GroupRow,
    Learn,
    LearnLoad,
    LearnMatch,
    Output,
    QueueRow,
    RulePlan,
    SetField,
    match,
)
from ryu_apps.plan.text import names_of, plan_text
from ryu_apps.schemes import find_scheme, plan_network, route_schemes
from tests.examples import examples
from tests.plan.strategies import plans
from tests.schemes import modes_of

# (row, its line): the spelling of ovs-ofctl, pinned
LINES = [
    (
        FlowRow(0, 60000, match(in_port=1, vlan_vid=(0x1000, 0x1000)), cookie=0x0200000000000000),
        "cookie=0x0200000000000000,table=0,priority=60000,in_port=1,vlan_tci=0x1000/0x1000 actions=drop",
    ),
    (
        FlowRow(1, 2, match(eth_type=0x800, vlan_vid=0x100B, ipv4_dst=(0x0A000000, 0xFFFF0000)), goto_table=3),
        "cookie=0x0000000000000000,table=1,priority=2,ip,dl_vlan=11,nw_dst=10.0.0.0/255.255.0.0 actions=goto_table:3",
    ),
    (
        FlowRow(
            1, 2, match(eth_type=0x800, ip_proto=17, udp_dst=9), (Output(0xFFFFFFF8),), (Output(3),), 4, 7, 8, True
        ),
        "cookie=0x0000000000000007,table=1,priority=2,hard_timeout=8,send_flow_rem,udp,udp_dst=9 "
        "actions=IN_PORT,write_actions(output:3),goto_table:4",
    ),
    (
        FlowRow(1, 2, match(vlan_vid=0, eth_dst=0x020000000001), (SetField("eth_src", 0x020000000002),)),
        "cookie=0x0000000000000000,table=1,priority=2,vlan_tci=0x0000/0x1fff,dl_dst=02:00:00:00:00:01 "
        "actions=set_field:02:00:00:00:00:02->eth_src",
    ),
]
LEARNED_DUMP = (
    " cookie=0x201000b0a000003, duration=3.2s, table=3, n_packets=4, n_bytes=500, idle_age=2, hard_timeout=9, "
    "priority=30000,ip,vlan_tci=0x0000/0x1000,nw_dst=10.0.0.3 actions=load:0x100b->NXM_OF_VLAN_TCI[]"
)


@pytest.mark.parametrize(("row", "line"), LINES)
def test_a_row_is_spelled_as_ovs_ofctl_spells_it(row: FlowRow, line: str) -> None:
    assert flow_text(row) == line


@examples(40)
@given(plans())
def test_reading_what_was_written_gives_the_rows_back(plan: RulePlan) -> None:
    assert tuple(parse_flow(flow_text(row)) for row in plan.flows) == plan.flows
    assert tuple(parse_group(group_text(row)) for row in plan.groups) == plan.groups


def test_a_dumped_row_is_read_without_its_statistics() -> None:
    row = parse_flow(LEARNED_DUMP)
    assert (row.table_id, row.priority, row.cookie, row.hard_timeout_s) == (3, 30000, 0x0201000B0A000003, 9)
    assert row.match == match(eth_type=0x800, ipv4_dst=0x0A000003, vlan_vid=(0, 0x1000))
    assert flow_text(row).endswith(LEARNED_DUMP.split("priority=30000,")[1])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("table=0,priority=3,ip", "no actions="),
        ("table=0,ct_state=+trk actions=drop", "'ct_state'"),
        ("table=0,ip actions=dec_ttl,output:1", "'dec_ttl'"),
        ("table=0,reg0=zero actions=drop", "zero"),
        ("table=0,ip actions=set_field:0x1/0x3->reg0", "0x1/0x3"),
        ("table=0,ip actions=load:0x1->NXM_NX_REG0[1,2]", "names no bits"),
    ],
)
def test_a_row_that_no_plan_can_hold_is_refused_and_not_half_read(line: str, words: str) -> None:
    with pytest.raises(PlanError, match="no flow that a plan can hold") as caught:
        parse_flow(line)
    assert words in str(caught.value)


def test_a_group_that_no_plan_can_hold_is_refused() -> None:
    with pytest.raises(PlanError, match="selection_method"):
        parse_group("group_id=1,type=select,selection_method=hash,bucket=actions=output:1")
    with pytest.raises(PlanError, match="command_bucket_id"):
        parse_group("group_id=1,type=all,bucket=command_bucket_id:1,actions=output:1")


def test_masks_are_read_as_prefixes_too() -> None:
    assert parse_flow("ip,nw_dst=10.0.0.0/16 actions=drop").match == match(
        eth_type=0x800, ipv4_dst=(0x0A000000, 0xFFFF0000)
    )


def test_an_action_without_a_spelling_is_refused() -> None:
    with pytest.raises(PlanError, match="has no ovs-ofctl text"):
        action_text("teleport")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def bridge() -> Iterator[DummyOvs]:
    """A switch with ports 1..6, alone in its daemon."""
    with dummy_ovs() as switch:
        switch.add_bridges({4: range(1, 7)})
        yield switch


@pytest.mark.ovs
@settings(examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=plans())
def test_a_switch_takes_every_row_and_reads_back_equal(bridge: DummyOvs, plan: RulePlan) -> None:
    bridge.empty(4)
    bridge.install(plan)
    assert set(bridge.flows(4)) == set(plan.flows)
    assert set(bridge.groups(4)) == set(plan.groups)


@pytest.mark.ovs
@pytest.mark.parametrize("scheme", route_schemes())
def test_a_switch_takes_every_row_of_every_scheme_and_reads_back_equal(bridge: DummyOvs, scheme: str) -> None:
    topology = load_topology("figure2")
    for mode in modes_of(find_scheme(scheme)):
        for planner in ("tree", "pair"):
            plan = plan_network(scheme, topology, PlanOptions(mode=mode, planner=planner))[2]
            bridge.empty(4)
            bridge.install(replace(plan, dpid=4))
            assert set(bridge.flows(4)) == set(plan.flows)
            assert set(bridge.groups(4)) == set(plan.groups)


def sdfast(mode: str) -> tuple[RulePlan, str]:
    topology = load_topology("figure2")
    plan = plan_network("sdfast", topology, PlanOptions(mode=mode, max_failures=1))[2]
    return plan, plan_text(plan, names_of(topology, plan.node))


def test_the_flow_lines_of_a_plans_text_are_its_flows_comments_and_all() -> None:
    plan, text = sdfast("learned")
    lines = [line.partition("#")[0] for line in text.splitlines() if line.startswith("cookie=")]
    assert tuple(map(parse_flow, lines)) == plan.flows


def test_a_plans_text_names_the_switch_its_neighbours_and_what_each_row_is_for() -> None:
    _, text = sdfast("learned")
    assert text.startswith("# Switch s2 B, datapath 0000000000000002: ")
    assert "#   port 3: s3 C\n" in text
    assert f"# Table {int(Table.EXTEND)} EXTEND: a failed port adds its link to the tag" in text
    row = next(line for line in text.splitlines() if "dl_vlan=4,nw_dst=10.0.0.5" in line)
    assert row.endswith("# to h5 at s5 E; knows {s4-s5}; teaches; recovered; by s6 F")


def test_backup_rows_and_extensions_are_lines_of_the_text_too() -> None:
    plan, text = sdfast("agent")
    lines = text.splitlines()
    assert len([line for line in lines if line.startswith("backup ")]) == len(plan.backups)
    assert len([line for line in lines if line.startswith("extension ")]) == len(plan.extensions)
    assert any("knows {s4-s5}; by s6 F (recovered)" in line for line in lines)


def test_the_text_does_not_depend_on_the_order_in_which_rows_were_made() -> None:
    plan, _ = sdfast("agent")
    shuffled = replace(plan, flows=plan.flows[::-1], backups=plan.backups[::-1], extensions=plan.extensions[::-1])
    assert plan_text(shuffled) == plan_text(plan)


def test_a_plan_without_names_is_written_with_numbers() -> None:
    learn = Learn(3, 1, 0, (LearnMatch("vlan_tci", 12, 1, 0),), (LearnLoad("vlan_tci", 0, 16, 0x1001),))
    plan = RulePlan(
        7,
        "s7",
        (FlowRow(1, 5, match(eth_type=0x800, ipv4_dst=0x0A000009), (learn, Output(4))),),
        (GroupRow(2, "ff", (Bucket((Output(2),), watch_port=2), Bucket((Output(3),), watch_port=3))),),
        queues=(QueueRow(2, 7, 1, None, 500.0),),
        extensions=(ExtensionRow(1, 2, 99),),
        tag_space=(2, 1),
    )
    text = plan_text(plan)
    assert "queue port=2,id=7: priority 1, min - Mbit/s, max 500.0 Mbit/s\n" in text
    assert "# to 10.0.0.9; teaches; by port 4" in text
    assert "# by port 2, else by port 3" in text
    assert "# knows {link 0}, meets failed port to port 2: tag 99" in text


def test_rows_of_notifications_say_what_they_teach_and_where_they_go_on():
    topology = load_topology("figure2")
    plan = plan_network("sdfast", topology, PlanOptions(notification="flood", max_failures=1))[2]
    names = names_of(topology, plan.node)
    cache, *lines = [line for line in plan_text(plan, names).splitlines() if ",table=7," in line]
    assert "when a link returns, this row discards the cached flows of notifications" in cache
    taught = taught_by(plan)
    assert len(lines) == len(topology.link_ids)
    for tag_id, line in enumerate(lines, start=1):
        said = line.partition("  # ")[2].split("; ")
        n_taught = len({learn.matches[2].value for learn in taught[tag_id]})
        assert said[0].startswith("notification of {")
        assert said[1] == (f"teaches the tags to {n_taught} destinations" if n_taught else "teaches nothing")
        assert said[2].startswith("sent on by ")
