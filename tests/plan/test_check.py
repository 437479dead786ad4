"""Sound plans pass, and each rule of `check` refuses a plan that breaks it and nothing else."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import PlanError
from ryu_apps.plan.check import check_plan, violations
from ryu_apps.plan.check_overlap import overlaps
from ryu_apps.plan.fields import FIELDS
from ryu_apps.plan.ids import Kind, Table, cookie
from ryu_apps.plan.rows import (
    BackupRow,
    Bucket,
    Controller,
    ExtensionRow,
    FlowRow,
    Group,
    GroupRow,
    Learn,
    LearnLoad,
    LearnMatch,
    Load,
    Match,
    Move,
    Multipath,
    Output,
    PopMpls,
    PopVlan,
    PushMpls,
    PushVlan,
    QueueRow,
    Recirculate,
    Resubmit,
    RulePlan,
    SetField,
    SetQueue,
    match,
)
from tests import schemes
from tests.plan.strategies import ANY_TAG, MATCHES, plans

OURS = cookie(schemes.SDFAST, Kind.PLANNED)
LEARNED = cookie(schemes.SDFAST, Kind.LEARNED)
IP_TO_5 = match(eth_type=0x800, ipv4_dst=5)
TAGGED = match(vlan_vid=ANY_TAG)
OUT = (Output(2),)
LEARN = Learn(
    Table.LEARNED,
    30000,
    LEARNED,
    (LearnMatch("eth_type", 0, 16, 0x800), LearnMatch("vlan_tci", 12, 1, 0), LearnMatch("ipv4_dst", 0, 32, 5)),
    (LearnLoad("vlan_tci", 0, 16, 0x1001),),
)
GROUPS = (
    GroupRow(2, "ff", (Bucket(OUT, watch_port=2), Bucket((Resubmit(2),), watch_group=9))),
    GroupRow(9, "all", (Bucket(()),)),
)


def flow(fields: Match = IP_TO_5, *actions: object, **changes: object) -> FlowRow:
    return replace(FlowRow(0, 20000, fields, actions, cookie=OURS), **changes)  # type: ignore[arg-type]


def plan_of(*flows: FlowRow, groups: tuple[GroupRow, ...] = GROUPS, **rest: object) -> RulePlan:
    return RulePlan(4, "s4", flows, groups, **rest)  # type: ignore[arg-type]


def with_group(group_type: str, *buckets: Bucket) -> RulePlan:
    return plan_of(groups=(*GROUPS, GroupRow(7, group_type, buckets)))


def with_backup(**changes: object) -> RulePlan:
    row = BackupRow(destination=5, source=None, tag_id=2, out_port=3, status=1, crosses=True, replaces=(1,))
    return plan_of(backups=(replace(row, **changes),), tag_space=(3, 1))


def learning(**changes: object) -> RulePlan:
    return plan_of(flow(IP_TO_5, replace(LEARN, **changes)))


SOUND = plan_of(
    flow(IP_TO_5, Group(2)),
    flow(match(in_port=1, vlan_vid=ANY_TAG), priority=60000),
    flow(match(vlan_vid=0x1003, reg2=3), PopVlan(), Output(1), table_id=2),
    flow(match(eth_type=0x8847, mpls_tc=0), SetField("mpls_tc", 3), PopMpls(0x800), Output(3), priority=7),
    flow(TAGGED, SetField("vlan_pcp", 2), LEARN, write_actions=(SetQueue(1), Output(1)), goto_table=1, priority=5),
    flow(match(), PushVlan(), SetField("vlan_vid", 0x1004), PopVlan(), Controller(3), priority=0),
    backups=(BackupRow(5, None, 0, 2, 0, False), BackupRow(5, None, 2, 3, 1, True, (1,))),
    extensions=(ExtensionRow(0, 2, 1), ExtensionRow(1, 3, 3)),
    tag_space=(3, 1),
)

# (what is wrong, a plan with that one fault, words of the complaint)
MUTANTS = [
    ("dpid 0", replace(SOUND, dpid=0), "datapath id 0"),
    ("local address", replace(SOUND, local_ipv4=(1 << 32,)), "local address"),
    ("table", plan_of(flow(table_id=99)), "no such table"),
    ("priority", plan_of(flow(priority=65536)), "priority is 0..65535"),
    ("timeout", plan_of(flow(hard_timeout_s=70000)), "70000 s"),
    ("goto back", plan_of(flow(table_id=1, goto_table=1)), "does not lead forward"),
    ("goto unknown", plan_of(flow(goto_table=77)), "goto to unknown table 77"),
    ("unknown field", plan_of(flow(match(nonsense=1))), "unknown field 'nonsense'"),
    ("unsorted match", plan_of(flow(IP_TO_5[::-1])), "not in order"),
    ("field twice", plan_of(flow((IP_TO_5[0], IP_TO_5[0], IP_TO_5[1]))), "each once"),
    ("value too wide", plan_of(flow(match(eth_type=0x10800))), "does not fit its 16 bits"),
    ("negative value", plan_of(flow(match(reg0=-1))), "does not fit its 32 bits"),
    ("mask not allowed", plan_of(flow(match(in_port=(1, 3)))), "cannot be masked"),
    ("mask of nothing", plan_of(flow(match(reg0=(0, 0)))), "leave the field out"),
    ("mask of all", plan_of(flow(match(reg0=(1, 0xFFFFFFFF)))), "no mask for all ones"),
    ("bits outside mask", plan_of(flow(match(reg0=(3, 1)))), "outside its mask"),
    ("no eth_type", plan_of(flow(match(ipv4_dst=5))), "ipv4_dst needs eth_type = 0x800"),
    ("wrong eth_type", plan_of(flow(match(eth_type=0x806, ipv4_dst=5))), "needs eth_type = 0x800"),
    ("no ip_proto", plan_of(flow(match(eth_type=0x800, udp_dst=5))), "needs ip_proto = 0x11"),
    ("pcp of untagged", plan_of(flow(match(vlan_pcp=1, vlan_vid=0))), "needs a tag"),
    ("no output port", plan_of(flow(IP_TO_5, Output(0))), "is no port"),
    ("controller by output", plan_of(flow(IP_TO_5, Output(0xFFFFFFFD))), "is no port"),
    ("set unknown field", plan_of(flow(IP_TO_5, SetField("nonsense", 1))), "cannot write 'nonsense'"),
    ("set eth_type", plan_of(flow(IP_TO_5, SetField("eth_type", 1))), "cannot write 'eth_type'"),
    ("set in_port", plan_of(flow(IP_TO_5, SetField("in_port", 1))), "cannot write 'in_port'"),
    ("set too much", plan_of(flow(TAGGED, SetField("vlan_pcp", 8))), "does not fit its 3 bits"),
    ("set without the tag bit", plan_of(flow(TAGGED, SetField("vlan_vid", 8))), "with bit 0x1000 set"),
    ("set pcp of untagged", plan_of(flow(IP_TO_5, SetField("vlan_pcp", 1))), "needs a tag"),
    ("set address of any packet", plan_of(flow(match(), SetField("ipv4_dst", 1))), "needs eth_type = 0x800"),
    ("set after mpls", plan_of(flow(IP_TO_5, PushMpls(), SetField("ipv4_dst", 1))), "needs eth_type = 0x800"),
    ("set after pop", plan_of(flow(TAGGED, PopVlan(), SetField("vlan_pcp", 1))), "needs a tag"),
    ("load too much", plan_of(flow(IP_TO_5, Load("reg0", 0, 4, 16))), "does not fit 4 bits"),
    ("load past the end", plan_of(flow(IP_TO_5, Load("reg0", 30, 4, 1))), "are not in reg0"),
    ("load in_port as 32 bits", plan_of(flow(IP_TO_5, Load("in_port", 0, 32, 0))), "which has 16"),
    ("load pcp of untagged", plan_of(flow(IP_TO_5, Load("vlan_tci", 13, 3, 1))), "needs a tag"),
    ("load after untagging", plan_of(flow(TAGGED, Load("vlan_tci", 0, 16, 0), PopVlan())), "PopVlan() needs a tag"),
    ("load eth_type", plan_of(flow(IP_TO_5, Load("eth_type", 0, 16, 0))), "cannot write 'eth_type'"),
    ("move past the end", plan_of(flow(IP_TO_5, Move("reg0", 0, "reg1", 20, 16))), "are not in reg1"),
    ("move from unknown", plan_of(flow(IP_TO_5, Move("x", 0, "reg1", 0, 16))), "unknown field 'x'"),
    ("move from absent", plan_of(flow(match(), Move("ipv4_dst", 0, "reg1", 0, 32))), "needs eth_type"),
    ("move to eth_type", plan_of(flow(IP_TO_5, Move("reg1", 0, "eth_type", 0, 16))), "cannot write 'eth_type'"),
    ("pop no tag", plan_of(flow(IP_TO_5, PopVlan())), "needs a tag"),
    ("pop untagged", plan_of(flow(match(vlan_vid=0), PopVlan())), "needs a tag"),
    ("pop no label", plan_of(flow(IP_TO_5, PopMpls(0x800))), "needs a label"),
    ("pop to no type", plan_of(flow(match(eth_type=0x8847), PopMpls(5))), "an Ethernet type"),
    ("queue", plan_of(flow(IP_TO_5, SetQueue(-1))), "queue ids"),
    ("resubmit", plan_of(flow(IP_TO_5, Resubmit(44))), "resubmit to unknown table 44"),
    ("recirculate", plan_of(flow(IP_TO_5, Recirculate(44))), "recirculate to unknown table 44"),
    ("recirculate anything", plan_of(flow(TAGGED, Recirculate(7))), "needs IPv4: match on eth_type"),
    ("controller id", plan_of(flow(IP_TO_5, Controller(1 << 16))), "controller ids"),
    ("hash", plan_of(flow(IP_TO_5, Multipath("md5", 0, "modulo_n", 8, "reg0"))), "unknown hash"),
    ("slots", plan_of(flow(IP_TO_5, Multipath("nw_src", 0, "hrw", 0, "reg0"))), "slots are"),
    ("slots past the end", plan_of(flow(IP_TO_5, Multipath("nw_src", 0, "hrw", 9, "vlan_pcp"))), "which has 3"),
    ("learn to unknown table", learning(table_id=55), "unknown table 55"),
    ("learn priority", learning(priority=0), "learn has priority 0"),
    ("learn as planned", learning(cookie=OURS), "not LEARNED"),
    ("learn too much", learning(loads=(LearnLoad("vlan_tci", 0, 4, 77),)), "does not fit 4 bits"),
    ("learn a match too wide", learning(matches=(LearnMatch("vlan_tci", 12, 1, 2),)), "does not fit 1 bits"),
    ("learn past the end", learning(matches=(LearnMatch("vlan_tci", 12, 9, 0),)), "are not in vlan_tci"),
    ("learn a field twice", learning(matches=(*LEARN.matches, LearnMatch("vlan_tci", 12, 1, 0))), "name each once"),
    ("learn without eth_type", learning(matches=LEARN.matches[1:]), "learn matches ipv4_dst, which needs eth_type"),
    ("learn to tag anything", learning(matches=LEARN.matches[::2]), "tagged and untagged packets alike"),
    ("output twice in a set", plan_of(flow(write_actions=(Output(1), Output(2)))), "two actions of a kind"),
    ("set out of order", plan_of(flow(write_actions=(Output(1), SetQueue(2)))), "not written in the order"),
    ("learn in a set", plan_of(flow(write_actions=(LEARN,))), "no place in an action set"),
    ("no owner", plan_of(flow(cookie=0)), "does not say who planned it"),
    ("unplanned", plan_of(flow(cookie=LEARNED)), "does not say who planned it"),
    (
        "two owners",
        plan_of(flow(), flow(match(eth_type=0x800, ipv4_dst=6), cookie=cookie(schemes.FFG, Kind.PLANNED))),
        "owners 2 and 3 both claim",
    ),
    ("duplicate flow", plan_of(flow(), flow(IP_TO_5, Output(2))), "twice"),
    ("duplicate group", plan_of(groups=(*GROUPS, GroupRow(9, "all", (Bucket(OUT),)))), "group 9 stands twice"),
    (
        "duplicate backup",
        plan_of(backups=(BackupRow(5, None, 0, 2, 0, False), BackupRow(5, None, 0, 3, 0, False))),
        "backup row (5, None, 0) stands twice",
    ),
    (
        "duplicate failed-set extension",
        plan_of(extensions=(ExtensionRow(0, 2, 1), ExtensionRow(0, 2, 3))),
        "failed-set extension of (tag, port) (0, 2) stands twice",
    ),
    ("duplicate queue", plan_of(queues=(QueueRow(1, 1, 0), QueueRow(1, 1, 2))), "(1, 1) stands twice"),
    ("overlap", plan_of(flow(IP_TO_5, Output(2)), flow(TAGGED, Output(3))), "match some packets alike"),
    ("group missing", plan_of(flow(IP_TO_5, Group(5))), "group 5, which the plan does not hold"),
    ("group written but missing", plan_of(flow(write_actions=(Group(5),))), "group 5, which the plan does not hold"),
    ("chain missing", with_group("all", Bucket((Group(5),))), "group 7 uses group 5"),
    ("watch missing", with_group("ff", Bucket(OUT, watch_group=5)), "group 7 uses group 5"),
    ("circle", with_group("all", Bucket((Group(7),))), "[7] use each other in a circle"),
    ("group id", plan_of(groups=(GroupRow(0xFFFFFFFC, "all", ()),)), "an id is"),
    ("group type", with_group("magic"), "type 'magic'"),
    ("indirect", with_group("indirect", Bucket(OUT), Bucket(OUT)), "2 buckets"),
    ("no watch", with_group("ff", Bucket(OUT)), "needs a watch_port"),
    ("watch in all", with_group("all", Bucket(OUT, watch_port=2)), "nothing watches"),
    ("watch no port", with_group("ff", Bucket(OUT, watch_port=0)), "watches port 0"),
    ("no weight", with_group("select", Bucket(OUT)), "weight 0"),
    ("heavy", with_group("select", Bucket(OUT, weight=1 << 16)), "weight 65536"),
    ("weight in ff", with_group("ff", Bucket(OUT, watch_port=2, weight=1)), "weights belong to select"),
    ("bucket order", with_group("all", Bucket((Output(1), Load("reg0", 0, 32, 1)))), "not written in the order"),
    ("bucket outputs", with_group("all", Bucket((Output(1), Output(2)))), "two actions of a kind"),
    ("bucket learns", with_group("all", Bucket((LEARN,))), "no place"),
    ("bucket action", with_group("all", Bucket((Output(0),))), "is no port"),
    ("tag of a backup", with_backup(tag_id=4), "tag ids are 0..3"),
    ("primary with a status", with_backup(tag_id=0, crosses=False, replaces=()), "a primary"),
    ("primary that crosses", with_backup(tag_id=0, status=0, replaces=()), "a primary"),
    ("no status", with_backup(status=0), "status 0"),
    ("backup port", with_backup(out_port=0), "out_port 0"),
    ("replaces itself", with_backup(replaces=(2,)), "replaces (2,)"),
    ("replaces twice", with_backup(replaces=(1, 1)), "replaces (1, 1)"),
    ("extends the failed set to no tag", plan_of(extensions=(ExtensionRow(1, 2, 0),)), "leads to another tag"),
    ("extends the failed set to itself", plan_of(extensions=(ExtensionRow(1, 2, 1),)), "leads to another tag"),
    ("extends the failed set past the tags", plan_of(extensions=(ExtensionRow(1, 2, 4),), tag_space=(3, 1)), "of 1..3"),
    ("extends the failed set at no port", plan_of(extensions=(ExtensionRow(1, 0, 2),)), "no such port"),
]


def test_the_plan_from_which_the_mutants_are_made_is_sound() -> None:
    assert violations(SOUND) == ()
    assert violations(with_backup()) == ()
    assert violations(learning()) == ()


@pytest.mark.parametrize(("plan", "words"), [pytest.param(*rest, id=name) for name, *rest in MUTANTS])
def test_a_plan_with_one_fault_gets_one_complaint(plan: RulePlan, words: str) -> None:
    found = violations(plan)
    assert len(found) == 1
    assert words in found[0]


@given(plans())
def test_random_sound_plans_pass(plan: RulePlan) -> None:
    check_plan(plan)


def test_the_error_names_the_switch_the_first_fault_and_the_number_of_others() -> None:
    with pytest.raises(PlanError, match=r"s4 cannot be installed: .*nw_dst=0\.0\.0\.5.*\(and 1 more faults\)"):
        check_plan(plan_of(flow(IP_TO_5, Group(5), Output(0))))


def test_outputs_and_watches_are_held_to_the_ports_that_the_switch_has() -> None:
    plan = plan_of(flow(IP_TO_5, Output(8)), backups=(BackupRow(5, None, 0, 8, 0, False),))
    assert violations(plan, {2, 8}) == ()
    found = violations(plan, {8})
    assert [fault for fault in found if "port 2" in fault or "port_no=2" in fault] == list(found)
    assert len(found) == 2
    assert len(violations(plan, {2})) == 2


def meet(first: Match, second: Match) -> bool:
    """Brute force: whether one packet can match both, field by field."""
    theirs = {name: (value, mask) for name, value, mask in second}
    for name, value, mask in first:
        if name in theirs:
            other_value, other_mask = theirs[name]
            full = FIELDS[name].full_mask
            common = (full if mask is None else mask) & (full if other_mask is None else other_mask)
            if value & common != other_value & common:
                return False
    return True


@given(st.lists(st.tuples(MATCHES, st.integers(1, 2)), max_size=12, unique_by=lambda each: each[0]))
def test_overlaps_are_found_exactly_when_brute_force_finds_one(drawn: list[tuple[Match, int]]) -> None:
    flows = [flow(fields, Output(port)) for fields, port in drawn]
    expected = {
        frozenset((first, second))
        for first, second in combinations(flows, 2)
        if meet(first.match, second.match) and first.apply_actions != second.apply_actions
    }
    # Two rows with the same fields and masks overlap only when they are one row.
    found = {frozenset(pair) for pair in overlaps(flows)}
    assert found <= expected
    assert bool(found) == bool(expected)


def test_overlap_is_no_fault_when_both_rows_say_the_same_or_priorities_decide() -> None:
    assert violations(plan_of(flow(IP_TO_5, Output(2)), flow(TAGGED, Output(2)))) == ()
    assert violations(plan_of(flow(IP_TO_5, Output(2)), flow(TAGGED, Output(3), priority=7))) == ()
