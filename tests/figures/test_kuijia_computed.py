"""Kuijia's ids that are computed: Figure 8 and the count of fields."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from experiments.campaign.act.discovery import find_kinds
from experiments.campaign.computed.fields import commodities
from experiments.campaign.computed.memory import SCOPES
from experiments.campaign.durations import campaign_seconds, needs_network, needs_root
from experiments.campaign.order import trial_row
from experiments.campaign.values import CampaignPlan, Json
from experiments.figures.kuijia import fields, fig8
from experiments.loadgen.computed import run_sweep
from ryu_apps.plan.choices import SHAPES
from ryu_apps.plan.kuijia.figure8 import figure8
from tests.figures.found import FIGURES

pytest.importorskip("cvxpy")
pytest.importorskip("matplotlib")


QUICK, FULL = CampaignPlan(quick=True, seed=1), CampaignPlan(quick=False, seed=1)
COMPUTED = {name: FIGURES[name] for name in (fig8.ID, fields.ID)}


def fake_points(decomposed: int, two_table: int = 50, numbers: Sequence[int] = range(1, 9)) -> list[Json]:
    """Replicated rows take 100 fields for each priority, others a multiple of their own."""
    return [
        {"n_priorities": n, "replicated": 100 * n, "two_table": two_table * n, "decomposed": decomposed * n}
        for n in numbers
    ]


def memory_rows(labels: int, every: int) -> list[Json]:
    values = {"labels": labels, "all": every}
    return [
        {**trial_row(trial, quick=False), "points": fake_points(values[trial.parameters.scope])}
        for trial in fig8.trials(FULL)
    ]


def field_rows(decomposed: float, plan: CampaignPlan = FULL) -> list[Json]:
    """Drawings differ by what they hold, and each is changed to the same share of it."""
    found = []
    for trial in fields.trials(plan):
        held = 1000 + 100 * trial.parameters.drawing
        shares = dict(zip(SHAPES, (1.0, (1 + decomposed) / 2, decomposed), strict=True))
        counts = {
            shape: {scope: {"rows": held, "fields": round(held * share)} for scope in fields.SCOPES}
            for shape, share in shares.items()
        }
        found.append({**trial_row(trial, quick=False), "counts": counts})
    return found


def rows_of(figure_id: str) -> list[Json]:
    return memory_rows(20, 10) if figure_id == fig8.ID else field_rows(0.5)


def words(figure: Any) -> str:
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text))


def test_computed_ids_need_neither_network_nor_root() -> None:
    for figure in COMPUTED.values():
        trials = figure.trials(FULL)
        assert not needs_network(trials, find_kinds())
        assert not needs_root(trials, find_kinds())
        assert len({trial.trial_id for trial in trials}) == len(trials)
        assert figure.paper == "kuijia"


def test_drawings_and_demands_make_trials_and_quick_makes_fewer() -> None:
    assert len(fields.trials(FULL)) == 10 * 3 * 2
    assert len(fields.trials(QUICK)) == 3 * 2
    assert {trial.round for trial in fields.trials(CampaignPlan(True, 1, rounds=5))} == {1, 2, 3, 4, 5}
    shared = {trial.trial_id: trial for trial in fields.trials(FULL)}
    assert all(shared[trial.trial_id] == trial for trial in fields.trials(QUICK))


def test_counting_fields_is_estimated_as_long_as_it_takes() -> None:
    assert campaign_seconds(fields.trials(FULL), find_kinds()) == pytest.approx(75)


def test_pairs_follow_seed_and_drawing_and_weights_are_those_of_the_allocation() -> None:
    first, second = (fields.trials(QUICK)[number].parameters for number in (0, 2))
    one, again, other = (commodities(each) for each in (first, first, second))
    assert one == again
    assert {(each.src, each.dst) for each in one} != {(each.src, each.dst) for each in other}
    assert len(one) == 2 * fields.PAIRS
    assert {each.priority for each in one} == {1, 6}
    assert all(sum(each.weights) == pytest.approx(1) and len(each.paths) <= fields.TUNNELS for each in one)
    assert any(max(each.weights) > 1.2 / len(each.weights) for each in one)
    assert commodities(replace(first, seed=2)) != one


@pytest.mark.slow
def test_a_row_of_the_memory_holds_the_points_of_figure_8() -> None:
    trial = fig8.trials(QUICK)[0]
    row = run_sweep(trial)
    assert [tuple(point.values()) for point in row["points"]] == list(map(tuple, figure8(SCOPES["labels"])))


def test_a_row_of_the_fields_counts_every_shape_and_the_label_tables_are_part_of_all() -> None:
    trial = next(each for each in fields.trials(QUICK) if each.parameters.setup == "single")
    counts = run_sweep(trial)["counts"]
    assert tuple(counts) == SHAPES
    sizes = [counts[shape]["all"]["fields"] for shape in SHAPES]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]
    for shape in SHAPES:
        assert all(0 < counts[shape]["labels"][what] < counts[shape]["all"][what] for what in ("rows", "fields"))


@pytest.mark.parametrize(
    ("per_priority", "verdicts"),
    [
        (36, ("by construction", "by construction")),
        (45, ("direction", "by construction")),
        (60, ("direction", "differs")),
    ],
)
def test_the_slope_and_what_is_saved_at_eight_are_judged_for_both_scopes(
    per_priority: int, verdicts: tuple[str, str]
) -> None:
    claims = COMPUTED[fig8.ID].claims(memory_rows(per_priority, 10))
    assert tuple(claim.verdict for claim in claims[:2]) == verdicts
    assert claims[0].measured == pytest.approx(per_priority / 100)
    assert claims[1].measured == pytest.approx(100 - per_priority)
    assert [claim.verdict for claim in claims[2:]] == ["measured", "by construction", "by construction", "measured"]


@pytest.mark.parametrize(("share", "verdict"), [(0.62, "holds"), (0.7, "direction"), (1.1, "differs")])
def test_a_mean_saving_of_38_percent_holds(share: float, verdict: str) -> None:
    judged, *beside = COMPUTED[fields.ID].claims(field_rows(share))
    assert judged.measured == pytest.approx(100 * (share - 1))
    assert judged.verdict == verdict
    assert judged.paper == pytest.approx(-38.1)
    assert {claim.verdict for claim in beside} == {"measured"}
    replicated = next(claim for claim in beside if claim.paper == 2552)
    assert replicated.measured == pytest.approx(1450)


def test_claims_without_rows_have_no_data() -> None:
    for figure in COMPUTED.values():
        assert {claim.verdict for claim in figure.claims([])} == {"no data"}
    half = COMPUTED[fig8.ID].claims(memory_rows(20, 10)[:1])
    assert [claim.verdict for claim in half] == ["by construction"] * 2 + ["measured", "no data", "no data", "no data"]


def test_rows_of_other_figures_are_left_out() -> None:
    mixed = [*memory_rows(20, 10), *field_rows(0.5)]
    for name, figure in COMPUTED.items():
        assert figure.claims(mixed) == figure.claims(rows_of(name))
        assert figure.table(mixed) == figure.table(rows_of(name))


@pytest.mark.parametrize("name", list(COMPUTED))
def test_tables_are_rectangular_and_empty_without_rows(name: str) -> None:
    found = COMPUTED[name].table(rows_of(name))
    assert found.rows
    assert {len(row) for row in found.rows} == {len(found.header)}
    assert len(set(found.rows)) == len(found.rows)
    assert COMPUTED[name].table([]).rows == ()


@pytest.mark.parametrize("name", list(COMPUTED))
def test_figures_are_drawn_with_their_caption_also_from_few_rows(name: str) -> None:
    rows = rows_of(name)
    for few in ([], rows[:1], rows[1::2], rows):
        figure = COMPUTED[name].draw(few, "Not trustworthy: $one$ of two_trials")
        figure.savefig(io.BytesIO(), format="png", dpi=20)
        assert "Not trustworthy: $one$ of two_trials" in words(figure)
        assert ("no good trial" in words(figure)) == (not few or (name == fig8.ID and len(few) == 1))
