"""FFG with a controller behind it that rewrites the routes."""

from __future__ import annotations

from functools import partial

from ryu_apps.plan import guarantees
from ryu_apps.plan.ffg import plan_ffg
from ryu_apps.plan.restoration import restore_outputs
from ryu_apps.plan.scheme import Scheme

NUMBER = 14

SCHEME = Scheme(
    name="ffg_restoration",
    number=NUMBER,
    summary="fast-failover groups, and a controller that rewrites routes",
    label="FFG + restoration",
    colour="#1a7f37",
    plan=partial(plan_ffg, owner=NUMBER),
    guarantee=guarantees.alternate_at_the_failure,
    promise="one failed link, where the switch beside it has a loop-free alternate",
    loop_free=False,
    restoration=partial(restore_outputs, owner=NUMBER),
)
