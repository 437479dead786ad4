"""Ryu app of rescaling: `ryu-manager ryu_apps/rescaling.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Rescaling(PlanApp):
    """Controller of the scheme "rescaling"."""

    scheme = "rescaling"
