"""What a failure costs, by the classes of Kuijia section 5.2.

victim
    Flows whose tunnel failed.
directly affected
    Other flows that share a link with a tunnel onto which victims are moved.
indirectly affected
    Other flows that share a link with a directly affected one.
unaffected
    The rest. All but the victims are aboriginal.

A flow is the traffic of one tunnel before the failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from te_solver.fluid import Flows, delivered_mbps
from te_solver.network import BoolArray, FloatArray
from te_solver.responses import Response, TrafficPlan
from te_solver.values import IntArray, TunnelSet

CLASSES = ("victim", "directly affected", "indirectly affected", "unaffected")
ABORIGINAL = "aboriginal"
# Rates below this share of the largest are no traffic: interior point methods leave such crumbs.
CRUMB_SHARE = 1e-6


@dataclass(frozen=True, slots=True)
class Volume:
    """Traffic of one class: sent before the failure, arriving after it."""

    before_mbps: float
    after_mbps: float

    @property
    def lost(self) -> float:
        """Share lost, 0 to 1; 0 where there was no traffic."""
        return max(0.0, 1.0 - self.after_mbps / self.before_mbps) if self.before_mbps > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """Effect of one failure under one scheme.

    Attributes
    ----------
    classes
        By `CLASSES`; None when the scheme rearranges all traffic.
    by_priority
        All traffic by the demands' own priority.
    kept_delivered_mbps, moved_delivered_mbps : float array, shape (tunnels,)
    arc_loads_mbps : float array, shape (arcs,)
        What the ingress switches send over every arc; may pass the capacity.
    """

    total: Volume
    victim: Volume
    aboriginal: Volume
    classes: Mapping[str, Volume] | None
    by_priority: Mapping[int, Volume]
    kept_delivered_mbps: FloatArray
    moved_delivered_mbps: FloatArray
    arc_loads_mbps: FloatArray


def evaluate(plan: TrafficPlan, response: Response, failed_arcs: BoolArray) -> Outcome:
    """Outcome of a response.

    Parameters
    ----------
    failed_arcs : bool array, shape (arcs,)
    """
    problem, tunnels = plan.problem, plan.problem.tunnels
    own = problem.priorities[tunnels.pair_of]
    number = np.arange(len(tunnels))
    flows = Flows(
        np.concatenate([number, number]),
        np.concatenate([response.kept_mbps, response.moved_mbps]),
        np.concatenate([own, response.moved_queue]),
    )
    capacity_mbps = np.where(failed_arcs, 0.0, problem.network.capacity_mbps)
    arrived = delivered_mbps(tunnels, flows, capacity_mbps)
    kept, moved = arrived[: len(tunnels)], arrived[len(tunnels) :]
    rates, down = plan.rates_mbps, tunnels.down(failed_arcs)
    victim = Volume(float(rates[down].sum()), float(moved.sum()))
    aboriginal = Volume(float(rates[~down].sum()), float(kept.sum()))
    total = Volume(victim.before_mbps + aboriginal.before_mbps, victim.after_mbps + aboriginal.after_mbps)
    by_priority = {
        int(priority): Volume(float(rates[own == priority].sum()), float((kept + moved)[own == priority].sum()))
        for priority in np.unique(own)
    }
    classes = None
    if not response.rearranged:
        kind = classify(tunnels, rates, response.moved_mbps, down)
        classes = {CLASSES[0]: victim} | {
            name: Volume(float(rates[kind == k].sum()), float(kept[kind == k].sum()))
            for k, name in enumerate(CLASSES[1:], start=1)
        }
    loads = tunnels.arc_loads(response.kept_mbps + response.moved_mbps)
    return Outcome(total, victim, aboriginal, classes, by_priority, kept, moved, loads)


def classify(tunnels: TunnelSet, rates_mbps: FloatArray, moved_mbps: FloatArray, down: BoolArray) -> IntArray:
    """Class of every tunnel's flow as a position in `CLASSES`; tunnels without traffic are unaffected.

    Parameters
    ----------
    rates_mbps : float array, shape (tunnels,)
        Traffic before the failure.
    moved_mbps : float array, shape (tunnels,)
        Victim traffic after it.
    down : bool array, shape (tunnels,)

    Returns
    -------
    int array, shape (tunnels,)
    """
    crumb_mbps = CRUMB_SHARE * rates_mbps.max(initial=0.0)
    flowing = rates_mbps > crumb_mbps
    direct = flowing & ~down & _sharing(tunnels, moved_mbps > crumb_mbps)
    indirect = flowing & ~down & ~direct & _sharing(tunnels, direct)
    kind: IntArray = np.select([down, direct, indirect], [0, 1, 2], default=3)
    return kind


def _sharing(tunnels: TunnelSet, some: BoolArray) -> BoolArray:
    """Which tunnels have an arc in common with one of `some`."""
    met = tunnels.arc_loads(some.astype(np.float64)) > 0
    return tunnels.down(met)
