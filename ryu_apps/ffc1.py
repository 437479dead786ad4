"""Ryu app of FFC: `ryu-manager ryu_apps/ffc1.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Ffc1(PlanApp):
    """Controller of the scheme "ffc1"."""

    scheme = "ffc1"
