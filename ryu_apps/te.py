"""Ryu app of tunnels without failover: `ryu-manager ryu_apps/te.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class TrafficEngineeringAlone(PlanApp):
    """Controller of the scheme "te"."""

    scheme = "te"
