"""TI-LFA: the switch beside a failure sends packets along the path after convergence, by a stack of labels."""

from __future__ import annotations

from functools import partial

from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.ti_lfa.plan import not_covered, plan_ti_lfa, repaired_at_the_failure

NUMBER = 20

SCHEME = Scheme(
    name="ti_lfa",
    number=NUMBER,
    summary="TI-LFA with segment lists of MPLS labels",
    label="TI-LFA",
    colour="#bf3989",
    plan=partial(plan_ti_lfa, owner=NUMBER),
    guarantee=repaired_at_the_failure,
    promise="one failed link, where three labels suffice for the path after convergence",
    not_covered=not_covered,
    loop_free=False,  # repairs are chosen for one failure each; those of several may lead round
    backtracks=True,
)
