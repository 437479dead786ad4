"""The trials of every figure: named once, drawn once, loaded without overload."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.crankback import find_case, longest_crankback
from experiments.campaign.draws.paths import draw_rounds, hops_back, primary_paths
from experiments.campaign.kinds.probed import WatchedParameters
from experiments.campaign.kinds.verify import VerifyParameters
from experiments.campaign.values import CampaignPlan, parameters_of
from experiments.figures.sdfast import setup
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Direction
from te_solver.routes import ResidualRoutes
from tests.examples import examples

FULL, QUICK = CampaignPlan(False, 3), CampaignPlan(True, 3)


def carried_mbps(name: str, links: tuple[str, ...], pairs: tuple[tuple[str, str], ...], mbps: float) -> float:
    """Load of the fullest direction with these links failed, counted link by link."""
    topology = load_topology(name)
    routes = ResidualRoutes(topology)
    table = routes.next_links(frozenset(topology.parse_link(link) for link in links))
    loads: Counter[Direction] = Counter()
    for node, target in pairs:
        while node != target:
            link = routes.links[table[topology.index_of[node], topology.index_of[target]]]
            loads[link.direction] += 1
            node = link.dst
    return mbps * max(loads.values())


@examples(10)
@given(st.integers(0, 1000), st.sampled_from(["darkstrand", "usnet"]))
def test_no_shortest_path_is_overloaded_and_the_fullest_is_well_used(seed: int, name: str) -> None:
    highest = Counter[int]()
    for trial in setup.mixed_trials(CampaignPlan(False, seed), name, setup.EVERY_NUMBER, [setup.CB]):
        assert trial.load is not None
        assert trial.load.udp_mbps is not None
        load = carried_mbps(name, trial.links, trial.pairs, trial.load.udp_mbps)
        assert load <= setup.FULLEST_LINK * setup.CAPACITY_MBPS
        highest[trial.round] = max(highest[trial.round], load)
    assert min(highest.values()) > 0.98 * setup.FULLEST_LINK * setup.CAPACITY_MBPS


def test_variants_and_numbers_of_failures_of_a_round_share_pairs_links_and_rate() -> None:
    by_round: dict[int, set[object]] = {}
    links: dict[tuple[int, int], set[object]] = {}
    for trial in setup.mixed_trials(FULL, "darkstrand", setup.EVERY_NUMBER, setup.ON_DARKSTRAND):
        by_round.setdefault(trial.round, set()).add((trial.pairs, trial.load))
        links.setdefault((trial.round, trial.failures), set()).add(trial.links)
        assert len(trial.links) == trial.failures
    assert {len(values) for values in by_round.values()} == {1}
    assert {len(values) for values in links.values()} == {1}
    assert len({pairs for values in by_round.values() for pairs in values}) == setup.FULL_ROUNDS


def test_a_quick_campaign_is_the_first_round_of_the_full_one() -> None:
    quick = {
        trial.trial_id: (trial.pairs, trial.links, trial.load)
        for trial in setup.mixed_trials(QUICK, "usnet", (0, 4), setup.ON_USNET)
    }
    full = {
        trial.trial_id: (trial.pairs, trial.links, trial.load)
        for trial in setup.mixed_trials(FULL, "usnet", (0, 4), setup.ON_USNET)
        if trial.round == 1
    }
    assert quick == full


def test_downloads_use_the_pairs_and_the_network_of_the_mixed_trials() -> None:
    mixed = {
        (trial.round, trial.failures): (trial.pairs, trial.links, trial.session_key)
        for trial in setup.mixed_trials(FULL, "darkstrand", (0, 4), [setup.CBC])
    }
    for trial in setup.download_trials(FULL, (0, 4), [setup.CBC]):
        assert mixed[trial.round, trial.failures] == (trial.pairs, trial.links, trial.session_key)


@pytest.mark.parametrize("plan", [FULL, QUICK])
def test_loads_are_swept_with_the_pairs_and_links_of_the_usual_load(plan: CampaignPlan) -> None:
    usual = {
        (trial.round, trial.failures): trial for trial in setup.mixed_trials(plan, "darkstrand", (1, 4), [setup.CB])
    }
    swept = list(setup.swept_trials(plan, (1, 4), [setup.CB]))
    assert len(swept) == len(usual) * len(setup.loads_of(plan))
    for trial in swept:
        other = usual[trial.round, trial.failures]
        assert (trial.pairs, trial.links, trial.session_key) == (other.pairs, other.links, other.session_key)
        share = parameters_of(trial, WatchedParameters).load
        assert trial.load is not None
        assert other.load is not None
        assert share is not None
        assert trial.load.udp_mbps == pytest.approx((other.load.udp_mbps or 0) * share / setup.FULLEST_LINK, rel=0.01)
    assert {0.5, 1.2} <= set(setup.loads_of(plan))


def test_busy_trials_take_pairs_of_the_draw_that_backtrack() -> None:
    draws = setup.draws_of("darkstrand", setup.FULL_ROUNDS, FULL.seed)
    for trial, draw in zip(setup.busy_trials(FULL, "darkstrand", [setup.CBC]), draws, strict=True):
        assert set(trial.pairs) <= set(draw.pairs)
        assert len(trial.pairs) == setup.BUSY_PAIRS
        assert all(max(hops_back(load_topology("darkstrand"), pair, draw.links)) >= 1 for pair in trial.pairs)


def test_a_switch_that_fails_takes_all_its_links_and_no_pair_of_its_own() -> None:
    topology = load_topology("darkstrand")
    primaries = primary_paths(topology)
    for trial in setup.node_trials(FULL, [setup.CB]):
        links = [topology.parse_link(name) for name in trial.links]
        (node,) = set.intersection(*({link.a, link.b} for link in links))
        assert {link for link in topology.link_ids if node in (link.a, link.b)} == set(links)
        for pair in trial.pairs:
            assert node not in pair
            assert node in {direction.src for direction in primaries[pair]}


def test_rounds_follow_the_plan() -> None:
    assert setup.rounds_of(FULL) == 5
    assert setup.rounds_of(QUICK) == 1
    assert setup.rounds_of(CampaignPlan(True, 1, rounds=2)) == 2


def test_flow_trials_fail_a_different_link_each_round_on_the_primaries_of_their_pairs() -> None:
    topology = load_topology("darkstrand")
    primaries = primary_paths(topology)
    trials = list(setup.flow_trials(FULL, [setup.LEARNED]))
    assert len({trial.links for trial in trials}) == setup.FULL_ROUNDS
    for trial in trials:
        (link,) = trial.links
        assert len(trial.pairs) == setup.FLOW_PAIRS
        for pair in trial.pairs:
            assert link in [str(topology.link_id(direction)) for direction in primaries[pair]]


def test_longest_walks_come_first() -> None:
    topology = load_topology("tail")
    sums = [
        sum(find_case(topology, *pair, link).hops_back for pair in pairs)
        for link, pairs in setup.longest_walks(topology)
    ]
    assert sums == sorted(sums, reverse=True)
    assert sums[0] >= longest_crankback(topology).hops_back


def test_verify_trials_try_all_single_failures_and_draw_the_others() -> None:
    for trial in setup.verify_trials(QUICK, ["darkstrand"], (1, 2)):
        assert trial.parameters == VerifyParameters(None if trial.failures == 1 else setup.QUICK_SAMPLE)


def test_every_bundled_topology_is_covered() -> None:
    assert {"usnet", "darkstrand", "gscale", "figure2"} <= set(setup.bundled_topologies())
    for name in setup.bundled_topologies():
        load_topology(name)


@pytest.mark.parametrize("plan", [FULL, QUICK])
def test_names_of_trials_are_unique(plan: CampaignPlan) -> None:
    trials = [
        *setup.mixed_trials(plan, "darkstrand", setup.EVERY_NUMBER, setup.ON_DARKSTRAND),
        *setup.mixed_trials(plan, "usnet", (0, 4), setup.ON_USNET),
        *setup.download_trials(plan, (0, 4), setup.RECOVERING),
        *setup.flow_trials(plan, setup.ENDING_THE_WALK),
        *setup.busy_trials(plan, "darkstrand", setup.BACKTRACKING),
        *setup.swept_trials(plan, setup.SWEPT_FAILURES, setup.RECOVERING),
        *setup.node_trials(plan, setup.RECOVERING),
        *setup.verify_trials(plan, setup.bundled_topologies(), (1, 2, 3, 4)),
        *setup.cost_trials(plan),
    ]
    assert len({trial.trial_id for trial in trials}) == len(trials)


@pytest.mark.slow
def test_draws_of_a_catalogue_topology_are_those_of_the_rule() -> None:
    assert setup.draws_of("darkstrand", 2, 9) == draw_rounds(load_topology("darkstrand"), 2, 9)
