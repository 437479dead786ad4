"""Ryu app of TI-LFA: `ryu-manager ryu_apps/ti_lfa.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class TiLfa(PlanApp):
    """Controller of the scheme "ti_lfa"."""

    scheme = "ti_lfa"
