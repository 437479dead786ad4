"""Header bits are what travels: nothing inside a switch, every tag that a walk shows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given

from experiments.comparison.decide.header_bits import header_bits
from mininet_topos.catalogue import load_topology
from mininet_topos.toy import TOYS
from ryu_apps.plan import rows
from ryu_apps.plan.ids import VLAN_PRESENT
from ryu_apps.plan.options import PlanOptions
from tests.examples import examples
from tests.verify.networks import case_of, connected, send


def plan(*actions: rows.Action, groups: tuple[rows.GroupRow, ...] = ()) -> rows.RulePlan:
    return rows.RulePlan(1, "s1", (rows.FlowRow(0, 1, (), actions),), groups)


def entries(*labels: int) -> tuple[rows.Action, ...]:
    return tuple(each for label in labels for each in (rows.PushMpls(), rows.SetField("mpls_label", label)))


@pytest.mark.parametrize(
    ("actions", "bits"),
    [
        ((), 0),
        ((rows.Output(3), rows.Load("reg2", 0, 32, 0xFFFF), rows.Load("in_port", 0, 16, 1)), 0),
        ((rows.Load("vlan_tci", 0, 16, VLAN_PRESENT | 5),), 2),
        ((rows.Load("vlan_tci", 13, 3, 6),), 2),
        ((rows.PushVlan(), rows.SetField("vlan_vid", VLAN_PRESENT | 5), rows.SetField("vlan_pcp", 1)), 3),
        ((rows.Learn(0, 1, 0, (), (rows.LearnLoad("vlan_tci", 0, 16, VLAN_PRESENT | 7),)),), 3),
        ((rows.Move("reg1", 0, "ip_dscp", 0, 6),), 6),
        (entries(0b11), 2),
        (entries(0b11, 0b100, 0b1), 9),
    ],
)
def test_bits_are_those_that_values_set(actions: tuple[rows.Action, ...], bits: int) -> None:
    assert header_bits([plan(*actions)]) == bits


def test_entries_of_a_row_and_of_the_fullest_bucket_of_its_group_add_up() -> None:
    group = rows.GroupRow(9, "ff", tuple(rows.Bucket(entries(*labels)) for labels in ((), (1,), (1, 1))))
    assert header_bits([plan(*entries(1), rows.Group(9), groups=(group,))]) == 3


def test_a_pair_of_plans_uses_what_either_uses() -> None:
    first, second = plan(rows.SetField("vlan_vid", VLAN_PRESENT | 1)), plan(rows.SetField("vlan_vid", VLAN_PRESENT | 3))
    assert header_bits([first, second]) == 2


@examples(15)
@given(connected(max_nodes=5, max_extra=3))
def test_every_tag_of_a_walk_is_within_the_bits(topology) -> None:
    for mode in ("learned", "agent"):
        options = PlanOptions(mode=mode, max_failures=1)
        seen = 0
        for failed in combinations(topology.link_ids, 1):
            case = case_of("sdfast", topology, options, failed)
            for pair in case.pairs:
                seen |= _tags(case.network(), *pair)
        assert (seen & ~VLAN_PRESENT).bit_count() <= header_bits(case.plans.values())


def _tags(network, source: int, target: int) -> int:
    found = 0
    for hop in send(network, source, target).hops:
        found |= hop.packet.vlan_tci
    return found


def test_both_modes_of_sdfast_use_the_same_tags() -> None:
    for name in TOYS:
        topology = load_topology(name)
        plans = [
            case_of("sdfast", topology, PlanOptions(mode=mode, notification="off"), ()).plans
            for mode in ("learned", "agent")
        ]
        learned, agent = (header_bits(each.values()) for each in plans)
        assert learned == agent
    without = [replace(each, flows=(), groups=(), backups=(), extensions=()) for each in plans[0].values()]
    assert header_bits(without) == 0
