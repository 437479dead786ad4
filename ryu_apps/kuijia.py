"""Ryu app of Kuijia: `ryu-manager ryu_apps/kuijia.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Kuijia(PlanApp):
    """Controller of the scheme "kuijia"."""

    scheme = "kuijia"
