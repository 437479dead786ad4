"""Allocations and failure outcomes as JSON values and as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.terminal.output import table
from te_solver.outcome import CLASSES, Outcome
from te_solver.responses import TrafficPlan
from te_solver.values import Allocation, FloatArray, Tunnel

# Rows of a table for people; --json has them all.
SHOWN_DEMANDS = 30
SHOWN_LINKS = 10


def allocation_value(allocation: Allocation) -> dict[str, Any]:
    """What `armor te solve --json` prints."""
    problem, weights = allocation.problem, allocation.splitting_weights.tolist()
    rates, owner = allocation.tunnel_mbps.tolist(), problem.tunnels.pair_of.tolist()
    loads = allocation.arc_loads_mbps
    used = utilisation(allocation)
    throughput = allocation.objective == "throughput"
    return {
        "topology": problem.network.topology.name,
        "objective": allocation.objective,
        "objective_mbps": float(allocation.tunnel_mbps.sum()),
        "bound_mbps": allocation.bound if throughput else None,
        "value": allocation.value,
        "bound": allocation.bound,
        "gap": allocation.gap,
        "base_point": allocation.base_point,
        "solved_by": allocation.solved_by,
        "max_link_utilization": float(used.max(initial=0.0)),
        "demands": [
            {**_ends(demand), "priority": demand.priority, "demand_mbps": demand.demand_mbps, "allocation_mbps": given}
            for demand, given in zip(problem.demands, allocation.demand_mbps.tolist(), strict=True)
        ],
        "tunnels": [
            {
                **_ends(tunnel),
                "priority": problem.demands[owner[number]].priority,
                "nodes": list(tunnel.nodes),
                "keys": [link.key for link in tunnel.links],
                "allocation_mbps": rates[number],
                "splitting_weight": weights[number],
            }
            for number, tunnel in enumerate(problem.tunnels)
        ],
        "links": [
            {**_ends(link), "key": link.key, "capacity_mbps": capacity, "load_mbps": load, "link_utilization": share}
            for link, capacity, load, share in zip(
                problem.network.links,
                problem.network.capacity_mbps.tolist(),
                loads.tolist(),
                used.tolist(),
                strict=True,
            )
        ],
    }


def allocation_text(allocation: Allocation) -> str:
    """What `armor te solve` prints: the demands' tunnels and the fullest links."""
    problem, used = allocation.problem, utilisation(allocation)
    asked, given = problem.demands_mbps.sum(), allocation.tunnel_mbps.sum()
    share = f" ({given / asked:.1%} of what is asked for)" if asked > 0 else ""
    lines = [
        f"{problem.network.topology.name}: {len(problem.demands)} demands, {len(problem.tunnels)} tunnels, "
        f"{allocation.objective}, {allocation.base_point}",
        f"{given:,.1f} of {asked:,.1f} Mbit/s{share}; solved by {allocation.solved_by or 'nobody'}, "
        f"proven within {allocation.gap:.1e} of the best",
        "",
    ]
    rows = [
        row for demand in range(min(SHOWN_DEMANDS, len(problem.demands))) for row in _demand_rows(allocation, demand)
    ]
    lines.append(table(rows, ("demand", "asked", "given", "weight", "Mbit/s", "tunnel"), right=(1, 2, 3, 4)))
    if len(problem.demands) > SHOWN_DEMANDS:
        lines.append(f"... and {len(problem.demands) - SHOWN_DEMANDS} more demands (--json has all)")
    fullest = np.argsort(-used, kind="stable")[:SHOWN_LINKS]
    links = [
        (
            str(problem.network.links[arc].direction),
            f"{problem.network.capacity_mbps[arc]:,.0f}",
            f"{allocation.arc_loads_mbps[arc]:,.1f}",
            f"{used[arc]:.1%}",
        )
        for arc in fullest.tolist()
    ]
    lines += ["", table(links, ("fullest link", "capacity", "load", "used"), right=(1, 2, 3))]
    return "\n".join(lines)


def outcome_value(plan: TrafficPlan, outcome: Outcome, optimum_mbps: float) -> dict[str, Any]:
    """One scheme of `armor te failure --json`."""
    classes = outcome.classes or {}
    groups = {"total": outcome.total, "aboriginal": outcome.aboriginal, "victim": outcome.victim, **classes}
    return {
        "base_point": plan.allocation.base_point,
        "share_of_optimum": outcome.total.before_mbps / optimum_mbps if optimum_mbps > 0 else 1.0,
        "classes": {
            name: {"before_mbps": volume.before_mbps, "after_mbps": volume.after_mbps, "lost": volume.lost}
            for name, volume in groups.items()
        },
        "priorities": {
            str(priority): {"before_mbps": volume.before_mbps, "after_mbps": volume.after_mbps, "lost": volume.lost}
            for priority, volume in outcome.by_priority.items()
        },
    }


def failure_text(what: str, outcomes: Mapping[str, Outcome]) -> str:
    """What `armor te failure` prints: one row a scheme, traffic in Mbit/s, losses in per cent of the class."""
    rows = []
    for name, outcome in outcomes.items():
        classes = outcome.classes
        lost = [
            None if classes is None or not classes[c].before_mbps else f"{classes[c].lost:.2%}" for c in CLASSES[1:]
        ]
        volumes = (outcome.total, outcome.aboriginal, outcome.victim)
        rows.append(
            (
                name,
                *(f"{mbps:,.0f}" for volume in volumes for mbps in (volume.before_mbps, volume.after_mbps)),
                f"{outcome.total.lost:.2%}",
                f"{outcome.victim.lost:.2%}" if outcome.victim.before_mbps else None,
                *lost,
            )
        )
    header = (
        "scheme",
        "before",
        "after",
        "aboriginal",
        "after",
        "victim",
        "after",
        "lost",
        "victim",
        "direct",
        "indirect",
        "other",
    )
    return f"{what}; Mbit/s before and after, then the share lost\n\n" + table(rows, header, right=tuple(range(1, 12)))


def path_text(tunnel: Tunnel) -> str:
    """Nodes passed, "s1-s2-s3"; a parallel link's key stands behind the node it leads to, "s1-s2#1-s3"."""
    return tunnel.src + "".join(f"-{link.dst}" + (f"#{link.key}" if link.key else "") for link in tunnel.links)


def utilisation(allocation: Allocation) -> FloatArray:
    """Load over capacity of every arc, shape (arcs,); 0 for a closed one."""
    capacity = allocation.problem.network.capacity_mbps
    used: FloatArray = np.where(capacity > 0, allocation.arc_loads_mbps / np.where(capacity > 0, capacity, 1.0), 0.0)
    return used


def _ends(thing: Any) -> dict[str, str]:
    return {"src": thing.src, "dst": thing.dst}


def _demand_rows(allocation: Allocation, number: int) -> list[tuple[str | None, ...]]:
    problem = allocation.problem
    demand = problem.demands[number]
    first, last = problem.tunnels.pair_starts[number : number + 2].tolist()
    name = f"{demand.src} > {demand.dst}" + (f" ({demand.priority})" if len(np.unique(problem.priorities)) > 1 else "")
    head: tuple[str | None, ...] = (name, f"{demand.demand_mbps:,.1f}", f"{allocation.demand_mbps[number]:,.1f}")
    if first == last:
        return [(*head, None, None, "no path")]
    return [
        (
            *(head if tunnel == first else ("", "", "")),
            f"{allocation.splitting_weights[tunnel]:.3f}",
            f"{allocation.tunnel_mbps[tunnel]:,.1f}",
            path_text(problem.tunnels[tunnel]),
        )
        for tunnel in range(first, last)
    ]
