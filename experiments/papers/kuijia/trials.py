"""What ids of Kuijia that are computed share: trials of kind "sweep", and which rows are theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.campaign.values import CampaignPlan, Json, Trial


def computed_trial(
    figure_id: str, name: str, topology: str, plan: CampaignPlan, parameters: Mapping[str, Any]
) -> Trial:
    """A trial without network, arm and load; `parameters` are all that decides it, `drawing` (from 0) its round."""
    return Trial(
        trial_id=f"{figure_id}/{name}",
        kind="sweep",
        topology=topology,
        arm=None,
        round=parameters.get("drawing", 0) + 1,
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
