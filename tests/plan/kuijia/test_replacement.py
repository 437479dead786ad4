"""Traffic engineering runs again: no packet is lost on the way to the new plans, and no flow moves that need not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import PlanError
from mininet_topos.topology import Topology
from ryu_apps.plan.check import violations
from ryu_apps.plan.diff import diff, install_phases
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.crossing import cross
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.replacement import replacement_steps
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.plan.rows import RulePlan
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
@given(st.data())
def test_in_every_half_done_state_packets_arrive_and_flows_that_stay_do_not_move(data: st.DataObject) -> None:
    first = TunnelPlanner(KUIJIA, THETA, reweighted(data, THETA, data.draw(st.integers(1, 3))), TunnelOptions())
    failures = data.draw(st.sampled_from([[], [frozenset(THETA.link_ids[:1])]]))
    failed = frozenset().union(*failures)
    commodities = reweighted(data, THETA, data.draw(st.integers(1, 3)))
    second = TunnelPlanner(KUIJIA, THETA, commodities, TunnelOptions(), held=first.held(failures))
    (before,), (after,) = first.ingress_entries["s1"], second.ingress_entries["s1"]
    olds, news = (each.commodity.paths for each in (before, after))
    states = [first.plans(failures), *replacement_steps(first.plans(failures), second.plans(failures))]
    done = data.draw(st.integers(0, len(states) - 2))
    ahead = data.draw(st.sets(st.sampled_from(sorted(states[0]))))
    mixed = {dpid: states[done + (dpid in ahead)][dpid] for dpid in states[0]}
    network = running(THETA, mixed, failed)
    packet = Packet(0x0A000001, 0x0A000002)
    for slot in SAMPLES:
        old = next(piece.tunnel for piece in first.holding(before, failures) if slot in piece.slots)
        new = next(piece.tunnel for piece in second.holding(after, failures) if slot in piece.slots)
        if old is not None and new is not None:
            found = cross(network, "s1", packet, slot)
            assert found.delivered_to == "s2"
            assert found.links in (olds[old], news[new])


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
