"""FFG: fast-failover groups with a loop-free alternate."""

from __future__ import annotations

from functools import partial

from ryu_apps.plan import guarantees
from ryu_apps.plan.ffg import plan_ffg
from ryu_apps.plan.scheme import Scheme

NUMBER = 3

SCHEME = Scheme(
    name="ffg",
    number=NUMBER,
    summary="fast-failover groups",
    label="FFG",
    colour="#8250df",
    plan=partial(plan_ffg, owner=NUMBER),
    guarantee=guarantees.alternate_at_the_failure,
    promise="one failed link, where the switch beside it has a loop-free alternate",
    loop_free=False,  # alternates are chosen for one failure each; those of several may lead round
)
