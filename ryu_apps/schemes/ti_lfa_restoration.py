"""TI-LFA with a controller behind it that rewrites the routes, as routers converge behind their repairs."""

from __future__ import annotations

from functools import partial

from ryu_apps.plan.restoration import restore_outputs
from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.ti_lfa.plan import not_covered, plan_ti_lfa, repaired_at_the_failure

NUMBER = 21

SCHEME = Scheme(
    name="ti_lfa_restoration",
    number=NUMBER,
    summary="TI-LFA, and a controller that rewrites routes",
    label="TI-LFA + restoration",
    colour="#9e6a03",
    plan=partial(plan_ti_lfa, owner=NUMBER),
    guarantee=repaired_at_the_failure,
    promise="one failed link, where three labels suffice for the path after convergence",
    not_covered=not_covered,
    loop_free=False,
    restoration=partial(restore_outputs, owner=NUMBER),
)
