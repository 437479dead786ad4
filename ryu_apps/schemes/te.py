"""Tunnels of traffic engineering without failover."""

from __future__ import annotations

from ryu_apps.plan.scheme import TUNNEL_CONTROLLER, TUNNEL_RESOURCES, Scheme, TunnelFailover
from ryu_apps.plan.slot_layers import no_layers

SCHEME = Scheme(
    name="te",
    number=9,
    summary="tunnels, no failover",
    label="no failover",
    colour="#24292f",
    promise="while all tunnels of the pair are live",
    controller=TUNNEL_CONTROLLER,
    resources=TUNNEL_RESOURCES,
    tunnels=TunnelFailover(no_layers, recovers=False),
)
