"""CB: crankback, packet by packet, for as long as the failure lasts."""

from __future__ import annotations

from functools import partial

from ryu_apps.plan import guarantees
from ryu_apps.plan.crankback import plan_crankback
from ryu_apps.plan.scheme import Scheme

NUMBER = 5

SCHEME = Scheme(
    name="cb",
    number=NUMBER,
    summary="crankback",
    label="CB",
    colour="#57606a",
    plan=partial(plan_crankback, owner=NUMBER),
    guarantee=guarantees.up_to_planned_failures,
    promise="up to the planned number of failed links",
    backtracks=True,
)
