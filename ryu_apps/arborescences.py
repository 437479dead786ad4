"""Ryu app of arc-disjoint arborescences: `ryu-manager ryu_apps/arborescences.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Arborescences(PlanApp):
    """Controller of the scheme "arborescences"."""

    scheme = "arborescences"
