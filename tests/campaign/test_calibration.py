"""What calibration found, judged."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.campaign import calibration
from experiments.campaign.calibration import calibration_text, distrust_caption, judged, problems

FIT: dict[str, Any] = {
    "bfd_interval_ms": 20,
    "bfd": [{"interval_ms": 5, "flaps": 31, "seconds": 10}, {"interval_ms": 20, "flaps": 0, "seconds": 10}],
    "ping": {"sent": 4000, "lost": 0},
    "udp": {"offered_mbps": 6.0, "received_mbps": 6.0},
    "link": {"capacity_mbps": 5.0, "reached_mbps": 4.9},
    "full_link_flaps": 0,
    "full_link_delay_ms": {"control_ms": 1.0, "best_effort_ms": 90.0},
    "load_per_core": 0.4,
}
UNFIT: list[tuple[dict[str, Any], str]] = [
    ({"load_per_core": 1.7}, "host busy (load 1.70 a core)"),
    (
        {"bfd": [{"interval_ms": 20, "flaps": 3, "seconds": 10}]},
        "BFD flapped 3 times in 10 s at 20 ms without a failure",
    ),
    ({"ping": {"sent": 4000, "lost": 40}}, "40 of 4000 pings lost without a failure"),
    (
        {"udp": {"offered_mbps": 6.0, "received_mbps": 5.0}},
        "5 of 6 Mbit/s UDP arrived without a failure",
    ),
    ({"link": {"capacity_mbps": 5.0, "reached_mbps": 4.2}}, "link rate reached 4.2 of 5 Mbit/s"),
    ({"full_link_flaps": 2}, "BFD flapped 2 times on a full link"),
    (
        {"full_link_delay_ms": {"control_ms": 80.0, "best_effort_ms": 90.0}},
        "queue not strict: control packets wait 80 ms behind others' 90 ms",
    ),
]


def test_a_fit_machine_is_trusted() -> None:
    stored = judged(FIT)
    assert stored["trustworthy"]
    assert stored["problems"] == []
    assert distrust_caption(stored, [{"trustworthy": True}]) == ""
    assert calibration_text(stored) == (
        "calibration: BFD every 20 ms, link rate 4.9 of 5 Mbit/s, UDP 6 of 6 Mbit/s, 0 of 4,000 pings lost, "
        "load 0.40 a core"
    )


@pytest.mark.parametrize(("found", "said"), UNFIT, ids=[said for _, said in UNFIT])
def test_each_shortcoming_is_named_and_reaches_the_caption(found: dict[str, Any], said: str) -> None:
    stored = judged({**FIT, **found})
    assert stored["problems"] == [said]
    assert not stored["trustworthy"]
    assert distrust_caption(stored, []) == f"not trustworthy: {said}"
    assert calibration_text(stored).endswith(f"Not trustworthy: {said}")


def test_every_check_has_a_case() -> None:
    assert len(UNFIT) == len(calibration._CHECKS)


def test_what_was_not_measured_is_not_held_against_the_machine() -> None:
    assert problems({}) == ()
    assert problems(dict.fromkeys(FIT)) == ()
    assert problems({"link": {"capacity_mbps": 5.0, "reached_mbps": None}}) == ()


def test_a_campaign_without_load_says_that_nothing_was_measured() -> None:
    text = calibration_text(judged({**dict.fromkeys(FIT), "load_per_core": 0.5}))
    assert text.startswith("calibration: BFD every 20 ms, load 0.50 a core, nothing measured under load")


def test_flaps_at_an_interval_that_was_not_chosen_do_not_count() -> None:
    assert problems({**FIT, "bfd_interval_ms": 5}) == ("BFD flapped 31 times in 10 s at 5 ms without a failure",)
    assert problems(FIT) == ()


def test_doubtful_trials_are_counted_with_the_commonest_reason() -> None:
    rows = [
        {"trustworthy": False, "warnings": ["host busy"]},
        {"trustworthy": False, "warnings": ["host busy", "taps missed 3"]},
        {"trustworthy": True, "warnings": []},
        {},
    ]
    assert distrust_caption(None, rows) == "not trustworthy: 2 of 4 trials doubtful (host busy)"


def test_what_trusted_trials_say_too_is_no_reason_and_numbers_do_not_tell_reasons_apart() -> None:
    always = "link delays are not emulated: kernel 6.18"
    rows = [
        {"trustworthy": True, "warnings": [always]},
        {"trustworthy": False, "warnings": [always, "BFD flapped 35 times"]},
        {"trustworthy": False, "warnings": [always, "BFD flapped 166 times"]},
        {"trustworthy": False, "warnings": [always, "host busy"]},
    ]
    assert distrust_caption(None, rows) == "not trustworthy: 3 of 4 trials doubtful (BFD flapped 35 times)"
    assert distrust_caption(None, [*rows[:1], {"trustworthy": False, "warnings": [always]}]).endswith(
        "(no reason given)"
    )
