"""FFC against one failed link: tunnels keep capacity for the victims, so that rescaling congests nothing."""

from __future__ import annotations

from ryu_apps.plan.scheme import TUNNEL_CONTROLLER, TUNNEL_RESOURCES, Scheme, TunnelFailover
from ryu_apps.plan.slot_layers import untagged_layers

SCHEME = Scheme(
    name="ffc1",
    number=23,
    summary="tunnels with a reserve for any one failed link; victims share the others' queue",
    label="FFC, one link",
    colour="#7a5c00",
    promise="while a tunnel of the pair is live",
    controller=TUNNEL_CONTROLLER,
    resources=TUNNEL_RESOURCES,
    tunnels=TunnelFailover(untagged_layers, reserved_failures=1),
)
