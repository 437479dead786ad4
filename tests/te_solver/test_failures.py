"""What schemes do when links fail: the paper's worked examples, laws, and guarantees by enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.topology import FailureScenario, LinkId
from te_solver.network import to_network
from te_solver.outcome import classify, evaluate
from te_solver.patterns import failed_mask, failure_masks, scenarios, worst_failed_tunnels
from te_solver.protection import ffc_plan, largest_loss, teavar_plan, value_at_risk
from te_solver.responses import TrafficPlan, limited, moved_by_weights, precomputed, rate_rescale, rescale
from te_solver.schemes import SCHEMES, SchemeOptions, fail, plan_schemes, respond
from te_solver.solve import SolveOptions
from te_solver.tunnels import to_problem
from te_solver.values import Allocation, Demand
from tests.examples import examples
from tests.te_solver.strategies import gnm_problem, problems

pytest.importorskip("cvxpy")

VERTEX = SchemeOptions(SolveOptions(base_point="vertex"))


def plan_of(problem, tunnel_mbps):
    rates = np.array(tunnel_mbps, dtype=np.float64)
    allocation = Allocation(problem, rates, "throughput", "centre", rates.sum(), rates.sum())
    return TrafficPlan(allocation, allocation.demand_mbps)


def figure_1():
    """Kuijia's Figure 1: s1 to s4 by s2, by s3 and directly, 8 Gbit/s each on links of 10; link s2-s4 fails.

    The text of the figure names only s1, s4 and the failed link: the direct third tunnel is our reading.
    """
    edges = ((1, 2), (2, 4), (1, 3), (3, 4), (1, 4))
    network = to_network(from_edges("figure1", numbered_nodes([""] * 4), edges, capacity_mbps=10_000.0))
    problem = to_problem(network, [Demand("s1", "s4", 24_000.0)])
    assert [tunnel.nodes for tunnel in problem.tunnels] == [("s1", "s4"), ("s1", "s2", "s4"), ("s1", "s3", "s4")]
    failed = network.failed_arcs(FailureScenario(links=frozenset({LinkId("s2", "s4")})))
    return problem, failed


def test_figure_1_rescaling_sends_12_and_12_where_10_fit():
    problem, failed = figure_1()
    plan = plan_of(problem, [8000.0] * 3)
    response = rescale(plan, problem.tunnels.down(failed))
    assert response.kept_mbps + response.moved_mbps == pytest.approx([12_000, 0, 12_000])
    outcome = evaluate(plan, response, failed)
    assert outcome.total.after_mbps == pytest.approx(20_000)
    assert outcome.classes["directly affected"].after_mbps == pytest.approx(16_000 * 10 / 12)


def test_figure_1_kuijia_delivers_8_and_2_on_both_tunnels():
    problem, failed = figure_1()
    plan = plan_of(problem, [8000.0] * 3)
    outcome = evaluate(plan, rate_rescale(plan, problem.tunnels.down(failed)), failed)
    assert outcome.kept_delivered_mbps == pytest.approx([8000, 0, 8000])
    assert outcome.moved_delivered_mbps == pytest.approx([2000, 0, 2000])
    assert outcome.aboriginal.lost == 0
    assert outcome.victim.after_mbps == pytest.approx(4000)


def test_figure_1_teavar_moves_no_more_than_a_tunnel_was_given():
    problem, failed = figure_1()
    plan = replace(plan_of(problem, [8000.0] * 3), granted_mbps=np.array([18_000.0]))
    response = limited(plan, problem.tunnels.down(failed))
    assert response.kept_mbps == pytest.approx([6000, 0, 6000])
    assert response.moved_mbps == pytest.approx([2000, 0, 2000])


def test_figure_3_weights_are_rescaled_to_0_6_and_0_4_or_split_0_3_to_0_2():
    problem, _ = figure_1()
    plan = plan_of(problem, [500.0, 300.0, 200.0])
    down = np.array([True, False, False])
    assert plan.allocation.splitting_weights == pytest.approx([0.5, 0.3, 0.2])
    rescaled = rescale(plan, down)
    assert (rescaled.kept_mbps + rescaled.moved_mbps) / 1000 == pytest.approx([0, 0.6, 0.4])
    assert rescaled.moved_queue.tolist() == [1, 1, 1]
    kuijia = rate_rescale(plan, down)
    assert kuijia.kept_mbps / 1000 == pytest.approx([0, 0.3, 0.2])
    assert kuijia.moved_mbps / 1000 == pytest.approx([0, 0.3, 0.2])
    assert kuijia.moved_queue.tolist() == [5, 5, 5]


def test_high_victims_displace_low_aboriginal_traffic_and_low_victims_go_first():
    # Kuijia section 4.3: queues 1, 6 before; 5, 7 for their victims.
    edges = ((1, 2), (1, 2))
    network = to_network(from_edges("twice", numbered_nodes([""] * 2), edges, capacity_mbps=100.0))
    problem = to_problem(network, [Demand("s1", "s2", 100.0, 1), Demand("s1", "s2", 100.0, 6)])
    plan = plan_of(problem, [50.0, 50.0, 50.0, 50.0])
    failed = network.failed_arcs(FailureScenario(links=frozenset({LinkId("s1", "s2", 0)})))
    outcome = evaluate(plan, rate_rescale(plan, problem.tunnels.down(failed)), failed)
    assert outcome.kept_delivered_mbps == pytest.approx([0, 50, 0, 0])
    assert outcome.moved_delivered_mbps == pytest.approx([0, 50, 0, 0])
    assert outcome.by_priority[1].lost == 0
    assert outcome.by_priority[6].after_mbps == 0
    rescaled = evaluate(plan, rescale(plan, problem.tunnels.down(failed)), failed)
    assert rescaled.by_priority[1].lost == 0
    assert rescaled.by_priority[6].after_mbps == 0


@st.composite
def planned(draw, priorities=(1, 6)):
    """Draw a plan that fits its network, and the failed arcs of one or two links."""
    problem = draw(problems(priorities=priorities))
    plan = plan_schemes(problem, ["kuijia"], VERTEX)["kuijia"]
    links = problem.network.topology.link_ids
    failed = draw(st.sets(st.sampled_from(links), min_size=1, max_size=2))
    return plan, problem.network.failed_arcs(FailureScenario(links=frozenset(failed)))


@given(planned())
@examples(60)
def test_moved_traffic_is_the_victims_of_every_demand_with_a_survivor(case):
    plan, failed = case
    problem = plan.problem
    down = problem.tunnels.down(failed)
    moved = moved_by_weights(plan, down)
    assert not moved[down].any()
    has_survivor = problem.per_demand((~down).astype(float)) > 0
    victims = problem.per_demand(np.where(down, plan.rates_mbps, 0.0))
    assert problem.per_demand(moved) == pytest.approx(np.where(has_survivor, victims, 0.0), abs=1e-9)


@given(planned())
@examples(60)
def test_kuijia_never_harms_aboriginal_traffic_of_the_victims_own_class_or_above(case):
    plan, failed = case
    down = plan.problem.tunnels.down(failed)
    outcome = evaluate(plan, rate_rescale(plan, down), failed)
    high = plan.problem.priorities[plan.problem.tunnels.pair_of] == 1
    assert outcome.kept_delivered_mbps[high] == pytest.approx(np.where(down, 0.0, plan.rates_mbps)[high])


@given(planned(priorities=(1,)))
@examples(60)
def test_precomputed_weights_deliver_at_least_what_original_ones_do_and_less_than_the_bound(case):
    plan, failed = case
    down = plan.problem.tunnels.down(failed)
    original = evaluate(plan, rate_rescale(plan, down), failed).total.after_mbps
    best = evaluate(plan, precomputed(plan, down, failed, VERTEX.solve), failed).total.after_mbps
    bound = evaluate(plan, respond("reoptimise", plan, failed, VERTEX), failed).total.after_mbps
    assert original <= best * (1 + 1e-6) + 1e-6
    assert best <= bound * (1 + 1e-6) + 1e-6


@given(planned())
@examples(40)
def test_the_second_program_is_left_out_only_where_it_would_deliver_no_more_of_the_first_class(case):
    # What later classes get depends on which of the first one's optima was taken, by either method.
    plan, failed = case
    down = plan.problem.tunnels.down(failed)
    slow = precomputed(plan, down, failed, SolveOptions(base_point="vertex"))
    fast = precomputed(plan, down, failed, SolveOptions(base_point="vertex", te_solver="fast"))
    for response in (slow, fast):
        outcome = evaluate(plan, response, failed)
        assert outcome.moved_delivered_mbps == pytest.approx(response.moved_mbps, rel=1e-6, abs=1e-6)
    priorities = plan.problem.priorities[plan.problem.tunnels.pair_of]
    first = priorities == priorities.min(initial=8)
    assert fast.moved_mbps[first].sum() == pytest.approx(slow.moved_mbps[first].sum(), rel=1e-6, abs=1e-6)


def test_classes_follow_the_links_that_victims_move_to():
    #   s1 === s2 --- s3 --- s4   s5 --- s6 : victims from s1 to s3 move to the twin link and go on over s2-s3.
    edges = ((1, 2), (1, 2), (2, 3), (3, 4), (5, 6))
    network = to_network(from_edges("classes", numbered_nodes([""] * 6), edges, capacity_mbps=100.0))
    demands = [("s1", "s2"), ("s1", "s3"), ("s2", "s4"), ("s3", "s4"), ("s5", "s6")]
    problem = to_problem(network, [Demand(a, b, 10.0) for a, b in demands])
    rates = np.full(len(problem.tunnels), 5.0)
    failed = network.failed_arcs(FailureScenario(links=frozenset({LinkId("s1", "s2", 0)})))
    down = problem.tunnels.down(failed)
    moved = moved_by_weights(plan_of(problem, rates), down)
    kind = classify(problem.tunnels, rates, moved, down)
    names = {}
    for tunnel, k in zip(problem.tunnels, kind.tolist(), strict=True):
        names.setdefault((tunnel.src, tunnel.dst), []).append(k)
    assert sorted(names["s1", "s2"]) == [0, 1]
    assert sorted(names["s1", "s3"]) == [0, 1]
    assert names["s2", "s4"] == [1]
    assert names["s3", "s4"] == [2]
    assert names["s5", "s6"] == [3]


@given(planned())
@examples(40)
def test_class_volumes_add_up(case):
    plan, failed = case
    outcome = evaluate(plan, rescale(plan, plan.problem.tunnels.down(failed)), failed)
    for side in ("before_mbps", "after_mbps"):
        parts = [getattr(volume, side) for volume in outcome.classes.values()]
        assert sum(parts) == pytest.approx(getattr(outcome.total, side), abs=1e-9)
        by_priority = [getattr(volume, side) for volume in outcome.by_priority.values()]
        assert sum(by_priority) == pytest.approx(getattr(outcome.total, side), abs=1e-9)
    assert outcome.total.before_mbps == pytest.approx(plan.rates_mbps.sum())


@pytest.mark.parametrize("failures", [1, 2, 3])
@pytest.mark.parametrize("base_point", ["centre", "vertex"])
def test_ffc_congests_under_no_failure_up_to_k(failures, base_point):
    problem = gnm_problem(4, nodes=8, links=16, pairs=6)
    plan = ffc_plan(problem, failures, base_point)
    links = problem.network.topology.link_ids
    for size in range(failures + 1):
        for failed in itertools.combinations(links, size):
            arcs = problem.network.failed_arcs(FailureScenario(links=frozenset(failed)))
            response = rescale(plan, problem.tunnels.down(arcs))
            assert evaluate(plan, response, arcs).total.after_mbps == pytest.approx(plan.granted_mbps.sum(), abs=1e-6)
            loads = problem.tunnels.arc_loads(response.kept_mbps + response.moved_mbps)
            assert (loads <= problem.network.capacity_mbps * (1 + 1e-9)).all()


@given(problems(max_demands=4), st.integers(1, 3))
@examples(25)
def test_ffc_by_patterns_equals_the_enumerated_program_and_its_bound_holds(problem, failures):
    grouped = ffc_plan(problem, failures, "vertex")
    enumerated = ffc_plan(problem, failures, "vertex", grouped=False)
    assert grouped.allocation.value == pytest.approx(enumerated.allocation.value, rel=1e-7, abs=1e-7)
    for plan in (grouped, enumerated, ffc_plan(problem, failures)):
        assert plan.allocation.value <= plan.allocation.bound + 1e-6
        assert plan.allocation.gap <= 1e-5


def test_ffc_protecting_more_grants_less():
    problem = gnm_problem(4, nodes=8, links=16, pairs=6)
    granted = [ffc_plan(problem, failures).granted_mbps.sum() for failures in (1, 2, 3)]
    assert sorted(granted, reverse=True) == granted
    assert granted[0] <= plan_schemes(problem, ["kuijia"], SchemeOptions())["kuijia"].granted_mbps.sum()


@given(st.lists(st.integers(0, 15), max_size=6), st.integers(1, 3))
def test_worst_failed_tunnels_cover_every_failure_set(masks, failures):
    worst = worst_failed_tunnels(masks, failures)
    for size in range(failures + 1):
        for chosen in itertools.combinations(masks, size):
            down = 0
            for mask in chosen:
                down |= mask
            assert any(down & other == down for other in worst)
    assert all(a & b != a for a in worst for b in worst if a != b)


def test_failure_masks_name_the_tunnels_that_fail():
    problem = gnm_problem(2)
    for link in range(len(problem.network.topology.link_ids)):
        down = problem.tunnels.down(problem.network.link_of == link)
        for number, mask in enumerate(failure_masks(problem)):
            first, last = problem.tunnels.pair_starts[number : number + 2]
            bits = sum(1 << place for place in range(last - first) if down[first + place])
            assert failed_mask(mask, [link]) == bits


def test_merged_scenarios_keep_the_probability():
    problem = gnm_problem(2)
    chances = [0.01] * len(problem.network.topology.link_ids)
    apart, together = (scenarios(problem, chances, 2, merged=merged) for merged in (False, True))
    assert len(together) < len(apart)
    assert sum(s.probability for s in together) == pytest.approx(sum(s.probability for s in apart))
    links = len(chances)
    all_sets = sum(0.01**k * 0.99 ** (links - k) * n for k, n in enumerate((1, links, links * (links - 1) / 2)))
    assert sum(s.probability for s in apart) == pytest.approx(all_sets)


@pytest.mark.parametrize("failures", [1, 2])
def test_teavar_by_patterns_equals_the_enumerated_program(failures):
    problem = gnm_problem(6, nodes=8, links=12, pairs=5)
    chances = [0.02] * len(problem.network.topology.link_ids)
    for availability in (0.5, 0.9, 0.99):
        plans = [
            teavar_plan(problem, chances, availability, failures, point, grouped=grouped)
            for point in ("centre", "vertex")
            for grouped in (True, False)
        ]
        values = [plan.allocation.value for plan in plans]
        assert values == pytest.approx([values[0]] * 4, abs=1e-6)
        assert all(plan.allocation.gap <= 1e-5 for plan in plans)


def test_teavar_value_is_the_tail_mean_of_the_largest_loss():
    problem = gnm_problem(6, nodes=8, links=12, pairs=5)
    chances = [0.05] * len(problem.network.topology.link_ids)
    cases = scenarios(problem, chances, 1, merged=False)
    served = [d for d in range(len(problem.demands)) if problem.demands_mbps[d] > 0]
    given_mbps = plan_schemes(problem, ["kuijia"], VERTEX)["kuijia"].allocation.tunnel_mbps
    losses = [largest_loss(problem, given_mbps, case.down, served) for case in cases]
    weights = [case.probability for case in cases]
    rest = 1 - sum(weights)

    def tail(alpha, beta):
        excess = sum(w * max(0.0, loss - alpha) for w, loss in zip([*weights, rest], [*losses, 1.0], strict=True))
        return alpha + excess / (1 - beta)

    for beta in (0.5, 0.8, 0.95):
        wanted = min(tail(alpha, beta) for alpha in [0.0, *losses, 1.0])
        assert value_at_risk(problem, given_mbps, cases, beta, served) == pytest.approx(wanted)


def test_every_scheme_answers_every_failure_of_gscale():
    problem = to_problem(
        to_network(load_topology("gscale")),
        [Demand("s1", "s12", 1200.0), Demand("s5", "s9", 1200.0), Demand("s8", "s2", 900.0)],
    )
    plans = plan_schemes(problem, list(SCHEMES), SchemeOptions())
    for link in problem.network.topology.link_ids:
        after = {
            name: fail(name, plan, FailureScenario(links=frozenset({link})), SchemeOptions())
            for name, plan in plans.items()
        }
        for name, outcome in after.items():
            assert outcome.total.after_mbps <= outcome.total.before_mbps * (1 + 1e-6), name
            assert outcome.total.after_mbps <= after["reoptimise"].total.after_mbps * (1 + 1e-6) + 1e-6, name
        assert after["ffc1"].total.lost == pytest.approx(0, abs=1e-9)


def test_unusable_scheme_options_are_named():
    problem = gnm_problem(1)
    with pytest.raises(BadInputError, match="'magic'"):
        plan_schemes(problem, ["magic"], SchemeOptions())
    with pytest.raises(BadInputError, match="availability is 1"):
        plan_schemes(problem, ["teavar"], SchemeOptions(availability=1.0))
    with pytest.raises(BadInputError, match=r"probability -0\.1"):
        plan_schemes(problem, ["teavar"], SchemeOptions(failure_probability=-0.1))
    with pytest.raises(BadInputError, match="at least 1"):
        ffc_plan(problem, 0)
