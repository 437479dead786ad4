"""Precomputed weights: victims are split as a second linear program found best for the failed link."""

from __future__ import annotations

from ryu_apps.plan.scheme import TUNNEL_CONTROLLER, TUNNEL_RESOURCES, Scheme, TunnelFailover
from ryu_apps.plan.slot_layers import kuijia_layers

SCHEME = Scheme(
    name="precomputed",
    number=22,
    summary="tunnels; victims in a lower queue, split by weights solved beforehand for each link",
    label="precomputed weights",
    colour="#5e4b8b",
    promise="while a tunnel of the pair is live",
    controller=TUNNEL_CONTROLLER,
    resources=TUNNEL_RESOURCES,
    tunnels=TunnelFailover(kuijia_layers, tags_victims=True, precomputes=True),
)
