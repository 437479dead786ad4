"""PSO as a service under any Ryu app: `ryu-manager ryu_apps/pso.py YOUR_APP`. Settings: docs/pso.md."""

from __future__ import annotations

from ryu_apps.control.priority.app import PsoApp


class Pso(PsoApp):
    """Serves OpenFlow messages by the class that a Policy Map Table gives them."""
