"""What ids of Kuijia that are computed share: trials of kind "sweep", and how shapes of tables look."""

from __future__ import annotations

from experiments.campaign.parameters import Parameters
from experiments.campaign.values import CampaignPlan, Trial
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
