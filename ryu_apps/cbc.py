"""Ryu app of crankback with a controller behind it: `ryu-manager ryu_apps/cbc.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Cbc(PlanApp):
    """Controller of the scheme "cbc"."""

    scheme = "cbc"
