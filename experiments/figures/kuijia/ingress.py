"""How long an ingress switch takes to repartition its hash ranges after a failure: notified by controller or agents.

Beyond the paper, whose controller notifies. Gscale, five pairs drawn at random, three tunnels a pair, both directions;
one link after another fails silently. Rows say, of every ingress switch with a failed tunnel, when its last new row was
in force (Open vSwitch's flow monitor), from the failure and from the first report of a failed port at the link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.campaign.draws.tunnel_traffic import GSCALE, PAIRS, SCALE, SINGLE, TUNNELS, demands_of
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.ingress import ROWS, IngressParameters, IngressRow
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Trial, Variant
from experiments.campaign.verdicts import Claim, ClaimResult, judge
from experiments.charts import canvas
from experiments.charts.canvas import INK, PALETTE, say_empty
from experiments.figures.kuijia.testbed import HEADROOM
from mininet_topos.catalogue import load_topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ID = "kuijia-ingress"
DEMAND_MBPS = 1200
ROUNDS, QUICK_ROUNDS = 3, 1
FAILURES, QUICK_FAILURES = 36, 12  # of every round and notifier
PERCENTILES = (50, 99)
HEADER = ("notifier", "since", *(f"p{each} (ms)" for each in PERCENTILES), "most (ms)", "updates", "failures")


class Notifier(NamedTuple):
    """Who notifies the ingress, and the one-way delay of control links (it matters to a controller only)."""

    notified_by: str
    control_delay_ms: float

    @property
    def name(self) -> str:
        """As it stands in trials and tables."""
        return (
            self.notified_by
            if self.notified_by == "agent"
            else f"{self.notified_by}, {self.control_delay_ms:g} ms away"
        )


NOTIFIERS = (Notifier("agent", 0.0), Notifier("controller", 0.0), Notifier("controller", 5.0))
SINCE = {"from_failure_ms": "the failure", "from_detection_ms": "detection"}
COLOURS = dict(zip(NOTIFIERS, (PALETTE[0], PALETTE[2], "#9a3f06"), strict=True))
_STYLES = dict(zip(NOTIFIERS, ("-", "--", "-."), strict=True))


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial a failure; a round has its own pairs, and its failures are the same for all notifiers."""
    rounds = plan.rounds or (QUICK_ROUNDS if plan.quick else ROUNDS)
    failures = QUICK_FAILURES if plan.quick else FAILURES
    return tuple(
        Trial(
            trial_id=f"{ID}/round{drawing:02d}-{notifier.notified_by}-{notifier.control_delay_ms:g}ms-{number:02d}-{link}",
            kind="ingress",
            topology=GSCALE,
            variant=Variant("kuijia"),
            round=drawing + 1,
            failures=1,
            links=(link,),
            pairs=tuple((each.src, each.dst) for each in demands_of(drawing, plan.seed, DEMAND_MBPS, None)),
            load=None,
            timing=None,
            seed=plan.seed,
            parameters=IngressParameters(
                network=notifier.name,
                notified_by=notifier.notified_by,
                control_delay_ms=notifier.control_delay_ms,
                drawing=drawing,
                seed=plan.seed,
                demand_mbps=DEMAND_MBPS,
                pairs=PAIRS,
                tunnels=TUNNELS,
                queues=SINGLE,
                scale=SCALE,
                headroom=HEADROOM,
            ),
        )
        for drawing in range(rounds)
        for notifier in NOTIFIERS
        for number, link in enumerate(_links(drawing, plan.seed, failures))
    )


def _links(drawing: int, seed: int, count: int) -> Iterator[str]:
    """Links that carry a tunnel, in random order; again from the first when there are fewer than `count`."""
    from ryu_apps.plan.kuijia.sources import equal_commodities

    topology = load_topology(GSCALE)
    pairs = [(each.src, each.dst) for each in demands_of(drawing, seed, DEMAND_MBPS, None)]
    commodities = equal_commodities(topology, pairs, TUNNELS)
    links = sorted({topology.link_id(hop) for each in commodities for path in each.paths for hop in path})
    order = np.random.default_rng([seed, drawing]).permutation(len(links))
    return (str(links[order[number % len(links)]]) for number in range(count))


