"""`verify_scheme` as a whole: what is counted, what is promised, and that it does not depend on how it is run."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.verify import Request, verify_scheme
from experiments.verify import verify as verify_module
from experiments.verify.behaviour import Behaviour
from experiments.verify.cases import failure_masks
from experiments.verify.result import Notifying, Tally
from experiments.verify.verifier import Verifier
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError, PlanLimitError
from mininet_topos.toy import TOYS
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import FlowRow, Multipath, Output, match
from ryu_apps.schemes import find_scheme
from tests.examples import examples
from tests.verify.mutants import learn_without_tag, never_learn, retag_with_the_last_link_only
from tests.verify.networks import connected

DESIGN_KEYS = {
    *("topology", "planner", "scheme", "mode", "failures", "cases", "delivered", "disconnected", "looped", "dropped"),
    *("crankback_cases", "longest_crankback", "mean_stretch", "seconds", "cases_per_s"),
}
COMBINATIONS = list(product(("learned", "agent"), ("tree", "pair", "tunnels"), ("spt", "mst")))


def verify(topology, scheme="sdfast", failures=1, sample=None, jobs=1, **options):
    return verify_scheme(Request(topology, scheme, PlanOptions(**options), failures, sample), jobs)


def counts(result):
    """Everything but times and the number of processes."""
    return {name: value for name, value in result.to_json().items() if "seconds" not in name and name not in UNSTABLE}


UNSTABLE = ("cases_per_s", "jobs")


def never(*_case):
    """The promise of nothing."""
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "planner", "routes"), COMBINATIONS)
def test_sdfast_keeps_its_promise_on_gscale_in_every_mode_with_every_planner(mode, planner, routes):
    for failures in (1, 2):
        result = verify(
            load_topology("gscale"), failures=failures, mode=mode, planner=planner, routes=routes, max_failures=2
        )
        tally = result.tally
        assert result.holds
        assert tally.delivered == tally.promised == tally.cases - tally.disconnected > 0
        assert (tally.looped, tally.dropped, tally.backtracking_after_convergence) == (0, 0, 0)
        assert failures == 2 or tally.reply_backtracks == 0


@examples(40)
@given(connected(), st.sampled_from(COMBINATIONS), st.integers(1, 2))
def test_sdfast_keeps_its_promise_on_any_network(topology, combination, failures):
    mode, planner, routes = combination
    failures = min(failures, len(topology.link_ids))
    result = verify(topology, failures=failures, mode=mode, planner=planner, routes=routes, max_failures=failures)
    assert result.holds, result.tally.examples
    assert result.tally.delivered + result.tally.disconnected == result.tally.cases


@examples(40)
@given(connected(max_nodes=7), st.sampled_from(["ffg", "shortest"]), st.sampled_from(["spt", "mst"]))
def test_the_other_schemes_keep_theirs(topology, scheme, routes):
    result = verify(topology, scheme, routes=routes)
    assert result.holds, result.tally.examples
    assert scheme == "ffg" or result.tally.delivered == 0


@examples(40)
@given(connected(), st.integers(1, 3))
def test_cases_are_the_pairs_whose_primary_path_is_hit_and_disconnected_those_that_are_parted(topology, failures):
    failures = min(failures, len(topology.link_ids))
    result = verify(topology, failures=failures, max_failures=0)
    cases = parted = 0
    for mask in failure_masks(len(topology.link_ids), failures, None, 1):
        failed = {link for number, link in enumerate(topology.link_ids) if mask >> number & 1}
        component = topology.components(failed)
        hit = [pair for pair in product(topology.node_names, repeat=2) if primary_links(topology, *pair) & failed]
        cases += len(hit)
        parted += sum(component[source] != component[target] for source, target in hit)
    assert (result.tally.cases, result.tally.disconnected) == (cases, parted)


def primary_links(topology, source, target):
    """Links of the shortest path that takes the lowest neighbour, and of parallel links the first."""
    distance = nx.single_source_shortest_path_length(nx.Graph(topology.to_networkx()), target)
    links, node = set(), source
    while node != target:
        link = next(each for each in topology.links_from[node] if distance[each.dst] == distance[node] - 1)
        links.add(topology.link_id(link.direction))
        node = link.dst
    return links


def test_a_bridge_parts_pairs_whose_packets_are_dropped_and_never_looped():
    result = verify(TOYS["dumbbell"]())
    assert result.holds
    assert (result.tally.disconnected, result.tally.looped, result.tally.dropped) == (18, 0, 0)


def test_two_nodes_and_one_link_have_only_cases_that_are_cut_off():
    tally = verify(TOYS["pair"]()).tally
    assert (tally.cases, tally.disconnected, tally.promised) == (2, 2, 0)


def test_a_network_without_links_is_refused_with_a_reason():
    with pytest.raises(BadInputError, match="no links"):
        verify(replace(TOYS["pair"](), links=()))


def test_sdfast_that_loops_breaks_its_promise_even_where_delivery_is_not_promised(monkeypatch):
    result = corrupted_by(learn_without_tag, monkeypatch, max_failures=1, failures=2, sample=20)
    assert result.tally.promised == 0
    assert result.tally.broken == result.tally.looped > 0


@pytest.mark.parametrize("loop_free", [True, False])
def test_loops_break_a_promise_only_where_one_was_made(loop_free):
    topology = load_topology("darkstrand")
    plans = find_scheme("sdfast").plan(topology, PlanOptions(max_failures=1))
    corrupted = {dpid: learn_without_tag(plan) for dpid, plan in plans.items()}
    tally = Verifier(topology, corrupted, Behaviour("learned", never, loop_free)).tally([1 << 8, 1 << 9])
    assert tally.looped > 0
    assert tally.broken == (tally.looped if loop_free else 0)


def test_parallel_links_recover_to_the_same_neighbour():
    tally = verify(TOYS["parallel"](), failures=2).tally
    assert tally.delivered == tally.cases - tally.disconnected > 0


def test_more_failures_than_planned_are_reported_and_break_no_promise():
    result = verify(load_topology("gscale"), failures=3, sample=60, max_failures=1)
    assert result.holds
    assert result.tally.promised == 0
    assert result.tally.dropped > 0
    assert result.failure_sets == 60


def test_the_pair_planner_backtracks_only_where_there_is_no_other_way():
    assert verify(load_topology("usnet"), planner="pair", max_failures=1).tally.crankback_cases == 10


@pytest.mark.slow
def test_darkstrand_is_delivered_whole_and_backtracks_as_often_as_its_shape_asks():
    result = verify(load_topology("darkstrand"), planner="pair", max_failures=1)
    tally = result.tally
    assert (tally.cases, tally.delivered, tally.crankback_cases, tally.longest_crankback) == (3676, 3676, 1936, 5)
    assert result.mean_stretch == pytest.approx(1.1359, abs=1e-4)


def test_the_result_has_the_documented_keys_and_prints_as_json():
    value = verify(TOYS["figure2"]()).to_json()
    assert value.keys() >= DESIGN_KEYS
    assert json.loads(json.dumps(value)) == value
    assert verify(TOYS["figure2"](), "ffg").to_json()["mode"] == "none"


@pytest.mark.parametrize("jobs", [2, 3])
def test_what_is_found_does_not_depend_on_the_number_of_processes(jobs, monkeypatch):
    monkeypatch.setattr(verify_module, "CASES_PER_BATCH", 100)
    alone = verify(load_topology("gscale"), failures=2, sample=40)
    shared = verify(load_topology("gscale"), failures=2, sample=40, jobs=jobs)
    assert shared.jobs == jobs
    assert counts(shared) == counts(alone)


@pytest.mark.slow
def test_what_is_found_does_not_depend_on_the_size_of_batches(monkeypatch):
    whole = verify(load_topology("gscale"), failures=2, sample=40, mode="agent")
    monkeypatch.setattr(verify_module, "CASES_PER_BATCH", 1)
    assert counts(verify(load_topology("gscale"), failures=2, sample=40, mode="agent")) == counts(whole)


def test_progress_is_reported_batch_by_batch(monkeypatch):
    monkeypatch.setattr(verify_module, "CASES_PER_BATCH", 1)
    reported = []
    verify_scheme(Request(TOYS["square"](), "sdfast", PlanOptions()), 1, lambda *progress: reported.append(progress))
    assert reported == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_unknown_schemes_and_impossible_numbers_are_refused():
    with pytest.raises(BadInputError, match="did you mean 'sdfast'"):
        verify(TOYS["square"](), "sdfst")
    with pytest.raises(BadInputError, match="--failures is 5"):
        verify(TOYS["square"](), failures=5)
    with pytest.raises(BadInputError, match="--sample is 0"):
        verify(TOYS["square"](), sample=0)
    with pytest.raises(BadInputError, match="can fail in 7,888,725 ways; draw at most 1,000,000 with --sample N"):
        verify(load_topology("darkstrand"), failures=8)
    with pytest.raises(PlanLimitError, match="4094"):
        verify(load_topology("darkstrand"), max_failures=4)


def corrupted_by(corrupt, monkeypatch, **options):
    """Result on Darkstrand when the scheme's plans are corrupted."""
    sound = find_scheme("sdfast")

    def plan(topology, chosen):
        return {dpid: corrupt(each) for dpid, each in sound.plan(topology, chosen).items()}

    monkeypatch.setattr(verify_module, "find_route_scheme", lambda _name: replace(sound, plan=plan))
    return verify(load_topology("darkstrand"), **options)


