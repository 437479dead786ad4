"""SD-FAST, and SQR before the ports of some links: a failure of such a link loses no packet."""

from __future__ import annotations

from ryu_apps.plan import guarantees
from ryu_apps.plan.choices import AGENT, LEARNED
from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.sqr.lossless import plan_lossless

SCHEME = Scheme(
    name="lossless",
    number=None,
    summary="SD-FAST, and SQR before the ports of some links",
    label="SD-FAST + SQR",
    colour="#1b4b91",
    plan=plan_lossless,
    guarantee=guarantees.up_to_planned_failures,
    promise="up to the planned number of failed links; order is not promised",
    modes=(LEARNED, AGENT),
    buffers=True,
    keeps_order=False,  # what a switch has learned sends later packets past those that still wait
)
