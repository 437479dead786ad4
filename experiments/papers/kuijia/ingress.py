"""How long an ingress switch takes to cut its hash ranges anew after a failure: told by the controller, or by agents.

Beyond the paper, whose controller tells. Gscale, five pairs drawn by lot, three tunnels a pair, both directions; one
link after another is cut silently. Rows say, of every ingress switch with a dead tunnel, when its last new row was in
force (Open vSwitch's flow monitor), from the cut and from the first report of a dead port at the link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.campaign.statistics import Estimate
from experiments.campaign.values import Arm, CampaignPlan, Json, Trial
from experiments.campaign.verdicts import Claim, ClaimResult, judge
from experiments.papers.figure import Table
from experiments.papers.kuijia.testbed import GSCALE, SINGLE, TUNNELS, demands_of
from mininet_topos.catalogue import load_topology

ID = "kuijia-ingress"
DEMAND_MBPS = 1200
ROUNDS, QUICK_ROUNDS = 3, 1
FAILURES, QUICK_FAILURES = 36, 12  # of every round and teller
PERCENTILES = (50, 99)
HEADER = ("who tells", "since", *(f"p{each} (ms)" for each in PERCENTILES), "most (ms)", "updates", "failures")
RESULT_VERSION = 1


class Teller(NamedTuple):
    """Who tells the ingress, and the one-way delay of control links (it matters to a controller only)."""

    told_by: str
    control_delay_ms: float

    @property
    def name(self) -> str:
        """As it stands in trials and tables."""
        return self.told_by if self.told_by == "agent" else f"{self.told_by}, {self.control_delay_ms:g} ms away"


TELLERS = (Teller("agent", 0.0), Teller("controller", 0.0), Teller("controller", 5.0))
SINCE = {"from_cut_ms": "the cut", "from_detection_ms": "detection"}


def trials(plan: CampaignPlan) -> tuple[Trial, ...]:
    """One trial a failure; a round has its own pairs, and its failures are the same for all tellers."""
    rounds = plan.rounds or (QUICK_ROUNDS if plan.quick else ROUNDS)
    failures = QUICK_FAILURES if plan.quick else FAILURES
    return tuple(
        Trial(
            trial_id=f"{ID}/round{drawing:02d}-{teller.told_by}-{teller.control_delay_ms:g}ms-{number:02d}-{link}",
            kind="ingress",
            topology=GSCALE,
            arm=Arm("kuijia"),
            round=drawing + 1,
            failures=1,
            links=(link,),
            pairs=tuple((each.src, each.dst) for each in demands_of(drawing, plan.seed, DEMAND_MBPS, SINGLE)),
            load=None,
            timing=None,
            seed=plan.seed,
            parameters={
                "version": RESULT_VERSION,
                "network": teller.name,
                "told_by": teller.told_by,
                "control_delay_ms": teller.control_delay_ms,
                "drawing": drawing,
                "seed": plan.seed,
                "demand_mbps": DEMAND_MBPS,
                "queues": SINGLE,
            },
        )
        for drawing in range(rounds)
        for teller in TELLERS
        for number, link in enumerate(_links(drawing, plan.seed, failures))
    )


def _links(drawing: int, seed: int, count: int) -> Iterator[str]:
    """Links that carry a tunnel, in an order drawn by lot; again from the first when there are fewer than `count`."""
    from ryu_apps.plan.kuijia.sources import equal_commodities

    topology = load_topology(GSCALE)
    pairs = [(each.src, each.dst) for each in demands_of(drawing, seed, DEMAND_MBPS, SINGLE)]
    commodities = equal_commodities(topology, pairs, TUNNELS)
    links = sorted({topology.link_id(hop) for each in commodities for path in each.paths for hop in path})
    order = np.random.default_rng([seed, drawing]).permutation(len(links))
    return (str(links[order[number % len(links)]]) for number in range(count))


def updates_ms(rows: Sequence[Json], teller: Teller, since: str) -> list[float]:
    """Update times (ms) of all ingress switches of a teller's good trials.

    Parameters
    ----------
    rows : sequence of dict
    teller : Teller
    since : str
        A key of `SINCE`.
    """
    return [each[since] for row in _rows_of(rows, teller) for each in row["ingresses"] if each[since] is not None]


def _rows_of(rows: Sequence[Json], teller: Teller) -> list[Json]:
    own = (row for row in rows if row.get("kind") == "ingress" and row["trial"].startswith(f"{ID}/"))
    return [row for row in own if row["parameters"]["network"] == teller.name and "ingresses" in row]


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Percentiles of the update time of every teller; the paper gives none."""
    results = []
    for since, words in SINCE.items():
        for percentile in PERCENTILES:
            for teller in TELLERS:
                claim = Claim(f"ingress updated after {words}, p{percentile}, told by {teller.name}", "ms", None, None)
                results.append(judge(claim, percentile_of(updates_ms(rows, teller, since), percentile)))
    return results


def percentile_of(values: Sequence[float], percentile: int) -> Estimate | None:
    """A percentile; None without values. It has no interval: failures on one network are not independent."""
    return Estimate(float(np.percentile(values, percentile)), None, None) if values else None


def table(rows: Sequence[Json]) -> Table:
    """Percentiles by teller, from the cut and from detection."""
    found = []
    for teller in TELLERS:
        for since, words in SINCE.items():
            values = updates_ms(rows, teller, since)
            if values:
                shown = (*(np.percentile(values, each) for each in PERCENTILES), max(values))
                counts = (str(len(values)), str(len(_rows_of(rows, teller))))
                found.append((teller.name, words, *(f"{each:.1f}" for each in shown), *counts))
    return Table(HEADER, tuple(found))


def missed(rows: Sequence[Json]) -> Mapping[str, int]:
    """Ingress switches with a dead tunnel that did not cut anew in time, by teller."""
    return {
        teller.name: sum(each["from_cut_ms"] is None for row in _rows_of(rows, teller) for each in row["ingresses"])
        for teller in TELLERS
    }
