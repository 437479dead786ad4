"""The flows that stand for the traffic of a pair (Kuijia section 5.1): two for each tunnel, sized by the other tunnels.

After a failure each of the two goes over to one of the other tunnels, so a tunnel's traffic is divided between them
by the other tunnels' weights: 300 Mbit/s with weights 0.5, 0.3, 0.2 gives tunnel 1 flows of 90 and 60.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from experiments.scenario.flow_values import FIRST_PORT, Flow
from ryu_apps.plan.kuijia.commodities import TunnelCommodity

# A flow below this share of its pair's traffic is left out: iperf3 cannot send it, and nobody would see it.
LEAST_SHARE = 0.01
DEFAULT_SMALLEST_MBPS = 0.05


def aggregate_flows(
    commodities: Iterable[TunnelCommodity],
    granted_mbps: Mapping[tuple[str, str, int], float],
    transport: str,
    class_names: Mapping[int, str | None] | None = None,
    smallest_mbps: float = DEFAULT_SMALLEST_MBPS,
) -> tuple[Flow, ...]:
    """Flows of all pairs, named "s1>s5.0a" for the first flow of tunnel 0.

    Parameters
    ----------
    granted_mbps : mapping of (str, str, int) to float
        What a demand sends, by source, destination and priority; commodities without are left out.
    transport : {"tcp", "udp"}
    class_names
        Traffic class by priority; None: one class.
    smallest_mbps
        Flows below this, or below 1 % of their pair's traffic, are left out.

    Returns
    -------
    Their rates sum to what was granted, but for what is left out.
    """
    flows: list[Flow] = []
    for each in commodities:
        granted = granted_mbps.get((each.src, each.dst, each.priority), 0.0)
        name = None if class_names is None else class_names[each.priority]
        suffix = "" if name is None else f".{name.replace(' ', '')}"
        for tunnel, share in enumerate(each.weights):
            others = [other for other in range(len(each.weights)) if other != tunnel]
            for letter, (moves_to, part) in zip("abcdefghijklmnop", _parts(each, others), strict=False):
                mbps = granted * share * part
                if mbps < max(smallest_mbps, LEAST_SHARE * granted):
                    continue
                flows.append(
                    Flow(
                        f"{each.src}>{each.dst}.{tunnel}{letter}{suffix}",
                        each.src,
                        each.dst,
                        transport,
                        mbps,
                        name,
                        tunnel,
                        moves_to,
                        FIRST_PORT + len(flows),
                    )
                )
    return tuple(flows)


def _parts(commodity: TunnelCommodity, others: list[int]) -> list[tuple[int | None, float]]:
    """(tunnel that takes it over, share of the tunnel's traffic); one whole part for an only tunnel."""
    if not others:
        return [(None, 1.0)]
    total = sum(commodity.weights[other] for other in others)
    return [
        (other, commodity.weights[other] / total if total else 1 / len(others))
        for other in others
        if not total or commodity.weights[other]
    ]
