"""CBC: crankback, and a controller that rewrites the routes."""

from __future__ import annotations

from functools import partial

from ryu_apps.plan import guarantees
from ryu_apps.plan.crankback import plan_crankback
from ryu_apps.plan.restoration import restore_groups
from ryu_apps.plan.scheme import Scheme

NUMBER = 6

SCHEME = Scheme(
    name="cbc",
    number=NUMBER,
    summary="crankback, and a controller that rewrites routes",
    label="CBC",
    colour="#e16f24",
    plan=partial(plan_crankback, owner=NUMBER),
    guarantee=guarantees.up_to_planned_failures,
    promise="up to the planned number of failed links",
    backtracks=True,
    restoration=partial(restore_groups, owner=NUMBER),
)
