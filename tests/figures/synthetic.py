"""Rows of trials made up in the shape of rows.jsonl, so that what they hold is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from experiments.analysis import timeline
from experiments.campaign.kinds.cost import CostMeasured, PathCost
from experiments.campaign.parameters import plain
from experiments.campaign.values import CampaignPlan, Json, Trial, Variant
from experiments.figures.sdfast import setup, x_packet_cost
from tests.figures.found import figures_in

FIGURES = figures_in("sdfast")
WINDOWS = {"fail_free": [-1.5, 0.0], "transient": [0.0, 1.0], "converged": [1.0, 3.0]}
PLAN = CampaignPlan(quick=False, seed=5, rounds=2)
# Delay factor, share of UDP delivered, and seconds a file, once links fail.
BEHAVIOUR: dict[str, tuple[float, float, float]] = {
    "sdfast": (1.0, 0.99, 2.0),
    "cbc": (1.4, 0.9, 3.0),
    "cb": (2.2, 0.7, 5.5),
    "ffg": (1.1, 0.2, 9.0),
    "restoration": (1.3, 0.8, 4.0),
    "ffg_restoration": (1.2, 0.85, 4.0),
}
STAGES = {"detect": 18.0, "switch_over": 24.0, "first_good": 25.0, "last_lost": 27.0, "last_crankback": 33.0}
Change = Callable[[Trial, Json], None]


def head(trial: Trial) -> Json:
    """What the machine adds to every row."""
    variant, load = trial.variant, trial.load
    return {
        "version": 1,
        "trial": trial.trial_id,
        "attempt": 1,
        "status": "ok",
        "error": None,
        "quick": False,
        "seed": trial.seed,
        "kind": trial.kind,
        "topology": trial.topology,
        "variant": variant.name if variant else None,
        "scheme": variant.scheme if variant else None,
        "round": trial.round,
        "failures": trial.failures,
        "links": list(trial.links),
        "udp_mbps": load.udp_mbps if load else None,
        "ping_interval_ms": load.ping_interval_ms if load else None,
        "parameters": trial.parameters.to_json(),
        "trustworthy": True,
        "warnings": [],
    }


def phase(trial: Trial, rtt_ms: float, delivered: float) -> Json:
    """One window of a pair: 100 pings."""
    assert trial.load is not None
    received = round(100 * delivered)
    rate = trial.load.udp_mbps
    return {
        "sent": 100,
        "received": received,
        "lost": 100 - received,
        "backtracked": 0,
        "rtt_mean_ms": rtt_ms if received else None,
        "rtt_p50_ms": rtt_ms if received else None,
        "rtt_p99_ms": rtt_ms if received else None,
        "udp_sent": 100,
        "udp_received": received,
        "goodput_mbps": None if rate is None else rate * delivered,
    }


def pair_of(trial: Trial, ends: tuple[str, str], generator: np.random.Generator) -> Json:
    """What a pair got: the same base delay for every variant, times what the variant does to it."""
    assert trial.variant is not None
    factor, delivered, seconds = BEHAVIOUR[trial.variant.scheme] if trial.failures else (1.0, 1.0, 1.5)
    base = 1.0 + float(generator.uniform(0.0, 2.0))
    jitter = float(generator.normal(1.0, 0.02))
    size = setup.DOWNLOAD_BYTES
    file = {"seconds": seconds, "bytes": size, "finished": True, "goodput_mbps": 8e-6 * size / seconds}
    return {
        "source": ends[0],
        "destination": ends[1],
        "primary": list(trial.links[:1]),
        "primary_back": list(trial.links[:1]),
        "hit": list(trial.links[:1]),
        "joined": True,
        "hops_back": 2,
        "phases": {
            "fail_free": phase(trial, base, 1.0),
            "transient": phase(trial, base * factor * jitter, delivered),
            "converged": phase(trial, base * factor * jitter, delivered),
        },
        "backtracked_out": int(trial.failures and generator.integers(1, 3)),
        "backtracked_back": int(trial.failures and generator.integers(1, 3)),
        "outage_ms": 20.0,
        "convergence_ms": 40.0 if trial.failures else 0.0,
        "backtracking_rtt_ms": 3.0 if trial.failures else None,
        "backtracking_rtt_back_ms": 4.0 if trial.failures else None,
        "download": file if trial.kind == "download" else None,
    }


def directions_of(trial: Trial, lasted_ms: float | None) -> list[Json]:
    """Both directions of every pair, whose packets all backtrack for so long."""
    if not trial.links:
        return []
    facts = {"link": trial.links[0], "detected_ms": 18.0, "backtracking_ms": lasted_ms, "outage_ms": 3.0}
    ends = [each for pair in trial.pairs for each in (pair, pair[::-1])]
    return [{"source": source, "destination": destination, **facts} for source, destination in ends]


def network_row(trial: Trial) -> Json:
    """Row of a trial that would need a network; the numbers follow from round and pair, so that variants are paired."""
    assert trial.variant is not None
    generator = np.random.default_rng((trial.seed, trial.round))
    stages: dict[str, float | None] = dict.fromkeys(timeline.STAGES)
    walked: Json | None = {"from_failure": 0.0, "from_detection": 0.0}
    if trial.failures:
        slow = {"sdfast": 0.0, "cb": 3000.0}.get(trial.variant.scheme, 20.0 + 2 * (trial.variant.control_delay_ms or 0))
        stages |= {name: value + slow * (name == "last_crankback") for name, value in STAGES.items()}
        walked = {"from_failure": 33.0 + slow, "from_detection": 15.0 + slow} if trial.variant.scheme != "cb" else None
    return {
        **head(trial),
        "windows_s": WINDOWS,
        "stages_ms": stages,
        "backtracking_ms": walked,
        "convergence_ms": 40.0,
        "pairs": [pair_of(trial, ends, generator) for ends in trial.pairs],
        "directions": directions_of(trial, None if walked is None else walked["from_detection"]),
        "processor_s": {"agent": 2.5, "ovs-vswitchd": 8.0},
    }


def verify_row(trial: Trial) -> Json:
    """Row of the interpreter: unprotected networks drop, the others deliver but for what no tag names."""
    assert trial.variant is not None
    lost = {"shortest": 100, "ffg": 80}.get(trial.variant.scheme, 3 * max(0, trial.failures - 2))
    outcomes = {"delivered": 100 - lost, "dropped": lost, "looped": 0, "disconnected": 20 * (trial.failures > 1)}
    sizes = {name: {"most": 12, "mean": 10.5} for name in ("flows", "groups", "backups")}
    result = {
        "cases": sum(outcomes.values()),
        "failure_sets": 31 if trial.failures == 1 else 40,
        "looped": 0,
        "broken": 0,
        "mean_stretch": None if lost == 100 else 1.1,
        "longest_crankback": 4,
        "transient": outcomes,
        "converged": outcomes,
        **sizes,
    }
    return {**head(trial), "result": result}


def cost_row(trial: Trial) -> Json:
    """Row of the testbed: uncached lookups cost by the length of the chain, cached ones do not."""
    results = tuple(
        path_cost(path, lookup, 300.0 + trial.round + (10 * number if lookup != "none" else 900 + 400 * number))
        for number, path in enumerate(x_packet_cost.COST_PATHS)
        for lookup in x_packet_cost.LOOKUPS
    )
    return {**plain(CostMeasured(trial.round, "netdev", trial.topology, "s1", 98, results)), **head(trial)}


def path_cost(path: str, lookup: str, ns_per_packet: float, delay_us: float = 40.0) -> PathCost:
    """What was measured of one way."""
    hits = {"exact": 0, "megaflow": 0, "upcall": 0} | {"upcall" if lookup == "none" else lookup: 576}
    return PathCost(path, lookup, lookup != "none", ns_per_packet, ns_per_packet, 576, delay_us, hits, flows=9, hops=1)


def knowledge_row(trial: Trial) -> Json:
    """Row of the row watcher: a hundred routes, of which the last one learns after 14 ms."""
    routes = [{"node": "s1", "destination": f"s{n}", "knew_ms": 4.0 + n / 10} for n in range(1, 101)]
    return {**head(trial), "detected_ms": 40.0, "watched_ms": 3000.0, "notifications": 34, "routes": routes}


MAKERS: dict[str, Callable[[Trial], Json]] = {"verify": verify_row, "cost": cost_row, "knowledge": knowledge_row}


def rows_of(figure_id: str, plan: CampaignPlan = PLAN, change: Change | None = None) -> list[Json]:
    """A good row of every trial of a figure; `change` may edit each."""
    return rows_for(FIGURES[figure_id].trials(plan), change)


def rows_for(trials: Iterable[Trial], change: Change | None = None) -> list[Json]:
    """A good row of every trial."""
    found = []
    for trial in trials:
        row = MAKERS.get(trial.kind, network_row)(trial)
        if change is not None:
            change(trial, row)
        found.append(row)
    return found


def set_phases(row: Json, phases: Iterable[str], **values: Any) -> None:
    """Give every pair of a row these values in these windows."""
    for pair in row["pairs"]:
        for name in phases:
            pair["phases"][name].update(values)


def is_variant(row: Json, *variants: Variant) -> bool:
    """Whether a row is of one of these variants."""
    return row["variant"] in {variant.name for variant in variants}
