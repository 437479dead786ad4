"""Ryu app of fast-failover groups: `ryu-manager ryu_apps/ffg.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Ffg(PlanApp):
    """Controller of the scheme "ffg"."""

    scheme = "ffg"
