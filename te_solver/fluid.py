"""Traffic as fluid: what every flow delivers through strict-priority queues.

Model, stated because the paper leaves it open: a link serves its queues in order, each with what the queues before it
leave of the capacity; inside a queue every flow loses the same share. A flow that meets several congested links
delivers the smallest share on its path, of the rate it was sent with: what it loses on one link is not taken off the
load of the next, so loads are never underestimated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from te_solver.values import FloatArray, IntArray, TunnelSet


@dataclass(frozen=True, eq=False)
class Flows:
    """Traffic on tunnels, as arrays of one length.

    Attributes
    ----------
    tunnel
        Several flows may share a tunnel.
    rate_mbps
        As sent by the ingress.
    queue
        Lower numbers are served first.
    """

    tunnel: IntArray
    rate_mbps: FloatArray
    queue: IntArray


def delivered_mbps(tunnels: TunnelSet, flows: Flows, capacity_mbps: FloatArray) -> FloatArray:
    """What arrives of every flow.

    Parameters
    ----------
    capacity_mbps : float array, shape (arcs,)
        0 for a failed arc.

    Returns
    -------
    float array, shape (flows,)
    """
    delivered = np.zeros(len(flows.tunnel))
    left = capacity_mbps.astype(np.float64)
    for queue in np.unique(flows.queue):
        here = flows.queue == queue
        rates = np.bincount(flows.tunnel[here], flows.rate_mbps[here], minlength=len(tunnels)).astype(np.float64)
        load = tunnels.arc_loads(rates)
        share = np.where(load > left, left / np.where(load > left, load, 1.0), 1.0)
        delivered[here] = flows.rate_mbps[here] * tunnels.least_along(share)[flows.tunnel[here]]
        left = np.maximum(0.0, left - load)
    return delivered
