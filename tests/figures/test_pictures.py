"""Every figure is drawn and tabled from rows alone, also when some are missing."""

from __future__ import annotations

import io
from typing import Any

import pytest

from experiments.campaign.act.discovery import aliases_of, find_figures
from experiments.campaign.values import CampaignPlan
from experiments.figures.sdfast import setup, x_packet_cost
from experiments.testbed.packet_cost import PATHS
from tests.figures.synthetic import FIGURES, rows_of

pytest.importorskip("matplotlib")

CAPTION = "Not trustworthy: $one$ of two_trials"


def words(figure: Any) -> str:
    """All text of a figure."""
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize("name", list(FIGURES))
def test_figures_are_drawn_with_their_caption(name: str) -> None:
    figure = FIGURES[name].draw(rows_of(name), CAPTION)
    picture = io.BytesIO()
    figure.savefig(picture, format="svg")
    assert len(picture.getvalue()) > 10_000
    assert CAPTION in words(figure)
    assert all(legend.get_window_extent().x1 <= figure.bbox.x1 for legend in figure.legends)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FIGURES))
def test_figures_are_drawn_when_trials_failed(name: str) -> None:
    rows = rows_of(name, CampaignPlan(quick=True, seed=2))
    for few in (rows[:1], rows[1::2], [row for row in rows if row["variant"] != "cbc-5ms"]):
        FIGURES[name].draw(few, "").savefig(io.BytesIO(), format="png", dpi=20)


@pytest.mark.parametrize("name", list(FIGURES))
def test_tables_are_rectangular_and_name_every_variant_once_for_each_case(name: str) -> None:
    rows = rows_of(name)
    table = FIGURES[name].table(rows)
    assert table.rows
    assert {len(row) for row in table.rows} == {len(table.header)}
    assert len(set(table.rows)) == len(table.rows)
    assert FIGURES[name].table([]).rows == ()


def test_trials_of_an_id_do_not_depend_on_which_other_ids_are_asked() -> None:
    plan = CampaignPlan(quick=False, seed=7)
    by_id: dict[str, Any] = {}
    for figure in FIGURES.values():
        trials = figure.trials(plan)
        assert len({trial.trial_id for trial in trials}) == len(trials)
        for trial in trials:
            assert by_id.setdefault(trial.trial_id, trial) == trial


def test_ids_are_found_by_folder_numbers_in_their_order_and_ids_beyond_papers_last() -> None:
    names = list(find_figures())
    assert len(names) == 65
    assert (
        names.index("sdfast-fig9") < names.index("sdfast-fig10a") < names.index("sqr-fig3") < names.index("x-learned")
    )
    assert aliases_of(find_figures()) == {"sdfast-fig10": ("sdfast-fig10a", "sdfast-fig10b")}


def test_paths_are_those_that_the_testbed_measures() -> None:
    assert set(x_packet_cost.COST_PATHS) == set(PATHS)


def test_every_variant_has_a_colour_of_its_own() -> None:
    from experiments.figures.sdfast.setup import COLOURS

    variants = {*setup.ON_DARKSTRAND, *setup.BACKTRACKING}
    assert len({COLOURS[variant] for variant in variants}) == len(variants)
