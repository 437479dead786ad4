"""Ids that change what is said to be the cause of a verdict: rows whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from experiments.campaign.draws.paths import hops_back
from experiments.campaign.draws.tunnel_traffic import Traffic
from experiments.campaign.values import Json, Trial
from experiments.campaign.verdicts import DIFFERS, HOLDS, MEASURED, UNDECIDED
from experiments.figures.kuijia import x_why_convergence, x_why_shares
from experiments.figures.sdfast import fig5, setup, x_knowledge, x_why_agents, x_why_controller, x_why_pairs
from mininet_topos.catalogue import load_topology
from tests.figures.found import FIGURES
from tests.figures.kuijia_rows import synthetic_rows
from tests.figures.synthetic import PLAN, rows_of


def knowing_after(per_switch_ms: float, steady_ms: float) -> list[Json]:
    """Rows in which the last agent of each network knows after so long a switch, and learned mode always alike."""

    def change(trial: Trial, row: Json) -> None:
        assert trial.variant is not None
        count = len(load_topology(trial.topology).node_names)
        last = (
            60.0 * (per_switch_ms < 0) + per_switch_ms * count + 0.1 * place_of(trial)
            if trial.variant.uses_agent
            else steady_ms
        )
        for place, each in enumerate(row["routes"], 1):
            each["knew_ms"] = last * place / len(row["routes"])

    return rows_of("x-why-agents", change=change)


def place_of(trial: Trial) -> int:
    """A number that differs from link to link."""
    return [str(link) for link in load_topology(trial.topology).link_ids].index(trial.links[0])


def test_agents_that_wake_in_turn_confirm_the_cause_and_agents_that_do_not_refute_it() -> None:
    order, share, *beside = x_why_agents.claims(knowing_after(1.5, 10.0))
    assert (order.verdict, share.verdict) == (HOLDS, HOLDS)
    assert {each.verdict for each in beside} == {MEASURED}
    order, *_ = x_why_agents.claims(knowing_after(-1.5, 10.0))
    assert order.verdict == DIFFERS
    order, share, *_ = x_why_agents.claims(knowing_after(3.0, 10.0))
    assert (order.verdict, share.verdict) == (HOLDS, DIFFERS)


def test_other_networks_do_not_enter_the_verdict_on_darkstrand() -> None:
    rows = knowing_after(3.0, 10.0)
    own = [row for row in rows if row["topology"] == setup.DARKSTRAND]
    assert x_knowledge.claims(rows) == x_knowledge.claims(own)


@pytest.mark.parametrize(("slow_ms", "verdict"), [(100.0, HOLDS), (19.0, DIFFERS)])
def test_only_a_slow_controller_that_backtracks_long_confirms_the_cause(slow_ms: float, verdict: str) -> None:
    def change(trial: Trial, row: Json) -> None:
        cbc = trial.variant == setup.CBC_AS_PAPER
        for each in row["directions"]:
            each["backtracking_ms"] = slow_ms if cbc else 20.0

    results = x_why_controller.claims(rows_of("x-why-controller", change=change))
    named = [each for each in results if each.name.startswith("backtracking time") and "205 ms" in each.name]
    assert [each.verdict for each in named] == [verdict] * 2
    assert {each.verdict for each in results if "205 ms" not in each.name} == {MEASURED}


def test_each_trial_has_as_many_pairs_whose_packets_backtrack_as_others() -> None:
    topology = load_topology(setup.USNET)
    for draw in x_why_pairs.draws_of(3, PLAN.seed):
        found = [any(hops_back(topology, pair, draw.links)) for pair in draw.pairs]
        assert found == [False] * x_why_pairs.PAIRS_OF_A_KIND + [True] * x_why_pairs.PAIRS_OF_A_KIND


@pytest.mark.parametrize(("lost", "verdict"), [(True, HOLDS), (False, DIFFERS)])
def test_ffg_that_loses_backtracking_pairs_only_confirms_the_cause(lost: bool, verdict: str) -> None:
    """When FFG loses pairs of both kinds, who was drawn is not the cause."""
    topology = load_topology(setup.USNET)

    def change(trial: Trial, row: Json) -> None:
        links = [link for link in topology.link_ids if str(link) in trial.links]
        for pair in row["pairs"]:
            backtracks = any(hops_back(topology, (pair["source"], pair["destination"]), links))
            drops = trial.variant == setup.FFG and (backtracks or not lost)
            for phase in pair["phases"].values():
                phase.update(goodput_mbps=0.3 if drops else 1.0, rtt_mean_ms=1.0)

    judged = [each for each in x_why_pairs.claims(rows_of("x-why-pairs", change=change)) if each.verdict != MEASURED]
    assert [each.verdict for each in judged if "throughput" in each.name and "FFG" in each.name] == [verdict]
    assert {each.verdict for each in judged if "FFG" not in each.name} == {HOLDS}


def test_pairs_of_a_kind_do_not_enter_the_figures_of_the_paper() -> None:
    own = rows_of("sdfast-fig5")
    assert fig5.claims([*own, *rows_of("x-why-pairs")]) == fig5.claims(own)


def test_datagrams_at_random_intervals_that_share_in_proportion_confirm_the_cause_and_others_do_not() -> None:
    """The fluid model shares a full link in proportion to what flows offer."""
    rows = synthetic_rows(x_why_shares.trials(PLAN))
    assert {flow["transport"] for row in rows for flow in row["flows"]} == {"udp"}
    equal = [row for row in rows if not row["parameters"]["random_intervals"]]
    keep(equal, "f1", "f2")
    assert {claim.verdict for claim in FIGURES["x-why-shares"].claims(rows)} == {HOLDS}
    keep([row for row in rows if row not in equal], "f2")
    found = {claim.name: claim.verdict for claim in FIGURES["x-why-shares"].claims(rows)}
    differ = ["change of f2, random intervals", "loss of f2, random intervals less equal ones"]
    assert [name for name, verdict in found.items() if verdict == DIFFERS] == differ
    assert not [each for each in FIGURES["kuijia-table2"].claims(rows) if each.measured is not None]


def test_four_flows_that_settle_at_once_confirm_the_cause_and_others_do_not() -> None:
    """Synthetic flows settle after 0.4 s under Kuijia and 12 s under rescaling."""
    rows = synthetic_rows(x_why_convergence.trials(PLAN))
    figure = FIGURES["x-why-convergence"]
    late = [row for row in rows if row["parameters"]["table"] is None]
    for row in late:
        row["flows"][0]["convergence_s"] = 19.0
    assert [claim.verdict for claim in figure.claims(rows)] == [HOLDS, HOLDS, MEASURED]
    assert figure.claims(rows)[2].measured == 19.0
    for row in rows:
        row["flows"][0]["convergence_s"] = 12.0
    assert [claim.verdict for claim in figure.claims(rows)] == [DIFFERS, UNDECIDED, MEASURED]


def test_convergence_is_explained_by_trials_of_tables_2_and_4() -> None:
    trials = x_why_convergence.trials(PLAN)
    known = {trial for name in ("kuijia-table2", "kuijia-table4") for trial in FIGURES[name].trials(PLAN)}
    assert set(trials) <= known
    assert len({trial.parameters.table for trial in trials}) == 2


def keep(rows: Sequence[Json], *names: str) -> None:
    """Let flows keep their rate."""
    for row in rows:
        for flow in row["flows"]:
            if flow["name"] in names:
                flow["after_mbps"] = flow["before_mbps"]


def test_only_the_intervals_between_datagrams_differ() -> None:
    trials = x_why_shares.trials(PLAN)
    flows = [Traffic(trial).flows for trial in trials]
    assert [{flow.interval_seed is None for flow in each} for each in flows] == [{True}, {False}] * (len(trials) // 2)
    assert [replace(flow, interval_seed=None) for flow in flows[1]] == list(flows[0])
    seeds = [flow.interval_seed for each in flows[1::2] for flow in each]
    assert len(set(seeds)) == len(seeds)
