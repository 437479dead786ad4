"""SQR: shortest paths; the packets of a failed link are retransmitted by a loop-free alternate."""

from __future__ import annotations

from ryu_apps.plan import guarantees
from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.sqr.plan import OWNER, plan_sqr

SCHEME = Scheme(
    name="sqr",
    number=OWNER,
    summary="SQR: shortest paths; the packets of a failed link are retransmitted by a loop-free alternate",
    label="SQR",
    colour="#cf222e",
    plan=plan_sqr,
    guarantee=guarantees.alternate_of_a_buffered_link,
    promise="one failed link, where the switch beside it has a loop-free alternate; in order",
    buffers=True,
)
