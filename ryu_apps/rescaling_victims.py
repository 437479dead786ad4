"""Ryu app of rescaling that moves victims only: `ryu-manager ryu_apps/rescaling_victims.py` (docs/controller.md)."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class RescalingVictims(PlanApp):
    """Controller of the scheme "rescaling_victims"."""

    scheme = "rescaling_victims"
