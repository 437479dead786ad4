"""The console command `ryu-manager`, which replaces Ryu's own."""

from __future__ import annotations

from ryu_apps.manager import main

__all__ = ["main"]
