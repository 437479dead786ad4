"""x-why-pairs: is it our choice of pairs that makes FFG, and agent mode, worse on USNET than in the paper?

Explains every "differs" of sdfast-fig5 and fig6 on USNET. Eight of the twelve pairs of a round are drawn among those
whose packets backtrack; FFG drops these, since the switch beside the failure has no other way, and agents first learn.
The factor is the pair: of six in each trial no packet backtracks, out or back; of the other six one does. Both kinds
share trials, links and load. If the choice of pairs is the cause, all schemes lie close for the first six. The margins
are those of the figures, set before anything was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.campaign.draws.paths import (
    MOST_FAILURES,
    MOST_MET,
    Draw,
    Pair,
    hops_back,
    links_met,
    primary_paths,
)
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.kinds.probed import CHOSEN_PAIRS
from experiments.campaign.values import CampaignPlan, Json, Load, Trial
from experiments.campaign.verdicts import ClaimResult
from experiments.charts import canvas
from experiments.charts.canvas import INK, grouped
from experiments.figures.sdfast import measures, setup
from experiments.figures.sdfast.comparisons import (
    CLOSE,
    CLOSE_DELAYS,
    CLOSE_THROUGHPUTS,
    ON_USNET,
    SCALED,
    cell,
    delay_change,
    throughput_change,
)
from experiments.figures.sdfast.measures import AFTER, Choice
from experiments.figures.sdfast.setup import COLOURS, LABELS
from mininet_topos.catalogue import load_topology
from te_solver.routes import ResidualRoutes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PAIRS_OF_A_KIND = 6
KINDS = {False: "no packet backtracks", True: "packets backtrack"}
VARIANTS = (*setup.BOTH_MODES, *ON_USNET)
CHOICE = Choice(CHOSEN_PAIRS.name, setup.USNET, (MOST_FAILURES,))


@lru_cache(maxsize=4)
def draws_of(rounds: int, seed: int) -> tuple[Draw, ...]:
    """Links of the figures' rounds; pairs of both kinds that cross one of them and know of as many as tags name."""
    topology = load_topology(setup.USNET)
    routes, paths = ResidualRoutes(topology), primary_paths(topology)
    generator, draws = np.random.default_rng(seed), []
    for draw in setup.draws_of(setup.USNET, rounds, seed):
        failed = frozenset(draw.links)
        able = [
            pair
            for pair, path in paths.items()
            if pair[0] < pair[1]
            and len({topology.link_id(each) for each in path} & failed) == 1
            and all(links_met(routes, way, failed) <= MOST_MET for way in (pair, pair[::-1]))
        ]
        chosen: list[Pair] = []
        for kind in KINDS:
            own = [pair for pair in able if any(hops_back(topology, pair, draw.links)) == kind]
            chosen += [own[number] for number in generator.permutation(len(own))[:PAIRS_OF_A_KIND]]
        draws.append(Draw(tuple(chosen), draw.links))
    return tuple(draws)


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """Four links of USNET failed at once under pings and UDP of both kinds of pairs, every variant."""
    topology, found = load_topology(setup.USNET), []
    for number, draw in enumerate(draws_of(setup.rounds_of(plan), plan.seed), 1):
        load = Load(True, setup.PING_INTERVAL_MS, setup.udp_mbps(topology, draw), None, setup.CAPACITY_MBPS)
        where = (number, MOST_FAILURES, draw)
        found += [
            setup.emulated(plan, CHOSEN_PAIRS.name, setup.USNET, variant, where, load=load) for variant in VARIANTS
        ]
    return tuple(found)


def of_kind(rows: Sequence[Json], backtracks: bool) -> list[Json]:
    """The same rows with the pairs of one kind alone."""
    topology = load_topology(setup.USNET)
    ids = {str(link): link for link in topology.link_ids}

    def kept(row: Json) -> list[Json]:
        links = [ids[name] for name in row["links"]]
        return [
            pair
            for pair in row["pairs"]
            if any(hops_back(topology, (pair["source"], pair["destination"]), links)) == backtracks
        ]

    own = (row for row in measures.good_rows(rows) if row["kind"] == CHOSEN_PAIRS.name)
    return [{**row, "pairs": kept(row)} for row in own]


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Where no packet backtracks all schemes are close; pairs whose packets do stand beside, not judged."""
    results = []
    for backtracks, words in KINDS.items():
        own = of_kind(rows, backtracks)
        for change, margin in ((delay_change, CLOSE_DELAYS), (throughput_change, CLOSE_THROUGHPUTS)):
            for opponent in ON_USNET:
                held: dict[str, Any] = {} if backtracks else {"paper": CLOSE, "band": margin}
                result = change(own, CHOICE, (opponent, setup.AGENT_PAIR), AFTER, **held)
                results.append(replace(result, name=f"{result.name}, {words}"))
    return results


def draw(rows: Sequence[Json], caption: str) -> Figure:
    """Delay and throughput of every variant, for both kinds of pairs."""
    figure, axes_of = canvas.panels("Is it the choice of pairs? USNET, four links failed at once", 2)
    labels = ("mean round trip, ms", "UDP delivered, % of offered")
    for axes, label, measure in zip(axes_of, labels, (measures.delay_ms, measures.goodput_percent), strict=True):
        values = {
            variant: [
                measures.pair_estimate(measures.chosen(of_kind(rows, each), CHOICE, variant), measure(AFTER))
                for each in KINDS
            ]
            for variant in VARIANTS
            if measures.chosen(rows, CHOICE, variant)
        }
        grouped(axes, list(KINDS.values()), values, LABELS, COLOURS)
        axes.set_ylabel(label, color=INK)
    canvas.legend(figure, axes_of[0])
    facts = [f"{PAIRS_OF_A_KIND} pairs of each kind a round, in the same trials; everything after the failure."]
    return canvas.finish(figure, [*facts, SCALED], caption)


def table(rows: Sequence[Json]) -> Table:
    """Delay, throughput and lost pings of every variant, for both kinds of pairs."""
    header = ("scheme", "pairs", "counted", "delay, ms", "throughput, % of offered", "pings lost, %")
    found = []
    for backtracks, words in KINDS.items():
        for variant in VARIANTS:
            own = measures.chosen(of_kind(rows, backtracks), CHOICE, variant)
            if own:
                counted = sum(len(measures.counted_pairs(row)) for row in own)
                values = (
                    cell(measures.pair_estimate(own, measure(AFTER)))
                    for measure in (measures.delay_ms, measures.goodput_percent, measures.lost_percent)
                )
                found.append((LABELS[variant], words, str(counted), *values))
    return Table(header, tuple(found))


FIGURE = PaperFigure(
    "x-why-pairs",
    "beyond",
    "Why schemes differ on USNET: which pairs talk",
    trials,
    claims,
    draw,
    table,
    with_paper="sd-fast",
)
