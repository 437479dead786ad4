"""1+1 protection: every packet of a protected flow by two disjoint tunnels."""

from __future__ import annotations

from ryu_apps.plan import guarantees
from ryu_apps.plan.protect.plan import OWNER, plan_protect
from ryu_apps.plan.scheme import Scheme

SCHEME = Scheme(
    name="protect",
    number=OWNER,
    summary="1+1 protection: every packet of a protected flow by two disjoint tunnels",
    label="1+1",
    colour="#0a7ea4",
    plan=plan_protect,
    guarantee=guarantees.a_tunnel_left,
    promise="protected flows, while one of two disjoint tunnels is whole",
    controller="ryu_apps.control.protection:ProtectController",
    resources=("ryu_apps.control.decide.protection_resource:PROTECTION",),
    protects=True,
)
