"""x-lossless on rows that are known: which cases are drawn, what a trial runs, how claims are judged."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.campaign.kinds.lossless import ROWS
from experiments.campaign.order import trial_row
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.figures.beyond import x_lossless
from experiments.testbed.trials.lossless_trial import scenario_of
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from tests.figures.found import FIGURES

FIGURE = FIGURES[x_lossless.ID]
QUICK, FULL = (CampaignPlan(quick=quick, seed=3) for quick in (True, False))


def row_of(trial: Trial) -> dict[str, Any]:
    assert trial.variant is not None
    alone, silent = trial.variant.scheme == "sdfast", trial.parameters.failure == "silent"
    lost = (500 if silent else 3) if alone else 0
    return {
        **trial_row(trial, True),
        "parameters": trial.parameters.to_json(),
        "pair": list(trial.pairs[0]),
        "rate_pps": 800.0,
        "sent": 10_000,
        "lost": lost,
        "duplicated": 0 if alone else 90,
        "reordered": 0 if alone else 4,
        "backtracked": 6,
        "outages_ms": [lost / 1.6, lost / 1.6],
    }


def rows_of(plan: CampaignPlan = FULL) -> list[dict[str, Any]]:
    return [row_of(trial) for trial in FIGURE.trials(plan)]


def own(rows: list[dict[str, Any]], variant: Variant) -> list[dict[str, Any]]:
    return [row for row in rows if row["variant"] == variant.name]


def verdicts(rows: list[dict[str, Any]]) -> list[str]:
    return [result.verdict for result in FIGURE.claims(rows) if result.band is not None]


def test_every_case_backtracks_from_a_link_of_its_own_and_the_longest_comes_first() -> None:
    cases = x_lossless.draw_cases(6, seed=3)
    assert cases == x_lossless.draw_cases(6, seed=3)
    assert cases != x_lossless.draw_cases(6, seed=4)
    assert len({case.link for case in cases}) == 6
    assert cases[0].hops_back == max(case.hops_back for case in cases) == 5
    assert min(case.hops_back for case in cases) >= 1


def test_a_case_is_run_by_every_variant_with_both_sorts_of_failure_and_in_a_quick_run_with_one() -> None:
    for plan, sorts in ((FULL, [2] * x_lossless.CASES), (QUICK, [1] * x_lossless.QUICK_CASES)):
        failures: dict[str, set[str]] = {}
        variants: dict[str, set[str]] = {}
        for trial in FIGURE.trials(plan):
            assert trial.variant is not None
            failures.setdefault(trial.links[0], set()).add(trial.parameters.failure)
            variants.setdefault(trial.links[0], set()).add(trial.variant.name)
        assert [len(found) for found in failures.values()] == sorts
        assert all(found == set(x_lossless.LABELS) for found in variants.values())
    assert {trial.parameters.failure for trial in FIGURE.trials(QUICK)} == set(x_lossless.FAILURES)


def test_a_trial_is_a_scenario_with_one_failure_that_lasts_and_ports_that_keep_only_for_the_variant_with_sqr() -> None:
    topology = load_topology(x_lossless.TOPOLOGY)
    for trial in FIGURE.trials(QUICK):
        scenario = scenario_of(trial, topology)
        (variation,), (failure,), (traffic,) = scenario.variations, scenario.failures, scenario.traffic
        assert str(failure.link) == trial.links[0]
        assert failure.repair_at_s is None
        assert (traffic.source, traffic.destination) == trial.pairs[0]
        assert (variation.replay is not None) == (variation.scheme == "lossless")
        assert variation.replay is None or variation.replay.links == trial.links


def test_a_trial_on_another_topology_is_refused() -> None:
    trial = FIGURE.trials(QUICK)[0]
    with pytest.raises(BadInputError, match="which is no link of"):
        scenario_of(trial, load_topology("gscale"))


def test_one_lost_packet_with_sqr_breaks_the_claim() -> None:
    rows = rows_of()
    assert verdicts(rows) == ["holds"] * 6
    own(rows, x_lossless.LOSSLESS)[-1]["lost"] = 1
    assert verdicts(rows)[0] == "differs"


def test_a_case_that_sends_nothing_back_was_no_crankback() -> None:
    rows = rows_of()
    own(rows, x_lossless.LOSSLESS)[0]["backtracked"] = 0
    assert verdicts(rows)[1] == "differs"


def test_losses_without_sqr_are_held_to_rate_and_outage_of_silent_failures() -> None:
    rows = rows_of()
    for row in own(rows, x_lossless.SDFAST):
        row["outages_ms"] = [1000.0, 1000.0]
    assert verdicts(rows)[2] == "differs"
    assert x_lossless.by_outage(x_lossless.rows_of(ROWS.read(rows), x_lossless.LOSSLESS)) is None


def test_without_rows_nothing_is_claimed_and_pictures_still_draw() -> None:
    assert {result.verdict for result in FIGURE.claims([])} == {"no data"}
    for rows in ([], rows_of(QUICK)):
        assert FIGURE.draw(rows, "a caption").axes
        table = FIGURE.table(rows)
        assert all(len(row) == len(table.header) for row in table.rows)
        assert len(table.rows) == len(rows)
