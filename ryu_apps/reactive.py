"""Ryu app of reactive paths: `ryu-manager ryu_apps/reactive.py`. Settings: docs/pso.md."""

from __future__ import annotations

from ryu_apps.control.reactive import ReactiveApp


class Reactive(ReactiveApp):
    """Gives every switch of a path its rule when the first packet of a flow comes."""
