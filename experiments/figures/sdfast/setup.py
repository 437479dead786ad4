"""Set-up of SD-FAST's evaluation: variants, loads, windows, and the trials of every figure.

Scaled to an emulation on one machine: links of 5 Mbit/s instead of the paper's unshaped ones, seconds instead of ten
minutes, a file of 1.5 megabytes instead of 200 to 350 MB. Ratios are what is compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from experiments.analysis.crankback import CrankbackCase, crankback_cases
from experiments.campaign.draws.nodes import draw_nodes
from experiments.campaign.draws.paths import MOST_FAILURES, Draw, Pair, draw_rounds, hops_back, most_sharing
from experiments.campaign.kinds.cost import CostParameters
from experiments.campaign.kinds.knowledge import KnowledgeParameters
from experiments.campaign.kinds.probed import DownloadParameters, WatchedParameters
from experiments.campaign.kinds.verify import VerifyParameters
from experiments.campaign.values import CampaignPlan, Load, Timing, Trial, Variant
from experiments.charts.canvas import PALETTE
from mininet_topos.catalogue import list_topologies, load_topology
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.choices import NO_MODE, OFF
from ryu_apps.schemes import find_scheme

FULL_ROUNDS = 5
QUICK_ROUNDS = 1

CAPACITY_MBPS = 5.0
# Traffic on shortest paths fills the fullest link to this share, before the failure and after it.
FULLEST_LINK = 0.7
# Agents of 28 switches share this machine's cores; a longer interval asks less of all of them in the same instant.
PING_INTERVAL_MS = 20.0
FAST_PING_INTERVAL_MS = 5.0
# Two pairs at 1,000 packets a second each way are what two cores forward, capture and answer beside 28 switches.
BUSY_PING_INTERVAL_MS, BUSY_PAIRS = 1.0, 2
DOWNLOAD_BYTES, GIVE_UP_S = 1_500_000, 60.0
# Shares of capacity that figures of throughput sweep beside `FULLEST_LINK`, and the numbers of failures they do it for.
LOADS, QUICK_LOADS = (0.5, 0.85, 1.0, 1.2), (0.5, 1.2)
SWEPT_FAILURES = (1, MOST_FAILURES)
TIMING = Timing(before_s=1.5, transient_s=1.0, converged_s=2.0)
FLOW_PAIRS = 4
LINKS_A_ROUND = 4
# Sets of failed links that the interpreter draws where there are too many to try all.
QUICK_SAMPLE, FULL_SAMPLE = 40, 500
QUICK_COST_REPETITIONS, FULL_COST_REPETITIONS = 5, 20

# The paper's planner and mode, which its figures judge, and ours beside it; both notify switches in the data plane.
AGENT_PAIR = Variant("sdfast", "agent", "pair")
LEARNED = Variant("sdfast", "learned", "tree")
# To the letter of the paper: each switch learns of a failure from its own packets.
AGENT_OFF, LEARNED_OFF = UNNOTIFIED = replace(AGENT_PAIR, notification=OFF), replace(LEARNED, notification=OFF)
FFG, CB = Variant("ffg"), Variant("cb")
# The delay at which figures with one CBC are judged, fixed before anything was measured.
CBC = Variant("cbc", control_delay_ms=5.0)
CBC_AT_ONCE, CBC_FAR = Variant("cbc", control_delay_ms=0.0), Variant("cbc", control_delay_ms=20.0)
# A round trip of 410 ms, with which a rewriting takes what the paper's controller took.
CBC_AS_PAPER = Variant("cbc", control_delay_ms=205.0)
RESTORATION = Variant("restoration", control_delay_ms=5.0)
FFG_RESTORATION = Variant("ffg_restoration", control_delay_ms=5.0)
# What the interpreter decides knows no delay.
RESTORATION_AT_ONCE = Variant("restoration", control_delay_ms=0.0)
FFG_RESTORATION_AT_ONCE = Variant("ffg_restoration", control_delay_ms=0.0)
SHORTEST = Variant("shortest")

_OWN = {variant: find_scheme(variant.scheme) for variant in (AGENT_PAIR, FFG, CB, CBC, RESTORATION, FFG_RESTORATION)}
# A scheme keeps its colour from picture to picture.
COLOURS: Mapping[Variant, str] = {
    **{variant: scheme.colour for variant, scheme in _OWN.items()},
    LEARNED: PALETTE[6],
    AGENT_OFF: "#8fb8de",
    LEARNED_OFF: "#a9c77f",
    CBC_AT_ONCE: "#f0a878",
    CBC_FAR: "#9a3f06",
    CBC_AS_PAPER: "#5c2200",
}

LABELS = {
    AGENT_PAIR: _OWN[AGENT_PAIR].label,
    LEARNED: f"{_OWN[AGENT_PAIR].label} learned",
    AGENT_OFF: f"{_OWN[AGENT_PAIR].label}, notification off",
    LEARNED_OFF: f"{_OWN[AGENT_PAIR].label} learned, notification off",
    FFG: _OWN[FFG].label,
    CB: _OWN[CB].label,
    **{
        variant: f"{_OWN[CBC].label} {variant.control_delay_ms:g} ms"
        for variant in (CBC, CBC_AT_ONCE, CBC_FAR, CBC_AS_PAPER)
    },
    RESTORATION: _OWN[RESTORATION].label,
    FFG_RESTORATION: _OWN[FFG_RESTORATION].label,
}

BOTH_MODES = (AGENT_PAIR, LEARNED)
RECOVERING = (*BOTH_MODES, CB, CBC)
ON_USNET = (*BOTH_MODES, FFG, CB, CBC)
ON_DARKSTRAND = (*ON_USNET, RESTORATION, FFG_RESTORATION)
BACKTRACKING = (*BOTH_MODES, *UNNOTIFIED, CBC_AT_ONCE, CBC, CBC_FAR)
ENDING_THE_WALK = (*BOTH_MODES, *UNNOTIFIED, CBC)
BUSY, QUICK_BUSY = ENDING_THE_WALK, (*BOTH_MODES, CBC)
ON_BUSY_USNET = (*BOTH_MODES, FFG)
STAGED = (*ON_DARKSTRAND, *UNNOTIFIED)
VERIFIED = (
    AGENT_PAIR,
    LEARNED,
    CB,
    CBC_AT_ONCE,
    FFG,
    RESTORATION_AT_ONCE,
    FFG_RESTORATION_AT_ONCE,
    SHORTEST,
)

DARKSTRAND, USNET = "darkstrand", "usnet"
EVERY_NUMBER = tuple(range(MOST_FAILURES + 1))
FAIL_FREE_AND_MOST = (0, MOST_FAILURES)


def rounds_of(plan: CampaignPlan) -> int:
    """How many rounds a campaign has."""
    return plan.rounds or (QUICK_ROUNDS if plan.quick else FULL_ROUNDS)


@lru_cache(maxsize=16)
def draws_of(topology: str, rounds: int, seed: int) -> tuple[Draw, ...]:
    """Pairs and links of every round on a topology of the catalogue."""
    return draw_rounds(load_topology(topology), rounds, seed)


def udp_mbps(topology: Topology, draw: Draw, share: float = FULLEST_LINK) -> float:
    """Rate that each pair offers, so that no shortest path has more than this share, whichever of the links fail.

    What is lost or queued beyond that is the doing of the scheme. Every variant and every number of failures of a round
    has the same rate.
    """
    fullest = max(most_sharing(topology, draw.pairs, frozenset(draw.links[:count])) for count in EVERY_NUMBER)
    return math.floor(1000 * share * CAPACITY_MBPS / fullest) / 1000


def mixed_trials(
    plan: CampaignPlan, topology: str, numbers: Sequence[int], variants: Sequence[Variant]
) -> Iterator[Trial]:
    """Pings and UDP on the pairs of each round, with so many links failed at once."""
    network = load_topology(topology)
    for number, draw in enumerate(draws_of(topology, rounds_of(plan), plan.seed), 1):
        load = Load(True, PING_INTERVAL_MS, udp_mbps(network, draw), None, CAPACITY_MBPS)
        for variant in variants:
            for failures in numbers:
                yield emulated(plan, "mixed", topology, variant, (number, failures, draw), load=load)


def swept_trials(plan: CampaignPlan, numbers: Sequence[int], variants: Sequence[Variant]) -> Iterator[Trial]:
    """As `mixed_trials` on Darkstrand, at other loads: from half of what the fullest link carries to more than that."""
    network = load_topology(DARKSTRAND)
    for number, draw in enumerate(draws_of(DARKSTRAND, rounds_of(plan), plan.seed), 1):
        for share in loads_of(plan):
            load = Load(True, PING_INTERVAL_MS, udp_mbps(network, draw, share), None, CAPACITY_MBPS)
            for variant in variants:
                for failures in numbers:
                    trial = emulated(plan, "mixed", DARKSTRAND, variant, (number, failures, draw), load=load)
                    name = f"{trial.trial_id}/load-{share:g}"
                    yield replace(trial, trial_id=name, parameters=WatchedParameters(load=share))


def loads_of(plan: CampaignPlan) -> tuple[float, ...]:
    """Loads that a campaign sweeps."""
    return QUICK_LOADS if plan.quick else LOADS


def node_trials(plan: CampaignPlan, variants: Sequence[Variant]) -> Iterator[Trial]:
    """Pings and UDP on pairs whose way leads through a switch of Darkstrand, all links of which fail at once."""
    network = load_topology(DARKSTRAND)
    for number, draw in enumerate(draw_nodes(network, rounds_of(plan), plan.seed), 1):
        fullest = max(most_sharing(network, draw.pairs, frozenset(links)) for links in ((), draw.links))
        rate_mbps = math.floor(1000 * FULLEST_LINK * CAPACITY_MBPS / fullest) / 1000
        load = Load(True, PING_INTERVAL_MS, rate_mbps, None, CAPACITY_MBPS)
        for variant in variants:
            yield emulated(plan, "node", DARKSTRAND, variant, (number, len(draw.links), draw), load=load)


def download_trials(plan: CampaignPlan, numbers: Sequence[int], variants: Sequence[Variant]) -> Iterator[Trial]:
    """A file for every pair at once on Darkstrand, fetched with wget."""
    load = Load(False, PING_INTERVAL_MS, None, DOWNLOAD_BYTES, CAPACITY_MBPS)
    for number, draw in enumerate(draws_of(DARKSTRAND, rounds_of(plan), plan.seed), 1):
        for variant in variants:
            for failures in numbers:
                yield emulated(plan, "download", DARKSTRAND, variant, (number, failures, draw), load=load)


def flow_trials(plan: CampaignPlan, variants: Sequence[Variant]) -> Iterator[Trial]:
    """A few fast pings with long crankbacks, one link failed; every round has its own link."""
    load = Load(True, FAST_PING_INTERVAL_MS, None, None, CAPACITY_MBPS)
    walks = longest_walks(load_topology(DARKSTRAND))[: rounds_of(plan)]
    for number, (link, pairs) in enumerate(walks, 1):
        for variant in variants:
            yield emulated(plan, "flow", DARKSTRAND, variant, (number, 1, Draw(pairs, (link,))), load=load)


def knowledge_trials(plan: CampaignPlan, variants: Sequence[Variant], topology: str = DARKSTRAND) -> Iterator[Trial]:
    """As `flow_trials`, several links a round one after another, with the tables of all switches watched."""
    load = Load(True, FAST_PING_INTERVAL_MS, None, None, CAPACITY_MBPS)
    walks = longest_walks(load_topology(topology))[: LINKS_A_ROUND * rounds_of(plan)]
    for place, (link, pairs) in enumerate(walks):
        for variant in variants:
            where = (1 + place // LINKS_A_ROUND, 1, Draw(pairs, (link,)))
            trial = emulated(plan, "knowledge", topology, variant, where, load=load)
            yield replace(trial, trial_id=f"{trial.trial_id}/{link}", parameters=KnowledgeParameters())


def busy_trials(plan: CampaignPlan, topology: str, variants: Sequence[Variant]) -> Iterator[Trial]:
    """Pings 1 ms apart and nothing else, four links failed at once.

    Each round takes the pairs of its draw whose first packets, out and back, backtrack farthest.
    """
    network = load_topology(topology)
    load = Load(True, BUSY_PING_INTERVAL_MS, None, None, CAPACITY_MBPS)
    for number, draw in enumerate(draws_of(topology, rounds_of(plan), plan.seed), 1):
        farthest = sorted(draw.pairs, key=lambda pair: -sum(hops_back(network, pair, draw.links)))[:BUSY_PAIRS]
        for variant in variants:
            where = (number, MOST_FAILURES, Draw(tuple(farthest), draw.links))
            yield emulated(plan, "flow", topology, variant, where, load=load)


def emulated(
    plan: CampaignPlan, kind: str, topology: str, variant: Variant, where: tuple[int, int, Draw], *, load: Load
) -> Trial:
    """One trial on an emulated network; `where` is its round, how many links fail, and its draw."""
    number, failures, draw = where
    return Trial(
        trial_id=f"{topology}/r{number}/k{failures}/{kind}/{variant.name}",
        kind=kind,
        topology=topology,
        variant=variant,
        round=number,
        failures=failures,
        links=tuple(str(link) for link in draw.links[:failures]),
        pairs=draw.pairs,
        load=load,
        timing=TIMING,
        seed=plan.seed,
        parameters=DownloadParameters(give_up_s=GIVE_UP_S) if kind == "download" else WatchedParameters(),
    )


def longest_walks(topology: Topology) -> list[tuple[LinkId, tuple[Pair, ...]]]:
    """Links by how far their failure makes packets backtrack, with the pairs that walk farthest.

    Returns
    -------
    list of (LinkId, pairs)
        Links on the primary paths of at least `FLOW_PAIRS` pairs (a pair and its reverse count once), the largest sum
        of hops back first; ties in link order.
    """
    by_link: dict[LinkId, list[CrankbackCase]] = {}
    for case in crankback_cases(topology):
        by_link.setdefault(case.link, []).append(case)
    ranked = []
    for link in topology.link_ids:
        chosen: dict[Pair, int] = {}
        for case in sorted(by_link.get(link, ()), key=lambda case: -case.hops_back):
            if (case.destination, case.source) not in chosen and len(chosen) < FLOW_PAIRS:
                chosen[case.source, case.destination] = case.hops_back
        if len(chosen) == FLOW_PAIRS:
            ranked.append((-sum(chosen.values()), link, tuple(chosen)))
    ranked.sort(key=lambda entry: entry[0])
    return [(link, pairs) for _, link, pairs in ranked]


def verify_trials(plan: CampaignPlan, topologies: Sequence[str], numbers: Sequence[int]) -> Iterator[Trial]:
    """What the interpreter decides: every scheme, every single failure or a sample of the sets of several."""
    sample = QUICK_SAMPLE if plan.quick else FULL_SAMPLE
    for topology in topologies:
        for failures in numbers:
            for variant in VERIFIED:
                name = variant.scheme if variant.mode == NO_MODE else variant.name
                yield Trial(
                    trial_id=f"{topology}/k{failures}/verify/{name}",
                    kind="verify",
                    topology=topology,
                    variant=variant,
                    round=1,
                    failures=failures,
                    links=(),
                    pairs=(),
                    load=None,
                    timing=None,
                    seed=plan.seed,
                    parameters=VerifyParameters(None if failures == 1 else sample),
                )


def bundled_topologies() -> tuple[str, ...]:
    """Names of every topology that comes with Armor; generators have none of their own."""
    return tuple(row.name for row in list_topologies() if row.kind != "generator")


def cost_trials(plan: CampaignPlan) -> Iterator[Trial]:
    """What a packet costs a switch by each chain of tables; a trial is one repetition of all of them."""
    for number in range(1, (QUICK_COST_REPETITIONS if plan.quick else FULL_COST_REPETITIONS) + 1):
        yield Trial(
            trial_id=f"cost/r{number}",
            kind="cost",
            topology=DARKSTRAND,
            variant=None,
            round=number,
            failures=0,
            links=(),
            pairs=(),
            load=None,
            timing=None,
            seed=plan.seed,
            parameters=CostParameters(),
        )
