"""x-why-shares: do moved flows keep their rate under rescaling because TCP flows share a link nearly equally?

Explains the "differs" of kuijia-table2: the paper says that all four flows degrade, and here f1 and f2 do not. Each
of them wants less than half of the link that it comes to. The factor is the transport: TCP, as in Table 2, or
UDP, which gives way to nobody. All else is equal. If TCP's equal shares are the cause, all four degrade with UDP. The
band is the table's, set before anything was measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.flows import ROWS, FlowsRow
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import ClaimResult
from experiments.figures.kuijia import testbed
from experiments.figures.kuijia.table2_table3 import (
    ABORIGINAL,
    VICTIMS,
    degraded,
    figure1_picture,
    figure1_table,
    of_table,
)

_TABLE, _TITLE = "table2", "Why moved flows keep their rate under rescaling: TCP's shares"


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """The four flows of Table 2 as datagrams."""
    return testbed.figure1_trials(plan, _TABLE, testbed.UDP)


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """All four flows degrade under rescaling."""
    return degraded(of_table(rows, _TABLE, testbed.UDP), (*VICTIMS, *ABORIGINAL))


FIGURE = PaperFigure(
    "x-why-shares",
    "beyond",
    _TITLE,
    trials,
    ROWS.on(claims),
    ROWS.on(figure1_picture(_TABLE, "Is it TCP? Table 2 with UDP", testbed.UDP)),
    ROWS.on(figure1_table(_TABLE, testbed.UDP)),
    with_paper="kuijia",
)
