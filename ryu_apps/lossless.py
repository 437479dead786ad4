"""Ryu app of SD-FAST with SQR: `ryu-manager ryu_apps/lossless.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Lossless(PlanApp):
    """Controller of the scheme "lossless"."""

    scheme = "lossless"
