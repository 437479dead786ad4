"""x-why-shares: do moved flows keep their rate under rescaling because packets come at equal intervals?

Explains the "differs" of kuijia-table2: the paper says that all four flows degrade, and here f1 and f2, which move, do
not. TCP's equal shares are not the cause: datagrams at equal intervals do the same. A full queue drops its oldest
packet here (docs/decisions/queues.md). A model of such a queue takes nothing from f1 and 25 % from f3 while packets of
each come at equal intervals, and 17 % from both where they come at random. So the factor is the interval between
datagrams: equal, or exponential of the same mean. All else is equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.flows import ROWS, FlowsRow
from experiments.campaign.rows import of_variant
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import CHANGE, AtLeast, Claim, ClaimResult, judge
from experiments.figures.kuijia import testbed
from experiments.figures.kuijia.measures import difference
from experiments.figures.kuijia.table2_table3 import (
    ABORIGINAL,
    VICTIMS,
    Groups,
    changes_percent,
    degraded,
    figure1_picture,
    figure1_table,
    of_table,
)

_TABLE, _TITLE = "table2", "Why moved flows keep their rate under rescaling: intervals between packets"
EQUAL, RANDOM = "equal intervals", "random intervals"
# Of what a flow sent before: a model of the queue says 17, and equal intervals took 0.5 points from f1 and f2.
_LEAST_POINTS = 5.0


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """The four flows of Table 2 as datagrams under rescaling, at equal and at random intervals in turn."""
    equal, by_chance = (
        testbed.figure1_trials(plan, _TABLE, testbed.UDP, (testbed.RESCALING,), random_intervals=at_random)
        for at_random in (False, True)
    )
    return tuple(trial for both in zip(equal, by_chance, strict=True) for trial in both)


def by_interval(rows: Sequence[FlowsRow]) -> Groups:
    """Rows by the interval between datagrams."""
    here = of_variant(of_table(rows, _TABLE, testbed.UDP), testbed.RESCALING)
    return {
        EQUAL: [row for row in here if not row.parameters.random_intervals],
        RANDOM: [row for row in here if row.parameters.random_intervals],
    }


def claims(rows: Sequence[FlowsRow]) -> list[ClaimResult]:
    """At random intervals all four flows degrade, and the moved ones more than at equal ones."""
    groups = by_interval(rows)
    return [
        *degraded(groups[RANDOM], (*VICTIMS, *ABORIGINAL), RANDOM),
        *(_difference(groups, name) for name in VICTIMS),
    ]


def _difference(groups: Groups, name: str) -> ClaimResult:
    equal, by_chance = (changes_percent(groups[each], name) for each in (EQUAL, RANDOM))
    claim = Claim(f"loss of {name}, {RANDOM} less equal ones", "points", "-", AtLeast(_LEAST_POINTS), asks=CHANGE)
    return judge(claim, difference(equal, by_chance))


FIGURE = PaperFigure(
    "x-why-shares",
    "beyond",
    _TITLE,
    trials,
    ROWS.on(claims),
    ROWS.on(figure1_picture(_TABLE, "Is it the intervals? Table 2 with UDP, rescaling", by_interval)),
    ROWS.on(figure1_table(by_interval)),
    with_paper="kuijia",
)
