"""What ids of Kuijia that are computed share: trials of kind "sweep", and which rows are theirs."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.parameters import Parameters
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.charts.canvas import PALETTE
from ryu_apps.plan.choices import SHAPES

# Shapes of tables look alike in all pictures.
SHAPE_COLOURS = dict(zip(SHAPES, (PALETTE[7], PALETTE[2], PALETTE[0]), strict=True))
SHAPE_MARKS = dict(zip(SHAPES, "sxo", strict=True))


def computed_trial(figure_id: str, name: str, topology: str, plan: CampaignPlan, parameters: Parameters) -> Trial:
    """A trial without network, variant and load; `parameters` are all that decides it, `drawing` (from 0) its round."""
    return Trial(
        trial_id=f"{figure_id}/{name}",
        kind="sweep",
        topology=topology,
        variant=None,
        round=getattr(parameters, "drawing", 0) + 1,
        failures=0,
        links=(),
        pairs=(),
        load=None,
        timing=None,
        seed=plan.seed,
        parameters=parameters,
    )


def own_rows(rows: Sequence[Json], figure_id: str) -> list[Json]:
    """Rows of an id's trials."""
    return [row for row in rows if row["trial"].startswith(f"{figure_id}/")]
