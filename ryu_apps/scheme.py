"""Ryu app of the scheme that the setting `scheme` names: `ARMOR_SCHEME=NAME ryu-manager ryu_apps/scheme.py`."""

from __future__ import annotations

from ryu_apps.control.app import PlanApp


class AnyScheme(PlanApp):
    """Controller of any scheme, of installed packages too."""
