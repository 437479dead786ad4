"""Ryu app of 1+1 protection: `ryu-manager ryu_apps/protect.py`. Settings: docs/controller.md."""

from __future__ import annotations

from ryu_apps.control.protection import ProtectApp


class Protect(ProtectApp):
    """Controller of the scheme "protect"."""

    scheme = "protect"
