"""Traffic engineering runs again: no packet is lost on the way to the new plans, and no flow moves that need not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import PlanError
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.check import violations
from ryu_apps.plan.choices import SHAPES
from ryu_apps.plan.diff import Operation, diff, flows_by_key, install_phases
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.crossing import Crossing, cross
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.replacement import replacement_steps
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.plan.rows import FlowRow, RulePlan
from ryu_apps.schemes import find_tunnel_scheme
from tests.examples import examples
from tests.plan.deltas import apply_delta
from tests.plan.kuijia.networks import figure1, figure1_traffic, path, running

KUIJIA = find_tunnel_scheme("kuijia")
THETA = load_topology("theta")
SAMPLES = range(0, 1024, 37)


def reweighted(data: st.DataObject, topology: Topology, tunnel_count: int) -> list[TunnelCommodity]:
    """Traffic between s1 and s2 over some tunnels with some weights."""
    (given_,) = equal_commodities(topology, [("s1", "s2")], tunnel_count)
    weights = data.draw(st.lists(st.floats(0.01, 1), min_size=len(given_.paths), max_size=len(given_.paths)))
    return [TunnelCommodity("s1", "s2", given_.paths, tuple(weights))]


@examples(25)
@given(st.data(), st.sampled_from(SHAPES))
def test_in_every_half_done_state_each_packet_takes_its_old_way_or_its_new_one(data: st.DataObject, shape: str) -> None:
    first = TunnelPlanner(KUIJIA, THETA, reweighted(data, THETA, data.draw(st.integers(1, 3))), TunnelOptions())
    failures = data.draw(st.sampled_from([[], [frozenset(THETA.link_ids[:1])]]))
    commodities = reweighted(data, THETA, data.draw(st.integers(1, 3)))
    second = TunnelPlanner(KUIJIA, THETA, commodities, TunnelOptions(), held=first.held(failures))
    old, new = first.plans(failures), second.plans(failures)
    states = [installed_plans(step, shape) for step in (old, *replacement_steps(old, new))]
    done = data.draw(st.integers(0, len(states) - 2))
    ahead = data.draw(st.sets(st.sampled_from(sorted(old))))
    mixed = {dpid: states[done + (dpid in ahead)][dpid] for dpid in old}
    failed = frozenset().union(*failures)
    assert_old_or_new(mixed, *(crossings(plans, failed) for plans in (old, new)), failed)


def crossings(plans: dict[int, RulePlan], failed: frozenset[LinkId] = frozenset()) -> list[Crossing]:
    """What becomes of a packet from s1 to s2, by slot."""
    network = running(THETA, plans, failed)
    return [cross(network, "s1", Packet(0x0A000001, 0x0A000002), slot) for slot in SAMPLES]


def assert_old_or_new(
    plans: dict[int, RulePlan], old: list[Crossing], new: list[Crossing], failed: frozenset[LinkId] = frozenset()
) -> None:
    for known, wanted, found in zip(old, new, crossings(plans, failed), strict=True):
        assert found in (known, wanted)
        assert found.delivered_to == "s2" or not found.links, "only a packet without a tunnel left is dropped, at s1"


def half_done(old: RulePlan, new: RulePlan) -> Iterator[RulePlan]:
    """A switch after each message; of two rows with equal priorities one matches first, then the other."""
    rows = flows_by_key(old)
    for command in (command for phase in install_phases(diff(old, new)) for command in phase.commands):
        assert isinstance(command.row, FlowRow)
        if command.operation is Operation.DELETE:
            del rows[command.row.key]
        else:
            rows[command.row.key] = command.row
        yield from (replace(old, flows=tuple(order)) for order in (rows.values(), reversed(rows.values())))


def test_without_bundles_each_packet_takes_its_old_way_or_its_new_one_after_each_message() -> None:
    one, other = (equal_commodities(THETA, [pair], 3)[0] for pair in (("s1", "s2"), ("s3", "s4")))
    first = TunnelPlanner(KUIJIA, THETA, [replace(one, weights=(1, 0.7, 0.3))], TunnelOptions())
    second = TunnelPlanner(
        KUIJIA, THETA, [replace(one, weights=(0.5, 0.7, 0.8)), other], TunnelOptions(), held=first.held()
    )
    old, new = first.plans(), second.plans()
    known, wanted = crossings(old), crossings(new)
    for before, after in pairwise((old, *replacement_steps(old, new))):
        for dpid in old:
            for at_work in half_done(before[dpid], after[dpid]):
                assert_old_or_new({**before, dpid: at_work}, known, wanted)


def test_only_the_slots_that_the_weights_move_are_moved() -> None:
    first = TunnelPlanner(KUIJIA, figure1(), (figure1_traffic((0.5, 0.3, 0.2)),), TunnelOptions())
    second = TunnelPlanner(KUIJIA, figure1(), (figure1_traffic((0.4, 0.3, 0.3)),), TunnelOptions(), held=first.held())
    old, new = (planner.holding(planner.ingress_entries["s1"][0]) for planner in (first, second))
    assert [(piece.slots.first, piece.slots.stop, piece.tunnel) for piece in old] == [
        (0, 512, 0),
        (512, 819, 1),
        (819, 1024, 2),
    ]
    assert [(piece.slots.first, piece.slots.stop, piece.tunnel) for piece in new] == [
        (0, 410, 0), (410, 512, 2), (512, 819, 1), (819, 1024, 2)
    ]  # fmt: skip


def test_the_same_decision_again_changes_no_row() -> None:
    first = TunnelPlanner(KUIJIA, figure1(), (figure1_traffic(),), TunnelOptions())
    second = TunnelPlanner(KUIJIA, figure1(), (figure1_traffic(),), TunnelOptions(), held=first.held())
    assert second.plans() == first.plans()
    assert replacement_steps(first.plans(), second.plans()) == (first.plans(),) * 3


def test_tunnels_are_there_before_they_are_used_and_go_after() -> None:
    square = load_topology("square")
    by_s2, by_s4 = (TunnelCommodity("s1", "s3", (path("s1", node, "s3"),), (1.0,)) for node in ("s2", "s4"))
    first = TunnelPlanner(KUIJIA, square, (by_s2,), TunnelOptions())
    second = TunnelPlanner(KUIJIA, square, (by_s4,), TunnelOptions(), held=first.held())
    counts = [
        {plan.node: sum(row.table_id == 6 for row in plan.flows) for plan in step.values()}
        for step in (first.plans(), *replacement_steps(first.plans(), second.plans()))
    ]
    assert [(count["s2"], count["s4"]) for count in counts] == [(4, 0), (4, 4), (4, 4), (0, 4)]


def test_each_step_is_sound_and_can_be_installed() -> None:
    first = TunnelPlanner(KUIJIA, figure1(), (figure1_traffic((0.5, 0.3, 0.2)),), TunnelOptions())
    second = TunnelPlanner(KUIJIA, figure1(), (figure1_traffic((1, 2, 3)),), TunnelOptions("eight"), first.held())
    before = first.plans()
    for step in replacement_steps(first.plans(), second.plans()):
        for dpid, plan in step.items():
            assert violations(plan) == ()
            delta = diff(before[dpid], plan)
            assert apply_delta(delta, before[dpid], plan) == plan
            assert install_phases(delta) is not None
        before = step
    assert before == second.plans()


def test_plans_of_different_networks_are_refused() -> None:
    with pytest.raises(PlanError, match=r"switches \[1\] cannot be replaced by plans of \[2\]"):
        replacement_steps({1: RulePlan(1, "s1")}, {2: RulePlan(2, "s2")})