def test_learned_rules_without_the_tag_are_seen_to_loop(monkeypatch):
    result = corrupted_by(learn_without_tag, monkeypatch, max_failures=1)
    assert not result.holds
    assert result.tally.looped > 0.1 * result.tally.cases
    assert result.tally.examples[0]["what"] == "looped while the network is partly updated"


@pytest.mark.slow
def test_a_tag_that_forgets_earlier_failures_is_seen_to_loop(monkeypatch):
    result = corrupted_by(retag_with_the_last_link_only, monkeypatch, max_failures=2, failures=2, sample=60)
    assert not result.holds
    assert result.tally.looped > 0


def test_a_network_that_never_learns_is_seen_to_go_on_backtracking(monkeypatch):
    result = corrupted_by(never_learn, monkeypatch, max_failures=1, notification="off")
    assert not result.holds
    assert result.tally.delivered == result.tally.cases
    assert result.tally.backtracking_after_convergence == result.tally.broken == 2145
    assert result.tally.examples[0]["what"] == "backtracks after convergence"


def test_an_agent_that_is_never_asked_is_seen_to_drop(monkeypatch):
    def deaf(plan):
        return replace(plan, flows=tuple(row for row in plan.flows if row.priority != 1000))

    result = corrupted_by(deaf, monkeypatch, mode="agent", max_failures=1)
    assert result.tally.dropped == result.tally.broken > 0


