"""Which ids and trials a command line means."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.campaign.selection import Request, choose_ids, describe, of_paper, refuse_changes, run_order, trials_of
from experiments.campaign.values import CampaignPlan
from mininet_topos.errors import BadInputError
from tests.campaign.figures import ALIASES, FIGURES

QUICK = CampaignPlan(quick=True, seed=1)


def test_ids_stand_once_and_in_the_order_of_the_registry() -> None:
    assert choose_ids(["x-decided", "fig-delay", "x-decided"], None, False, FIGURES, ALIASES) == (
        "fig-delay",
        "x-decided",
    )
    assert choose_ids(["fig-both"], None, False, FIGURES, ALIASES) == ("fig-delay", "fig-again")
    assert choose_ids([], "beyond", False, FIGURES, ALIASES) == ("x-decided",)
    assert choose_ids([], None, True, FIGURES, ALIASES) == tuple(FIGURES)


@pytest.mark.parametrize(
    ("asked", "paper", "every", "said"),
    [
        (["fig-dealy"], None, False, "'fig-dealy' is no id; did you mean 'fig-delay'?"),
        ([], "sqare", False, "--paper 'sqare' is not known; did you mean 'square'?"),
        ([], None, False, "nothing to reproduce"),
        (["fig-delay"], "square", False, "exclude each other"),
        ([], "square", True, "exclude each other"),
    ],
)
def test_what_cannot_be_meant_is_refused(asked: list[str], paper: str | None, every: bool, said: str) -> None:
    with pytest.raises(BadInputError) as refusal:
        choose_ids(asked, paper, every, FIGURES, ALIASES)
    assert said in str(refusal.value)


def test_trials_that_ids_share_run_once() -> None:
    by_id = trials_of(Request(("fig-delay", "fig-again"), QUICK), FIGURES)
    assert by_id["fig-delay"] == by_id["fig-again"]
    assert len(run_order(by_id)) == len(by_id["fig-delay"]) == 4


def test_variants_can_be_left_out_and_an_unknown_one_is_refused() -> None:
    by_id = trials_of(Request(("fig-delay",), QUICK, ("b",)), FIGURES)
    assert {one.variant.name for one in by_id["fig-delay"] if one.variant} == {"b"}
    with pytest.raises(BadInputError, match="--variants names 'c', no variant of fig-delay"):
        trials_of(Request(("fig-delay",), QUICK, ("c",)), FIGURES)


@pytest.mark.parametrize("variants", [None, ("a",)])
@pytest.mark.parametrize("plan", [QUICK, CampaignPlan(False, 7, 2)])
def test_a_request_survives_its_file(plan: CampaignPlan, variants: tuple[str, ...] | None) -> None:
    request = Request(("fig-delay",), plan, variants)
    assert Request.from_json(request.to_json()) == request
    with pytest.raises(BadInputError, match="does not say what was asked for"):
        Request.from_json({"ids": ["fig-delay"]})


def test_a_campaign_goes_on_only_with_its_own_trials() -> None:
    request = Request(("fig-delay",), QUICK)
    by_id = trials_of(request, FIGURES)
    description = describe(request, by_id)
    refuse_changes(description, by_id, "folder")
    assert description["figures"] == {"fig-delay": [one.trial_id for one in by_id["fig-delay"]]}
    description["trials"][0]["seed"] = 99
    with pytest.raises(BadInputError, match=r"has seed 1, stored is 99.*new folder"):
        refuse_changes(description, by_id, "folder")


def test_a_paper_brings_the_ids_that_explain_its_verdicts() -> None:
    explaining = replace(FIGURES["x-decided"], with_paper="square")
    assert of_paper("square", {**FIGURES, "x-decided": explaining}) == (*of_paper("square", FIGURES), "x-decided")
