"""Ryu app of restored shortest paths: `ryu-manager ryu_apps/restoration.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Restoration(PlanApp):
    """Controller of the scheme "restoration"."""

    scheme = "restoration"