def test_plans_that_hash_are_walked_by_the_interpreter():
    topology = TOYS["square"]()
    plans = find_scheme("shortest").plan(topology, PlanOptions())
    spread = FlowRow(0, 60000, match(ip_proto=6), (Multipath("symmetric_l4", 1, "modulo_n", 4, "reg0"), Output(2)))
    whole = Verifier(topology, plans, Behaviour("none", never)).tally([1, 2])
    compiled = {dpid: replace(plan, flows=(spread, *plan.flows)) for dpid, plan in plans.items()}
    assert Verifier(topology, compiled, Behaviour("none", never)).tally([1, 2]) == whole
    used = {
        dpid: replace(
            plan,
            flows=tuple(
                replace(row, apply_actions=(spread.apply_actions[0], *row.apply_actions)) for row in plan.flows
            ),
        )
        for dpid, plan in plans.items()
    }
    assert Verifier(topology, used, Behaviour("none", never)).tally([1, 2]) == whole


def test_tallies_add_up():
    total = Tally(cases=1, longest_crankback=3, examples=[{"what": "a"}])
    total.add(Tally(cases=2, longest_crankback=2, examples=[{"what": str(number)} for number in range(9)]))
    assert (total.cases, total.longest_crankback, len(total.examples)) == (3, 3, 5)
    for part in (Tally(), Tally(notifying=Notifying()), Tally(cases=4), Tally(notifying=Notifying())):
        total.add(part)
    assert (total.cases, total.notifying) == (7, Notifying())
