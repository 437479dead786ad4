"""x-why-agents: is agent mode slow because as many agents as switches wait for the same two processors?

Explains every "differs" of agent mode alone: x-knowledge, and delays of sdfast-fig5 and fig7. The factor is the number
of switches, and with it of agents: 8, 12 and 28 on one machine. One link fails; when does each route know? Learned mode
stands beside, which has no agents: what distance alone does shows there. Claims were set before the first run. If the
cause is right, the last route knows the sooner the fewer agents there are, and with 8 nine of ten know in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.knowledge import KnowledgeRow
from experiments.campaign.statistics import Estimate
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.campaign.verdicts import MARGIN, AtLeast, Claim, ClaimResult, judge, judge_order
from experiments.charts import canvas
from experiments.charts.canvas import INK, whisker
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import cell
from experiments.figures.sdfast.setup import COLOURS, LABELS
from experiments.figures.sdfast.x_knowledge import GOAL_MS, of_variant, times_ms, within_percent
from mininet_topos.catalogue import load_topology

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TOPOLOGIES = ("figure2", "gscale", setup.DARKSTRAND)  # fewest switches first
SWITCHES = {name: len(load_topology(name).node_names) for name in TOPOLOGIES}
FEWEST = AtLeast(90.0)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Both modes on each network, one failed link a trial."""
    return tuple(trial for name in TOPOLOGIES for trial in setup.knowledge_trials(plan, setup.BOTH_MODES, name))


def rows_of(rows: Sequence[Json], topology: str, variant: Variant) -> list[KnowledgeRow]:
    """Good rows of a variant on a network, of failures that concern a route."""
    return [row for row in of_variant(rows, variant, topology) if row.routes]


def last_ms(rows: Sequence[Json], topology: str, variant: Variant) -> Estimate | None:
    """Mean over failures of the time until the last route knew; all the time watched where one never did."""
    own = rows_of(rows, topology, variant)
    return measures.estimate(min(max(times_ms([row])), row.watched_ms or 0.0) for row in own)


def in_time(rows: Sequence[Json], topology: str, variant: Variant) -> Estimate | None:
    """Mean over failures of the share of routes that knew within the goal's time (%)."""
    return measures.estimate(within_percent(row) for row in rows_of(rows, topology, variant))


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """More agents, later knowledge; and with few agents most know in time."""
    agent, fewest = setup.AGENT_PAIR, TOPOLOGIES[0]
    order = {_name(name): last_ms(rows, name, agent) for name in TOPOLOGIES}
    what = f"routes that know within {GOAL_MS:g} ms of detection"
    share = Claim(f"{what}, {LABELS[agent]}, {_name(fewest)}", "%", "if this is the cause: 90", FEWEST, asks=MARGIN)
    beside = [
        judge(Claim(f"{what}, {LABELS[variant]}, {_name(name)}", "%"), in_time(rows, name, variant))
        for name in TOPOLOGIES
        for variant in setup.BOTH_MODES
        if (name, variant) != (fewest, agent)
    ]
    return [
        judge_order(f"time until the last route knows, {LABELS[agent]}", "ms", order),
        judge(share, in_time(rows, fewest, agent)),
        *beside,
    ]


def _name(topology: str) -> str:
    return f"{topology}, {SWITCHES[topology]} switches"


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Time until the last route knows, and the share in time, over the number of switches."""
    figure, axes_of = canvas.panels("Is it the number of agents? One failed link, routes that know of it", 2)
    labels = ("last route knows, ms since detection", f"routes that know within {GOAL_MS:g} ms, %")
    for axes, label, measure in zip(axes_of, labels, (last_ms, in_time), strict=True):
        for variant in setup.BOTH_MODES:
            found = {SWITCHES[name]: measure(rows, name, variant) for name in TOPOLOGIES}
            known = {count: each for count, each in found.items() if each is not None}
            style: dict[str, Any] = {"marker": "o", "color": COLOURS[variant], "label": LABELS[variant]}
            axes.plot(list(known), [each.value for each in known.values()], **style)
            for count, each in known.items():
                whisker(axes, count, each)
        axes.set_ylim(bottom=0)
        axes.set_xticks(list(SWITCHES.values()))
        axes.set_xlabel("switches on this machine (as many agents in agent mode)", color=INK)
        axes.set_ylabel(label, color=INK)
    canvas.legend(figure, axes_of[0])
    facts = [f"{', '.join(map(_name, TOPOLOGIES))}.", "Learned mode has no agents: it shows what distance does."]
    return canvas.finish(figure, [*facts, "Whiskers are 95 % intervals over failures."], caption)


def table(rows: Sequence[Json]) -> Table:
    """Both values of each mode on each network."""
    header = ("network", "switches", "scheme", "failures", "last route, ms", f"within {GOAL_MS:g} ms, %")
    found = []
    for name in TOPOLOGIES:
        for variant in setup.BOTH_MODES:
            own = rows_of(rows, name, variant)
            if own:
                values = (cell(measure(rows, name, variant), 1) for measure in (last_ms, in_time))
                found.append((name, str(SWITCHES[name]), LABELS[variant], str(len(own)), *values))
    return Table(header, tuple(found))


FIGURE = PaperFigure(
    "x-why-agents",
    "beyond",
    "Why agent mode is slow: the number of agents on one machine",
    trials,
    claims,
    draw,
    table,
    with_paper="sd-fast",
)
