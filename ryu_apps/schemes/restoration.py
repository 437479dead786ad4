"""Restoration: shortest paths that a controller rewrites, no protection."""

from __future__ import annotations

from functools import partial

from ryu_apps.plan.restoration import restore_outputs
from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.shortest import plan_shortest

NUMBER = 13

SCHEME = Scheme(
    name="restoration",
    number=NUMBER,
    summary="shortest paths that a controller rewrites",
    label="restoration",
    colour="#bf8700",
    plan=partial(plan_shortest, owner=NUMBER),
    promise="no failed link",
    restoration=partial(restore_outputs, owner=NUMBER),
)
