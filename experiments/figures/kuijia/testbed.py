"""Set-up of Kuijia's measured evaluation (sections 3 and 5): who sends what over which tunnels, and what fails.

Gscale, five pairs drawn at random, three tunnels a pair, 0.8 to 1.6 Gbit/s a pair, and a link that fails. The network
is 100 times slower, for UDP 200 times: 1 Gbit/s is 10 or 5 Mbit/s of payload. Links are shaped 5 % faster than that,
since Ethernet, IP, TCP and label take 4.8 % of a full frame; flows send 97 % of what traffic engineering gives them,
since acknowledgements cross the links of other flows (2.3 %). So what traffic engineering calls full is full, and not
more than that. Links of Table 3 are not faster: its 470 and 470 Mbit/s are what TCP gets through a link of 1 Gbit/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from experiments.campaign.draws.tunnel_traffic import (
    FIGURE1,
    GSCALE,
    LINK_MBPS,
    LOW_TO_HIGH,
    PAIRS,
    SCALE,
    SINGLE,
    TUNNELS,
    UDP_SCALE,
    allocation_of,
)
from experiments.campaign.kinds.flows import FlowsParameters
from experiments.campaign.values import CampaignPlan, Load, Timing, Trial, Variant
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId
from te_solver.network import to_network

DEMANDS_MBPS, QUICK_DEMANDS_MBPS = (800, 1000, 1200, 1400, 1600), (800, 1200, 1600)
ROUNDS, QUICK_ROUNDS = 5, 1
HEADROOM = 1.05
OFFERED_SHARE = 0.97
# Paper's Mbit/s; what is less is no traffic, and three segments a second at this scale.
LEAST_ALLOCATED_MBPS = 10.0
# The paper's testbed rescaled by moving victims only; rescaling by hash ranges moves others too.
KUIJIA, RESCALING = Variant("kuijia"), Variant("rescaling_victims")
VARIANTS = (KUIJIA, RESCALING)
VARIANT_NAMES = {KUIJIA.name: "Kuijia", RESCALING.name: "rescaling"}
TCP, UDP = "tcp", "udp"
QUICK_TIMING = Timing(before_s=6.0, transient_s=9.0, converged_s=5.0)
TIMING = Timing(before_s=8.0, transient_s=15.0, converged_s=5.0)
# Tables 2 and 3: (offered by f1 and f2, by f3 and f4), Mbit/s of the paper.
TABLE_LOADS = {"table2": (400.0, 800.0), "table3": (500.0, 1000.0)}
TABLE_HEADROOM = {"table2": HEADROOM, "table3": 1.0}
FIGURE1_FAILURE = LinkId("s2", "s4")


@lru_cache(maxsize=64)
def failed_link(drawing: int, seed: int, least_mbps: float = LEAST_ALLOCATED_MBPS) -> LinkId:
    """Link that fails in a drawing: the same for all demands, schemes and transports.

    Drawn at random among the links that carry `least_mbps` at every demand of the full run, and leave every pair a
    tunnel.

    Raises
    ------
    BadInputError
        There is none.
    """
    network = to_network(load_topology(GSCALE))
    allocations = [allocation_of(drawing, seed, demand, None) for demand in DEMANDS_MBPS]
    tunnels = allocations[0].problem.tunnels
    candidates = []
    for number, link in enumerate(network.topology.link_ids):
        down = tunnels.down(network.link_of == number)
        survivors = np.bincount(tunnels.pair_of[~down], minlength=PAIRS)
        if survivors.all() and all(each.tunnel_mbps[down].sum() >= least_mbps for each in allocations):
            candidates.append(link)
    if not candidates:
        raise BadInputError(f"drawing {drawing} of seed {seed} has no link to fail; give another seed")
    index = np.random.default_rng((seed, drawing)).integers(len(candidates))
    return candidates[int(index)]


def rounds_of(plan: CampaignPlan) -> int:
    """How often everything is measured; every round has pairs and a link of its own."""
    return plan.rounds or (QUICK_ROUNDS if plan.quick else ROUNDS)


def gscale_trials(plan: CampaignPlan, transport: str, queues: str = SINGLE) -> tuple[Trial, ...]:
    """Trials on Gscale, demand by demand, schemes taking turns."""
    demands = QUICK_DEMANDS_MBPS if plan.quick else DEMANDS_MBPS
    scale = UDP_SCALE if transport == UDP else SCALE
    suffix = "" if scale == SCALE else f"-{LINK_MBPS / scale:g}mbps"
    return tuple(
        _trial(
            plan,
            variant,
            (GSCALE, drawing, failed_link(drawing, plan.seed)),
            FlowsParameters(
                network=f"{queues}-{demand_mbps}{suffix}",
                drawing=drawing,
                seed=plan.seed,
                transport=transport,
                queues=queues,
                scale=scale,
                headroom=HEADROOM,
                tunnels=TUNNELS,
                demand_mbps=demand_mbps,
                pairs=PAIRS,
                low_to_high=None if queues == SINGLE else LOW_TO_HIGH,
                offered_share=OFFERED_SHARE,
                least_allocated_mbps=LEAST_ALLOCATED_MBPS,
            ),
        )
        for drawing in range(1, rounds_of(plan) + 1)
        for demand_mbps in demands
        for variant in VARIANTS
    )


def figure1_trials(
    plan: CampaignPlan,
    table: str,
    transport: str = TCP,
    variants: Sequence[Variant] = VARIANTS,
    *,
    random_intervals: bool = False,
) -> tuple[Trial, ...]:
    """Trials of Table 2 or 3, schemes taking turns."""
    return tuple(
        _trial(
            plan,
            variant,
            (FIGURE1, drawing, FIGURE1_FAILURE),
            FlowsParameters(
                network=f"{SINGLE}-{table}",
                drawing=drawing,
                seed=plan.seed,
                transport=transport,
                queues=SINGLE,
                scale=SCALE,
                headroom=TABLE_HEADROOM[table],
                tunnels=TUNNELS,
                table=table,
                table_mbps=TABLE_LOADS[table],
                random_intervals=random_intervals,
            ),
        )
        for drawing in range(1, rounds_of(plan) + 1)
        for variant in variants
    )


def _trial(plan: CampaignPlan, variant: Variant, where: tuple[str, int, LinkId], own: FlowsParameters) -> Trial:
    topology, drawing, link = where
    what = own.table if own.table and own.transport == TCP else f"{own.table or own.network}/{own.transport}"
    what += "-random" if own.random_intervals else ""
    return Trial(
        trial_id=f"kuijia/{topology}/r{drawing}/{what}/{variant.name}",
        kind="flows",
        topology=topology,
        variant=variant,
        round=drawing,
        failures=1,
        links=(str(link),),
        pairs=(),
        load=Load(False, 0.0, None, None, LINK_MBPS / own.scale),
        timing=QUICK_TIMING if plan.quick else TIMING,
        seed=plan.seed,
        parameters=own,
    )
