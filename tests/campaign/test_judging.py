"""From rows to the result of an id."""

from __future__ import annotations

from experiments.campaign.judging import campaign_value, judge_figure, result_of
from experiments.campaign.order import trial_row
from experiments.campaign.values import CampaignPlan, Json
from tests.campaign.figures import FIGURES

FIGURE = FIGURES["fig-delay"]
TRIALS = FIGURE.trials(CampaignPlan(quick=True, seed=1))
NAMES = [trial.trial_id for trial in TRIALS]


def rows(delay_ms: float = 4.0) -> list[Json]:
    return [{**trial_row(trial, True), "delay_ms": delay_ms, "seconds": 2.0, "trustworthy": True} for trial in TRIALS]


def failed(row: Json, attempt: int) -> Json:
    return {**row, "status": "failed", "error": "the probe failed", "attempt": attempt}


def test_the_shape_is_that_of_the_design() -> None:
    result = result_of(judge_figure(FIGURE, NAMES, rows(), None), rows(), "here")
    assert {"id", "quick", "verdict", "claims", "trials", "failed_trials", "seconds", "folder"} <= set(result)
    assert {"name", "unit", "paper", "measured", "low", "high", "verdict"} <= set(result["claims"][0])
    assert (result["id"], result["quick"], result["verdict"]) == ("fig-delay", True, "holds")
    assert (result["trials"], result["failed_trials"], result["seconds"]) == (4, 0, 8.0)


def test_a_claim_that_differs_lacks_no_data() -> None:
    worse = judge_figure(FIGURE, NAMES, rows(delay_ms=9.0), None)
    assert worse.verdict == "direction"
    assert not worse.lacks_data


def test_failed_trials_are_named_and_stand_in_the_caption() -> None:
    good = rows()
    attempts = [failed(good[0], 1), failed(good[0], 2), *good[1:]]
    judged = judge_figure(FIGURE, NAMES, attempts, None)
    result = result_of(judged, attempts, "here")
    assert result["failed"] == [{"trial": NAMES[0], "error": "the probe failed"}]
    assert (result["attempts"], result["seconds"]) == (5, 10.0)
    assert "1 of 4 trials failed or are missing" in judged.caption
    assert not judged.lacks_data


def test_rows_of_a_mode_that_say_nothing_of_notification_were_measured_without() -> None:
    earlier = [{**row, "mode": mode} for row, mode in zip(rows(), ("agent", "none", "none", "none"), strict=True)]
    for row in earlier:
        del row["notification"]
    assert "measured with notification off" in judge_figure(FIGURE, NAMES, earlier, None).caption
    assert "notification" not in judge_figure(FIGURE, NAMES, earlier[1:], None).caption
    assert "notification" not in judge_figure(FIGURE, NAMES, rows(), None).caption


def test_an_attempt_that_failed_before_a_good_one_is_no_failed_trial() -> None:
    attempts = [failed(rows()[0], 1), *rows()]
    judged = judge_figure(FIGURE, NAMES, attempts, None)
    assert judged.failed == {}
    assert len(judged.rows) == 4


def test_without_a_good_trial_there_is_no_data() -> None:
    attempts = [failed(row, number) for row in rows() for number in (1, 2)]
    judged = judge_figure(FIGURE, NAMES, attempts, None)
    assert judged.verdict == "no data"
    assert judged.lacks_data
    assert judge_figure(FIGURE, NAMES, [], None).lacks_data


def test_a_claim_without_data_because_of_failures_is_distinguished() -> None:
    attempts = [failed(row, 2) if row["variant"] == "b" else row for row in rows()]
    judged = judge_figure(FIGURE, NAMES, attempts, None)
    assert (judged.verdict, judged.lacks_data) == ("no data", True)
    of_a = [name for name in NAMES if name.endswith("/a")]
    left_out = judge_figure(FIGURE, of_a, attempts, None)
    assert (left_out.verdict, left_out.lacks_data) == ("no data", False)


def test_rows_of_other_ids_do_not_enter() -> None:
    other = {**rows()[0], "trial": "elsewhere", "delay_ms": 1000.0, "variant": "b"}
    assert (
        judge_figure(FIGURE, NAMES, [*rows(), other], None).claims == judge_figure(FIGURE, NAMES, rows(), None).claims
    )


def test_distrust_reaches_the_caption() -> None:
    doubtful = [{**row, "trustworthy": False, "warnings": ["host busy"]} for row in rows()]
    calibration = {"problems": ["link rate reached 4.2 of 5 Mbit/s"]}
    caption = judge_figure(FIGURE, NAMES, doubtful, calibration).caption
    assert "not trustworthy: link rate reached 4.2 of 5 Mbit/s; 4 of 4 trials doubtful (host busy)" in caption
    assert "quick run" in caption


def test_a_campaign_counts_shared_trials_once() -> None:
    attempts = [failed(rows()[0], 1), failed(rows()[0], 2), *rows()[1:-1], {**rows()[-1], "trustworthy": False}]
    results = [
        result_of(judge_figure(FIGURES[name], NAMES, attempts, None), attempts, name)
        for name in ("fig-delay", "fig-again")
    ]
    value = campaign_value(results, attempts, {"folder": "here"})
    assert (value["trials"], value["failed_trials"], value["attempts"]) == (4, 1, 5)
    assert value["untrustworthy"] == [NAMES[-1]]
    assert value["verdicts"] == {"holds": 2, "direction": 0, "differs": 0} | dict.fromkeys(
        ("undecided", "by construction", "measured", "no data"), 0
    )
