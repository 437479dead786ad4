"""Ryu app of precomputed weights: `ryu-manager ryu_apps/precomputed.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Precomputed(PlanApp):
    """Controller of the scheme "precomputed"."""

    scheme = "precomputed"
