"""What `armor reproduce` prints: verdicts in front, every judged claim once more at the end, nothing left out."""

from __future__ import annotations

from typing import Any

from experiments.campaign.act.registration import UNKNOWN
from experiments.campaign.order import NOT_RUN
from experiments.cli.reproduce_text import campaign_text, result_text


def claim(name: str, verdict: str) -> dict[str, Any]:
    """A claim as it stands in verdict.json."""
    band = None if verdict == "measured" else "at most 2"
    return {"name": name, "unit": "ms", "paper": 1.0, "measured": 1.5, "low": 1.0, "high": 2.0} | {
        "verdict": verdict,
        "band": band,
        "note": None,
    }


def result(name: str, *claims: dict[str, Any]) -> dict[str, Any]:
    """An id of a campaign whose trials are all good."""
    table = {"header": ("scheme", "ms"), "rows": (("a", "1.5"),)}
    return {"id": name, "quick": False, "title": "T", "claims": list(claims), "table": table} | {
        "verdict": "holds",
        "trials": 2,
        "failed_trials": 0,
        "caption": "",
    }


def campaign(*results: dict[str, Any]) -> dict[str, Any]:
    """The value of `armor reproduce --json`."""
    return {"results": list(results), "failed": [], "verdicts": {"holds": 1}, "trials": 2, "failed_trials": 0} | {
        "attempts": 2,
        "untrustworthy_trials": 0,
        "registration": UNKNOWN,
        "calibration": None,
        "folder": "results/x",
    }


def test_comparisons_without_a_band_are_counted_and_say_where_they_stand() -> None:
    text = result_text(result("fig", claim("judged", "holds"), claim("beside", "measured"), claim("too", "measured")))
    assert "judged" in text
    assert "beside" not in text
    assert "2 more comparisons, for which the paper gives no band: fig/verdict.json" in text


def test_every_verdict_of_every_id_stands_together_at_the_end() -> None:
    text = campaign_text(
        campaign(
            result("one", claim("first", "holds"), claim("beside", "measured")),
            result("two", claim("second", "differs"), claim("third", "no data")),
        )
    )
    verdicts = text[text.index("== Verdicts") :]
    assert [word in verdicts for word in ("first", "second", "third", "beside")] == [True, True, True, False]
    assert "1.5 [1, 2]" in verdicts


def test_a_single_id_is_not_reported_twice() -> None:
    assert campaign_text(campaign(result("one", claim("first", "holds")))).count("first") == 1


def test_failed_trials_are_named_and_those_to_come_counted() -> None:
    failed = [{"trial": "t/1", "error": "no answer"}, *({"trial": f"t/{n}", "error": NOT_RUN} for n in (2, 3))]
    text = campaign_text({**campaign(result("one", claim("first", "holds"))), "failed": failed, "trials": 5})
    assert "1 of 5 trials failed:\n  t/1: no answer" in text
    assert "2 of 5 trials have not run yet" in text
    assert "t/2" not in text
