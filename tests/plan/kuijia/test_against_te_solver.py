"""Slots carry what traffic engineering says they should: the solver's fluid answer is the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.topology import FailureScenario, LinkId
from ryu_apps.plan.hash_ranges import N_SLOTS
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.sources import allocated_commodities, plan_traffic, planned_commodities
from ryu_apps.plan.slot_layers import holding, kuijia_layers
from ryu_apps.schemes import find_tunnel_scheme
from te_solver.demands import random_pairs, with_classes
from te_solver.network import to_network
from te_solver.responses import TrafficPlan, precomputed, rate_rescale, rescale
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem
from te_solver.values import Allocation, Demand
from tests.plan.kuijia.networks import figure1

GSCALE = load_topology("gscale")


def allocate(count: int, seed: int) -> Allocation:
    demands = with_classes(random_pairs(GSCALE, count, 1200.0, seed), low_to_high=10)
    return solve(to_problem(to_network(GSCALE), demands), SolveOptions())


ALLOCATION = allocate(10, 7)
PLAN = TrafficPlan(ALLOCATION, ALLOCATION.demand_mbps)


@pytest.mark.slow
@pytest.mark.parametrize("link", GSCALE.link_ids, ids=str)
@pytest.mark.parametrize(("scheme", "respond"), [("kuijia", rate_rescale), ("rescaling", rescale)])
def test_slots_after_a_failure_carry_what_the_solver_moves(scheme: str, respond: object, link: LinkId) -> None:
    down = ALLOCATION.problem.tunnels.down(ALLOCATION.problem.network.failed_arcs(FailureScenario(frozenset({link}))))
    answer = respond(PLAN, down)  # type: ignore[operator]
    planner = TunnelPlanner(
        find_tunnel_scheme(scheme), GSCALE, allocated_commodities(ALLOCATION), TunnelOptions("eight")
    )
    ingress_entries = {
        (ingress_entry.commodity.pair, ingress_entry.commodity.priority): ingress_entry
        for ingress_entries in planner.ingress_entries.values()
        for ingress_entry in ingress_entries
    }
    starts = ALLOCATION.problem.tunnels.pair_starts
    for number, demand in enumerate(ALLOCATION.problem.demands):
        ingress_entry = ingress_entries[(demand.src, demand.dst), demand.priority]
        mbps_per_slot = PLAN.granted_mbps[number] / N_SLOTS
        kept, moved = np.zeros(starts[number + 1] - starts[number]), np.zeros(starts[number + 1] - starts[number])
        for piece in planner.holding(ingress_entry, [frozenset({link})]):
            assert piece.tunnel is not None
            (moved if piece.victim else kept)[piece.tunnel] += piece.slots.size * mbps_per_slot
        mine = slice(starts[number], starts[number + 1])
        room = 3 * mbps_per_slot + 1e-6  # one slot for the base partition, one for each of two failures after it
        if scheme == "rescaling":
            assert kept + moved == pytest.approx(answer.kept_mbps[mine] + answer.moved_mbps[mine], abs=room)
        else:
            assert kept == pytest.approx(answer.kept_mbps[mine], abs=room)
            assert moved == pytest.approx(answer.moved_mbps[mine], abs=room)
            tagged = {ingress_entry.traffic.victim.queue_id}
            assert set(answer.moved_queue[mine]) == tagged


@pytest.fixture(scope="module")
def precomputing() -> TunnelPlanner:
    commodities = planned_commodities(PLAN, SolveOptions(), precomputes=True)
    return TunnelPlanner(find_tunnel_scheme("precomputed"), GSCALE, commodities, TunnelOptions("eight"))


@pytest.mark.slow
@pytest.mark.parametrize("link", GSCALE.link_ids[::4], ids=str)
def test_victims_are_split_as_the_second_program_of_their_link_says(precomputing: TunnelPlanner, link: LinkId) -> None:
    problem = ALLOCATION.problem
    failed_arcs = problem.network.failed_arcs(FailureScenario(frozenset({link})))
    answer = precomputed(PLAN, problem.tunnels.down(failed_arcs), failed_arcs, SolveOptions())
    starts, compared = problem.tunnels.pair_starts, 0
    for number, demand in enumerate(problem.demands):
        placed = answer.moved_mbps[starts[number] : starts[number + 1]]
        if placed.sum() > 0:
            moved = slots_of(precomputing, demand, link)[1]
            assert moved == pytest.approx(moved.sum() * placed / placed.sum(), abs=2)
            compared += 1
    assert compared


def test_weights_of_a_link_hold_while_it_failed_alone(precomputing: TunnelPlanner) -> None:
    """And weights that differ from the original ones reach the slots."""
    first, second = GSCALE.link_ids[4:6]
    changed = 0
    for entry in (each for entries in precomputing.ingress_entries.values() for each in entries):
        commodity = entry.commodity
        known = dict(commodity.failure_weights)
        assert commodity.victim_weights(GSCALE, [frozenset({first, second})]) == commodity.weights
        if first in known:
            assert commodity.victim_weights(GSCALE, [frozenset({first})]) == known[first]
            assert commodity.victim_weights(GSCALE, [frozenset({first}), frozenset({second})]) == known[first]
            plain = kuijia_layers(entry.base, commodity.weights, [commodity.down(GSCALE, [first])])
            changed += holding(entry.base, plain) != precomputing.holding(entry, [frozenset({first})])
    assert changed


@pytest.mark.slow
def test_no_single_failure_congests_what_ffc_grants() -> None:
    problem = ALLOCATION.problem
    plan = plan_traffic(problem, SolveOptions(), reserved_failures=1)
    commodities = planned_commodities(plan, SolveOptions(), precomputes=False)
    planner = TunnelPlanner(find_tunnel_scheme("ffc1"), GSCALE, commodities, TunnelOptions("eight"))
    assert 0 < plan.granted_mbps.sum() < ALLOCATION.demand_mbps.sum()
    slot_mbps = plan.granted_mbps / N_SLOTS
    for link in GSCALE.link_ids:
        rates = np.concatenate(
            [sum(slots_of(planner, each, link)) * slot for each, slot in zip(problem.demands, slot_mbps, strict=True)]
        )
        rounding = 3 * problem.tunnels.arc_loads(slot_mbps[problem.tunnels.pair_of])
        assert (problem.tunnels.arc_loads(rates) <= problem.network.capacity_mbps * (1 + 1e-6) + rounding).all()


def slots_of(planner: TunnelPlanner, demand: Demand, link: LinkId) -> tuple[np.ndarray, np.ndarray]:
    """Slots that every tunnel keeps, and those of victims on it, shape (tunnels,) each."""
    (entry,) = (
        entry
        for entry in planner.ingress_entries[demand.src]
        if (entry.commodity.dst, entry.commodity.priority) == (demand.dst, demand.priority)
    )
    found = np.zeros((2, len(entry.commodity.paths)))
    for piece in planner.holding(entry, [frozenset({link})]):
        if piece.tunnel is not None:
            found[int(piece.victim), piece.tunnel] += piece.slots.size
    return found[0], found[1]


def test_figure_1_is_what_the_solver_allocates() -> None:
    """24 Gbit/s over three tunnels of 10: links are used least when each carries 8."""
    problem = to_problem(to_network(figure1()), [Demand("s1", "s4", 24_000.0)])
    (traffic,) = allocated_commodities(solve(problem, SolveOptions("min-max-utilisation")))
    assert sorted(len(path) for path in traffic.paths) == [1, 2, 2]
    assert traffic.weights == pytest.approx([1 / 3] * 3, abs=1e-3)
