"""Ryu app of 1+1 protection: `ryu-manager ryu_apps/protect.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Protect(PlanApp):
    """Controller of the scheme "protect"."""

    scheme = "protect"
