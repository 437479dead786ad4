"""How rows come to switches in each mode, for the walkers."""

from __future__ import annotations

from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.walk import Dynamics, Learning


def dynamics_of(mode: str, plans: dict[int, RulePlan]) -> Dynamics:
    """Dynamics of a mode."""
    return Learning()
