"""x-why-goodput: is TCP slower under 1+1 protection here only because the processors are the bottleneck?

Explains the "differs" of p4protect-fig7: protected TCP is slower than plain TCP, by more than 10 %. The factor is what
limits the flows: the two processors, which also duplicate and compare each packet, or a link of 500 Mbit/s at the
sending host, which they fill without effort. All else is equal. If the processors are the cause, protected TCP is as
fast as plain TCP behind the link. The band is the figure's, set before anything was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.campaign.figure import PaperFigure
from experiments.campaign.kinds.paths import GoodputMeasured, GoodputParameters
from experiments.campaign.rows import RowType
from experiments.campaign.values import CampaignPlan, Trial
from experiments.campaign.verdicts import ClaimResult
from experiments.charts import canvas
from experiments.figures.p4protect import setup
from experiments.figures.p4protect.comparisons import (
    LOOKS,
    QUARTILE_BARS,
    SCALE,
    TWO,
    AnyRow,
    bars,
    field_of,
    table_of,
)
from experiments.figures.p4protect.fig7 import slower

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ID = "x-why-goodput"
LINK_MBPS, QUEUE_PACKETS = 500.0, 1000
LIMITS = {"processors": None, f"a link of {LINK_MBPS:g} Mbit/s": LINK_MBPS}
CASES: Mapping[str, Mapping[str, Any]] = {
    f"{flows} flow{'s' if flows > 1 else ''}, {name}": {"flows": flows, "mbps": mbps}
    for flows in (setup.FLOWS[0], setup.FLOWS[-1])
    for name, mbps in LIMITS.items()
}
_LOOKS = {variant: look for variant, look in LOOKS.items() if variant in TWO}


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One flow and fifteen, limited by the processors and by a link."""
    seconds = setup.QUICK_GOODPUT_SECONDS if plan.quick else setup.GOODPUT_SECONDS
    cases = {
        f"{case['flows']}-{case['mbps'] or 'processors'}": GoodputParameters(
            ID, case["flows"], seconds, case["mbps"], QUEUE_PACKETS if case["mbps"] else None
        )
        for case in CASES.values()
    }
    return setup.two_path_trials(plan, cases, (setup.PLAIN, setup.PROTECTED))


def claims(rows: Sequence[AnyRow]) -> list[ClaimResult]:
    """Protected TCP is as fast as plain TCP behind a link; what it is without stands beside, not judged."""
    return [
        slower(rows, setup.PROTECTED, case, name, is_judged=case["mbps"] is not None) for name, case in CASES.items()
    ]


def draw(rows: Sequence[AnyRow], caption: str) -> Figure:
    """TCP goodput, limited by the processors and by a link."""
    figure, (axes,) = canvas.panels("Is it the processors? TCP goodput under 1+1 protection", 1)
    bars(axes, rows, _LOOKS, {name.replace(", ", ",\n"): case for name, case in CASES.items()}, value=_GOODPUT)
    axes.set_ylabel("goodput, Mbit/s")
    canvas.legend(figure, axes)
    return canvas.finish(figure, [SCALE, QUARTILE_BARS], caption)


_GOODPUT = field_of("goodput_mbps")
ROWS = RowType("paths", GoodputParameters, GoodputMeasured, f"{ID}/")
FIGURE = PaperFigure(
    ID,
    "beyond",
    "Why protected TCP is slower: what limits the flows",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table_of(TWO, CASES, {"goodput_mbps": "goodput, Mbit/s", "retransmits": "retransmitted"})),
    with_paper="p4-protect",
)
