"""Set-up of `x-lossless`: packets that must backtrack from a failed link of Darkstrand, with and without SQR beside it.

A pair exchanges UDP probes; a link of its primary path fails, chosen so that the first packets have to backtrack. With
SQR both ends of the link buffer what they send into it. Failures are of two sorts: the carrier goes, which the next
packet sent detects, or the link fails silently, which only BFD detects.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from experiments.analysis.crankback import CrankbackCase, crankback_cases
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.lossless import ROWS, LosslessParameters, LosslessRow
from experiments.campaign.rows import of_variant
from experiments.campaign.statistics import Estimate, mean_interval, total_interval
from experiments.campaign.values import CampaignPlan, Timing, Trial, Variant
from experiments.campaign.verdicts import COUNT, MARGIN, AtLeast, Claim, ClaimResult, Exactly, Within, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE, say_empty
from mininet_topos.catalogue import load_topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ID, KIND, TOPOLOGY = "x-lossless", "lossless", "darkstrand"
SDFAST, LOSSLESS = Variant("sdfast", "learned"), Variant("lossless", "learned")
SDFAST_AGENT, LOSSLESS_AGENT = Variant("sdfast", "agent"), Variant("lossless", "agent")
# Without and with SQR, in both modes of SD-FAST.
PAIRS_OF_VARIANTS = ((SDFAST, LOSSLESS), (SDFAST_AGENT, LOSSLESS_AGENT))
LABELS = {
    SDFAST.name: "SD-FAST alone, learned",
    LOSSLESS.name: "SD-FAST + SQR, learned",
    SDFAST_AGENT.name: "SD-FAST alone, agent",
    LOSSLESS_AGENT.name: "SD-FAST + SQR, agent",
}
FAILURES = {"silent": "silent failure", "carrier": "carrier lost"}
PROBE_MS = 2.0
# BFD needs three of its intervals to see a silent failure, notifying SQR takes 0.2 s; delta covers both twice.
BFD_MS, DELTA_MS, SLOTS, RING_MARGIN = 100, 1000.0, 8192, 64
TIMING = Timing(before_s=1.5, transient_s=2.0, converged_s=1.5)
CASES, QUICK_CASES = 8, 2
RATIO = Within(0.8, 1.2)
HEADER = ("", "hops back", "sent", "lost", "duplicated", "reordered", "backtracked", "longest outage, ms")
COLOURS = {
    SDFAST.name: PALETTE[7],
    LOSSLESS.name: PALETTE[0],
    SDFAST_AGENT.name: "#afb8c1",
    LOSSLESS_AGENT.name: PALETTE[6],
}
_FIELDS = {"lost": "packets lost", "duplicated": "packets duplicated"}


@lru_cache(maxsize=1)
def _crankback_cases() -> tuple[CrankbackCase, ...]:
    """Cases whose first packets backtrack, the longest walks first."""
    cases = [case for case in crankback_cases(load_topology(TOPOLOGY)) if case.hops_back]
    return tuple(sorted(cases, key=lambda case: -case.hops_back))


def draw_cases(count: int, seed: int) -> tuple[CrankbackCase, ...]:
    """The longest crankback, and others at random, no link twice.

    Parameters
    ----------
    count
        At least one.
    """
    longest, *others = _crankback_cases()
    found = [longest]
    for number in np.random.default_rng(seed).permutation(len(others)):
        if len(found) == count:
            break
        if others[number].link not in {case.link for case in found}:
            found.append(others[number])
    return tuple(found)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Every case with each sort of failure and by each variant; in a quick run the cases take the sorts in turn."""
    sorts = list(FAILURES)
    cases = draw_cases(plan.rounds or (QUICK_CASES if plan.quick else CASES), plan.seed)
    return tuple(
        _trial(case, number, failure, variant, plan.seed)
        for number, case in enumerate(cases, start=1)
        for failure in (sorts[number % len(sorts) - 1 :][:1] if plan.quick else sorts)
        for pair in PAIRS_OF_VARIANTS
        for variant in pair
    )


def _trial(case: CrankbackCase, number: int, failure: str, variant: Variant, seed: int) -> Trial:
    return Trial(
        trial_id=f"{ID}/r{number}/{case.source}-{case.destination}-{failure}/{variant.name}",
        kind=KIND,
        topology=TOPOLOGY,
        variant=variant,
        round=number,
        failures=1,
        links=(str(case.link),),
        pairs=((case.source, case.destination),),
        load=None,
        timing=TIMING,
        seed=seed,
        parameters=LosslessParameters(failure, case.hops_back, PROBE_MS, BFD_MS, SLOTS, DELTA_MS, RING_MARGIN),
    )


def rows_of(rows: Sequence[LosslessRow], variant: Variant, failure: str | None = None) -> list[LosslessRow]:
    """Good rows of a variant, of one sort of failure or of all."""
    return [row for row in of_variant(rows, variant) if failure in (None, row.parameters.failure)]


def total(rows: Sequence[LosslessRow], field: str) -> Estimate | None:
    """Sum over trials; None without any."""
    return total_interval([float(getattr(row.measured, field)) for row in rows]) if rows else None


