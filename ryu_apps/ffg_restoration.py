"""Ryu app of FFG with restoration: `ryu-manager ryu_apps/ffg_restoration.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class FfgRestoration(PlanApp):
    """Controller of the scheme "ffg_restoration"."""

    scheme = "ffg_restoration"
