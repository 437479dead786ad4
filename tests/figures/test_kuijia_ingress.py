"""`kuijia-ingress`: its trials, and what is made of their rows."""

from __future__ import annotations

from functools import cache

import pytest
from matplotlib import pyplot

from experiments.campaign.order import in_order, sessions, trial_row
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.figures.kuijia import ingress
from experiments.figures.kuijia.ingress import NOTIFIERS, Notifier
from tests.figures.found import FIGURES

AGENT, NEAR, FAR = NOTIFIERS


@cache
def trial_of() -> dict[str, Trial]:
    """A trial of each network."""
    return {trial.parameters.network: trial for trial in ingress.trials(CampaignPlan(quick=True, seed=1))}


def row(notifier: Notifier, number: int, *from_detection_ms: float | None) -> Json:
    """A failure that was noticed after 50 ms."""
    return {
        **trial_row(trial_of()[notifier.name], quick=True),
        "trial": f"{ingress.ID}/{notifier.name}-{number}",
        "noticed_ms": {},
        "bfd_interval_ms": 20,
        "ingresses": [
            {"node": f"s{place}", "from_failure_ms": None if ms is None else 50.0 + ms, "from_detection_ms": ms}
            for place, ms in enumerate(from_detection_ms)
        ],
    }


def rows() -> list[Json]:
    return [
        *(row(AGENT, number, 1.0 + number, 2.0) for number in range(10)),
        *(row(NEAR, number, 3.0, 4.0) for number in range(10)),
        row(FAR, 0, 13.0, None),
        {"trial": "kuijia-fig10/1", "kind": "flows", "status": "ok"},
        {**row(FAR, 1, 99.0), "trial": f"{ingress.ID}/broken", "status": "failed"},
    ]


def test_notifiers_meet_the_same_failures_and_each_has_a_network_of_its_own() -> None:
    trials = ingress.trials(CampaignPlan(quick=False, seed=1))
    assert len({trial.trial_id for trial in trials}) == len(trials)
    links_of = {
        notifier: [(each.round, each.links) for each in trials if each.parameters.network == notifier.name]
        for notifier in NOTIFIERS
    }
    assert links_of[AGENT] == links_of[NEAR] == links_of[FAR]
    assert len(links_of[AGENT]) >= 100
    assert len(sessions(in_order(trials))) == ingress.ROUNDS * len(NOTIFIERS)


def test_failures_are_of_different_links_that_carry_a_tunnel() -> None:
    links = [trial.links[0] for trial in ingress.trials(CampaignPlan(quick=True, seed=1))]
    first = links[: ingress.QUICK_FAILURES]
    assert len(set(first)) == ingress.QUICK_FAILURES
    assert first != [trial.links[0] for trial in ingress.trials(CampaignPlan(quick=True, seed=2))][: len(first)]


def test_update_times_are_pooled_over_ingresses_and_failures() -> None:
    typed = ingress.ROWS.read(rows())
    assert sorted(ingress.updates_ms(typed, AGENT, "from_detection_ms")) == sorted(
        [*(1.0 + number for number in range(10)), *[2.0] * 10]
    )
    assert ingress.updates_ms(typed, FAR, "from_failure_ms") == [63.0]
    assert ingress.missed(typed) == {AGENT.name: 0, NEAR.name: 0, FAR.name: 1}


def test_percentiles_are_measured_and_the_paper_has_none() -> None:
    results = ingress.FIGURE.claims(rows())
    assert len(results) == 2 * 2 * len(NOTIFIERS)
    assert {each.verdict for each in results} == {"measured"}
    assert [each.verdict for each in FIGURES[ingress.ID].claims([])] == [
        each.verdict for each in FIGURES[ingress.ID].claims([])
    ]
    assert ingress.percentile_of([], 50) is None
    half = ingress.percentile_of([1.0, 2.0, 9.0], 50)
    assert half is not None
    assert half.value == 2.0


def test_the_table_says_how_many_updates_and_failures_there_were() -> None:
    found = ingress.FIGURE.table(rows())
    assert found.header == ingress.HEADER
    assert found.rows[0][:2] == ("agent", "the failure")
    assert [line[-2:] for line in found.rows] == [("20", "10")] * 4 + [("1", "1")] * 2
    assert ingress.FIGURE.table([]).rows == ()


@pytest.mark.parametrize("has_rows", [True, False])
def test_the_picture_has_a_line_for_every_notifier_that_was_measured(has_rows: bool) -> None:
    figure = ingress.FIGURE.draw(rows() if has_rows else [], "caption")
    lines = [line for axes in figure.axes for line in axes.lines]
    assert len(lines) == (2 * len(NOTIFIERS) if has_rows else 0)
    pyplot.close(figure)


def test_papers_own_command_runs_it_too() -> None:
    assert FIGURES[ingress.ID].with_paper == "kuijia"
