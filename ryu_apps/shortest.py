"""Ryu app of shortest paths, without recovery: `ryu-manager ryu_apps/shortest.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class ShortestPath(PlanApp):
    """Controller of the scheme "shortest"."""

    scheme = "shortest"
