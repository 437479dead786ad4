"""What x-multi and x-coverage share: rows that the interpreter decided, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from experiments.campaign.kinds.verify import VerifyRow, read_rows
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import Json
from experiments.campaign.verdicts import COUNT, Claim, ClaimResult, Exactly, judge
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.setup import LABELS
from ryu_apps.schemes import find_scheme

OUTCOMES = ("delivered", "dropped", "looped", "disconnected")
# Schemes whose plans promise that nothing loops, whatever was learned and whatever was lost.
LOOP_FREE = (setup.AGENT_PAIR, setup.LEARNED, setup.CB)
# The interpreter knows no delays: one name for a scheme, whatever its control link.
DECIDED_LABELS = {
    **LABELS,
    **{
        variant: find_scheme(variant.scheme).label
        for variant in setup.VERIFIED
        if variant not in LABELS or variant.control_delay_ms is not None
    },
}


def coverage_rows(rows: Sequence[Json], topologies: Iterable[str], failures: Iterable[int]) -> list[VerifyRow]:
    """What the interpreter decided, in the order in which it was asked."""
    names, numbers = tuple(topologies), tuple(failures)
    found = read_rows(measures.good_rows(rows))
    return [row for row in found if row.topology in names and row.failures in numbers]


def counted(rows: Sequence[VerifyRow], what: Callable[[VerifyRow], int], name: str) -> ClaimResult:
    """Cases of a sort over all rows, of which there should be none."""
    total = Estimate(float(sum(map(what, rows))), None, None) if rows else None
    cases = sum(row.cases for row in rows)
    return judge(Claim(name, "cases", band=Exactly(0.0), asks=COUNT), total).with_note(f"of {cases} cases")
