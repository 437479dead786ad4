"""Ryu app of Kuijia: `ryu-manager ryu_apps/kuijia.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.tunnels import TunnelApp


class Kuijia(TunnelApp):
    """Controller of the scheme "kuijia"."""

    scheme = "kuijia"
