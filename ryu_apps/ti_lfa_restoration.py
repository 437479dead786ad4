"""Ryu app of TI-LFA with restoration: `ryu-manager ryu_apps/ti_lfa_restoration.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class TiLfaRestoration(PlanApp):
    """Controller of the scheme "ti_lfa_restoration"."""

    scheme = "ti_lfa_restoration"
