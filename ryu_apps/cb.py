"""Ryu app of crankback: `ryu-manager ryu_apps/cb.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Cb(PlanApp):
    """Controller of the scheme "cb"."""

    scheme = "cb"
