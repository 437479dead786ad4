"""Rescaling that moves victims only, and does not tag them."""

from __future__ import annotations

from ryu_apps.plan.scheme import TUNNEL_CONTROLLER, TUNNEL_RESOURCES, Scheme, TunnelFailover
from ryu_apps.plan.slot_layers import untagged_layers

SCHEME = Scheme(
    name="rescaling_victims",
    number=15,
    summary="tunnels; victims share the others' queue, and no other flow moves",
    label="rescaling, victims only",
    colour="#4d2d00",
    promise="while a tunnel of the pair is live",
    controller=TUNNEL_CONTROLLER,
    resources=TUNNEL_RESOURCES,
    tunnels=TunnelFailover(untagged_layers),
)
