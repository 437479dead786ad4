"""SD-FAST: packets that meet a failure name it in a tag, and switches that see the tag remember it."""

from __future__ import annotations

from ryu_apps.plan import guarantees
from ryu_apps.plan.choices import AGENT, LEARNED
from ryu_apps.plan.recovery_rows import OWNER
from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.sdfast import plan_sdfast

SCHEME = Scheme(
    name="sdfast",
    number=OWNER,
    summary="SD-FAST",
    label="SD-FAST",
    colour="#1f6feb",
    plan=plan_sdfast,
    guarantee=guarantees.up_to_planned_failures,
    promise="up to the planned number of failed links",
    modes=(LEARNED, AGENT),
)