def mean(rows: Sequence[LosslessRow], field: str) -> Estimate | None:
    """Mean over trials with its interval; None without any."""
    return mean_interval([float(getattr(row.measured, field)) for row in rows]) if rows else None


def by_outage(rows: Sequence[LosslessRow]) -> Estimate | None:
    """Packets lost by what the outages of both ways amount to, mean over trials; None without an outage.

    The rate is the measured one: a busy machine sends probes less often than asked for.
    """
    own = [row.measured for row in rows if sum(row.measured.outages_ms)]
    found = [1000 * each.lost / (each.rate_pps * sum(each.outages_ms)) for each in own]
    return mean_interval(found) if found else None


def claims(rows: Sequence[LosslessRow]) -> list[ClaimResult]:
    """Nothing is lost with SQR; SD-FAST alone loses what was sent while the link was down and nobody knew."""
    results = []
    for alone, helped in PAIRS_OF_VARIANTS:
        own, label = rows_of(rows, helped), LABELS[helped.name]
        results.append(
            judge(
                Claim(f"packets lost, {label}, all cases", "packets", 0.0, Exactly(0.0), asks=MARGIN),
                total(own, "lost"),
            )
        )
        walked = min((row.measured.backtracked for row in own), default=None)
        back = None if walked is None else Estimate(float(walked), None, None)
        results.append(
            judge(
                Claim(f"packets that backtracked in every case, {label}", "packets", 1.0, AtLeast(1.0), asks=COUNT),
                back,
            )
        )
        silent = rows_of(rows, alone, "silent")
        label = LABELS[alone.name]
        claim = Claim(f"packets lost at silent failures by rate x outage, {label}", "ratio", 1.0, RATIO, asks=MARGIN)
        results.append(judge(claim, by_outage(silent)))
        results += [
            judge(Claim(f"packets lost, {words}, {label}", "packets"), mean(rows_of(rows, alone, failure), "lost"))
            for failure, words in FAILURES.items()
        ]
        for field, words in (("duplicated", "duplicated"), ("reordered", "reordered")):
            name = f"packets that {'were ' if field == 'reordered' else ''}{words}, {LABELS[helped.name]}"
            results.append(judge(Claim(name, "packets"), mean(own, field)))
    return results


def table(rows: Sequence[LosslessRow]) -> Table:
    """A line for every case and variant."""
    lines = []
    for row in rows:
        (source, destination), (link,), own = row.measured.pair, row.links, row.parameters
        name = f"{source} to {destination}, {link}, {FAILURES[own.failure]}, {LABELS[str(row.variant)]}"
        counts = (
            f"{getattr(row.measured, field):,}" for field in ("sent", "lost", "duplicated", "reordered", "backtracked")
        )
        lines.append((name, str(own.hops_back), *counts, f"{max(row.measured.outages_ms):,.1f}"))
    return Table(HEADER, tuple(lines))


def draw(rows: Sequence[LosslessRow], caption: str) -> Figure:
    """Packets lost and doubled in every case, variants side by side."""
    figure, both = canvas.panels("SD-FAST beyond the papers: SQR at the switches beside the failure", len(_FIELDS))
    for axes, (field, words) in zip(both, _FIELDS.items(), strict=True):
        _draw(axes, rows, field)
        axes.set_ylabel(f"{words} (log above 10)", color=INK)
    if both[0].patches:
        canvas.legend(figure, both[0])
    facts = [
        f"Darkstrand, UDP probes every {PROBE_MS:g} ms both ways, one link of the way fails for good; BFD every "
        f"{BFD_MS} ms. Under each case: how many hops its first packets backtrack. SQR keeps the packets of "
        f"{DELTA_MS:g} ms, and retransmits what the failure may have lost: so packets are duplicated."
    ]
    return canvas.finish(figure, facts, caption)


def _draw(axes: Axes, rows: Sequence[LosslessRow], field: str) -> None:
    variants = [variant for pair in PAIRS_OF_VARIANTS for variant in pair]
    own = {variant: {_case_name(row): row for row in rows_of(rows, variant)} for variant in variants}
    cases = list(dict.fromkeys(case for found in own.values() for case in found))
    if not cases:
        say_empty(axes)
        return
    width = 0.8 / len(variants)
    for number, (variant, found) in enumerate(own.items()):
        for group, case in enumerate(cases):
            if case in found:
                place = group + (number - (len(variants) - 1) / 2) * width
                axes.bar(place, getattr(found[case].measured, field), 0.92 * width, color=COLOURS[variant.name])
                axes.annotate(
                    f"{getattr(found[case].measured, field):,}",
                    (place, getattr(found[case].measured, field)),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    color=INK,
                )
        axes.bar([0], [0], color=COLOURS[variant.name], label=LABELS[variant.name])
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=0)
    axes.margins(y=0.15)
    axes.set_xticks(range(len(cases)), cases, fontsize=8)


def _case_name(row: LosslessRow) -> str:
    """Name of a case under its bars."""
    (source, destination) = row.measured.pair
    failure, hops = FAILURES[row.parameters.failure], row.parameters.hops_back
    return f"{source} to {destination}\n{failure}\n{hops} back"


FIGURE = PaperFigure(
    ID,
    "beyond",
    "Beyond: SD-FAST with SQR beside the failed link; nothing is lost",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
)
