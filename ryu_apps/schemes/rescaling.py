"""Rescaling: the ingress switch spreads all flows of a pair anew over the tunnels that are left."""

from __future__ import annotations

from ryu_apps.plan.scheme import TUNNEL_CONTROLLER, TUNNEL_RESOURCES, Scheme, TunnelFailover
from ryu_apps.plan.slot_layers import rescaling_layers

SCHEME = Scheme(
    name="rescaling",
    number=8,
    summary="tunnels; the others' shares grow",
    label="rescaling",
    colour="#116329",
    promise="while a tunnel of the pair is live",
    controller=TUNNEL_CONTROLLER,
    resources=TUNNEL_RESOURCES,
    tunnels=TunnelFailover(rescaling_layers, keeps_others=False),
)