def updates_ms(rows: Sequence[IngressRow], notifier: Notifier, since: str) -> list[float]:
    """Update times (ms) of all ingress switches of a notifier's good trials.

    Parameters
    ----------
    since
        A key of `SINCE`.
    """
    times = (getattr(each, since) for row in _rows_of(rows, notifier) for each in row.measured.ingresses)
    return [each for each in times if each is not None]


def _rows_of(rows: Sequence[IngressRow], notifier: Notifier) -> list[IngressRow]:
    return [row for row in rows if row.parameters.network == notifier.name]


def claims(rows: Sequence[IngressRow]) -> list[ClaimResult]:
    """Percentiles of the update time of every notifier; the paper gives none."""
    results = []
    for since, words in SINCE.items():
        for percentile in PERCENTILES:
            for notifier in NOTIFIERS:
                claim = Claim(
                    f"ingress updated after {words}, p{percentile}, notified by {notifier.name}", "ms", None, None
                )
                results.append(judge(claim, percentile_of(updates_ms(rows, notifier, since), percentile)))
    return results


def percentile_of(values: Sequence[float], percentile: int) -> Estimate | None:
    """A percentile; None without values. It has no interval: failures on one network are not independent."""
    return Estimate(float(np.percentile(values, percentile)), None, None) if values else None


def table(rows: Sequence[IngressRow]) -> Table:
    """Percentiles by notifier, from the failure and from detection."""
    found = []
    for notifier in NOTIFIERS:
        for since, words in SINCE.items():
            values = updates_ms(rows, notifier, since)
            if values:
                shown = (*(np.percentile(values, each) for each in PERCENTILES), max(values))
                counts = (str(len(values)), str(len(_rows_of(rows, notifier))))
                found.append((notifier.name, words, *(f"{each:.1f}" for each in shown), *counts))
    return Table(HEADER, tuple(found))


def missed(rows: Sequence[IngressRow]) -> Mapping[str, int]:
    """Ingress switches with a failed tunnel that did not repartition in time, by notifier."""
    return {
        notifier.name: sum(
            each.from_failure_ms is None for row in _rows_of(rows, notifier) for each in row.measured.ingresses
        )
        for notifier in NOTIFIERS
    }


def draw(rows: Sequence[IngressRow], caption: str) -> Figure:
    """Share of updates that are done, over time: from the failure, and from detection."""
    figure, both = canvas.panels("Kuijia beyond the paper: when the ingress sends flows of failed tunnels elsewhere", 2)
    for axes, since in zip(both, SINCE, strict=True):
        _draw(axes, rows, since)
    shown = next((axes for axes in both if axes.lines), both[0])
    canvas.legend(figure, shown)
    intervals = sorted({row.bfd_interval_ms for row in rows if row.bfd_interval_ms is not None})
    found = table(rows).rows
    failures = max((int(row[-1]) for row in found), default=0)
    not_in_time = sum(missed(rows).values())
    facts = [
        f"Gscale, {failures} failures for each line, every ingress switch with a failed tunnel counts; "
        f"BFD every {' or '.join(map(str, intervals)) or '?'} ms, three misses.",
        "An update is done when the last new row is in force (flow monitor of Open vSwitch). Detection: first report "
        f"of a failed port at the link. Idle network. Not updated in time: {not_in_time}.",
    ]
    return canvas.finish(figure, facts, caption)


def _draw(axes: Axes, rows: Sequence[IngressRow], since: str) -> None:
    for notifier in NOTIFIERS:
        values = sorted(updates_ms(rows, notifier, since))
        if values:
            shares = [100.0 * (number + 1) / len(values) for number in range(len(values))]
            (line,) = axes.step(
                [values[0], *values], [0.0, *shares], where="post", label=f"notified by {notifier.name}", lw=1.8
            )
            line.set(color=COLOURS[notifier], linestyle=_STYLES[notifier])
    if not axes.lines:
        say_empty(axes)
        return
    axes.set_xlabel(f"ms since {SINCE[since]}", color=INK)
    axes.set_ylabel("ingress updates done (%)", color=INK)
    axes.set_xlim(left=min(0.0, *(float(np.min(line.get_xdata())) for line in axes.lines)))
    axes.set_ylim(0, 101)


FIGURE = PaperFigure(
    ID,
    "beyond",
    "Beyond: when the ingress has repartitioned its ranges, notified by agents or by the controller",
    trials,
    ROWS.on(claims),
    ROWS.on(draw),
    ROWS.on(table),
    with_paper="kuijia",
)
