"""Rows of downloads."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from experiments.analysis.injected import Action, InjectedEvent
from experiments.campaign.values import CampaignPlan, Trial
from experiments.figures.sdfast import setup
from experiments.testbed.trials.decide.download import download_row
from experiments.testbed.trials.decide.row import PACKET_MEASURES, PairFacts


@pytest.fixture(scope="module")
def trial() -> Trial:
    (found,) = setup.download_trials(CampaignPlan(quick=True, seed=1), [4], [setup.CB])
    return found


@pytest.fixture(scope="module")
def facts(trial: Trial) -> dict[tuple[str, str], PairFacts]:
    return {pair: PairFacts((), (), joined=True, hops_back=None) for pair in trial.pairs}


@dataclass(frozen=True)
class Fetched:
    source: str
    destination: str
    start_s: float
    end_s: float | None
    received_bytes: int


def test_a_download_that_was_given_up_has_bytes_but_no_time(trial, facts) -> None:
    (first, second, *_) = trial.pairs
    fetched = [Fetched(*first, 10.0, 14.0, 500_000), Fetched(*second, 10.0, None, 200_000)]
    injected = [InjectedEvent(Action(0.5, n, live=False), 10.6 + n / 1000, 10.601 + n / 1000) for n in range(4)]
    row = download_row(trial, fetched, injected, facts)
    done, given_up = (pair["download"] for pair in row["pairs"])
    assert done == {"seconds": 4.0, "bytes": 500_000, "finished": True, "goodput_mbps": 1.0}
    assert given_up == {"seconds": None, "bytes": 200_000, "finished": False, "goodput_mbps": None}
    assert row["failure_after_start_s"] == pytest.approx(0.6)
    assert row["failure_spread_ms"] == pytest.approx(4.0)
    assert {row["pairs"][0][name] for name in PACKET_MEASURES} == {None}
    assert json.loads(json.dumps(row)) == row


def test_without_a_failure_there_is_no_time_of_it(trial, facts) -> None:
    row = download_row(trial, [Fetched(*trial.pairs[0], 10.0, 12.0, 500_000)], [], facts)
    assert (row["failure_after_start_s"], row["failure_spread_ms"]) == (None, None)
    assert row["pairs"][0]["download"]["finished"]
