"""Slots carry what traffic engineering says they should: the solver's fluid answer is the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.topology import FailureScenario, LinkId
from ryu_apps.plan.hash_ranges import N_SLOTS
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.sources import allocated_commodities
from ryu_apps.schemes import find_tunnel_scheme
from te_solver.demands import random_pairs, with_classes
from te_solver.network import to_network
from te_solver.responses import TrafficPlan, rate_rescale, rescale
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


def test_figure_1_is_what_the_solver_allocates() -> None:
    """24 Gbit/s over three tunnels of 10: links are used least when each carries 8."""
    problem = to_problem(to_network(figure1()), [Demand("s1", "s4", 24_000.0)])
    (traffic,) = allocated_commodities(solve(problem, SolveOptions("min-max-utilisation")))
    assert sorted(len(path) for path in traffic.paths) == [1, 2, 2]
    assert traffic.weights == pytest.approx([1 / 3] * 3, abs=1e-3)
