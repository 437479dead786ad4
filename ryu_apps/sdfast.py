"""Ryu app of SD-FAST: `ryu-manager ryu_apps/sdfast.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class SdFast(PlanApp):
    """Controller of the scheme "sdfast"."""

    scheme = "sdfast"
