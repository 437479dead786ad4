"""Shortest paths without recovery: the control that every scheme is compared with."""

from __future__ import annotations

from functools import partial

from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.shortest import plan_shortest

NUMBER = 4

SCHEME = Scheme(
    name="shortest",
    number=NUMBER,
    summary="shortest paths, no recovery",
    label="no protection",
    colour="#6e7781",
    plan=partial(plan_shortest, owner=NUMBER),
    promise="no failed link",
)
