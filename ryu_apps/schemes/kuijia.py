"""Kuijia: flows of failed tunnels go on by others, in a lower queue."""

from __future__ import annotations

from ryu_apps.plan.scheme import TUNNEL_CONTROLLER, TUNNEL_RESOURCES, Scheme, TunnelFailover
from ryu_apps.plan.slot_layers import kuijia_layers

SCHEME = Scheme(
    name="kuijia",
    number=7,
    summary="tunnels; victims of a failure in a lower queue",
    label="Kuijia",
    colour="#953800",
    promise="while a tunnel of the pair is live",
    controller=TUNNEL_CONTROLLER,
    resources=TUNNEL_RESOURCES,
    tunnels=TunnelFailover(kuijia_layers, tags_victims=True),
)
