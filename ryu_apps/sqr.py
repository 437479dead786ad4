"""Ryu app of SQR: `ryu-manager ryu_apps/sqr.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class Sqr(PlanApp):
    """Controller of the scheme "sqr"."""

    scheme = "sqr"
