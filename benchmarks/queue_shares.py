"""Which of two flows loses what a full queue drops, by the packet that it drops and by the intervals between packets.

A model, no measurement: two flows of datagrams share a queue with a constant rate. The smaller sends half as often as
the larger, together 1.2 times the queue's rate, as flows f1 and f3 of Kuijia's Table 2 do under rescaling.
Run it as: python -m benchmarks.queue_shares [SEED]
"""

from __future__ import annotations

import argparse
from collections import Counter, deque
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

SENT_PKTS, SERVICE_MS = 20_000, 1.2
INTERVAL_MS: Mapping[str, float] = {"smaller": 3.0, "larger": 1.5}
LIMITS_PKTS = (8, 50)
INTERVALS = ("equal", "equal within 5 %", "random")


def gaps_ms(kind: str, mean_ms: float, lot: np.random.Generator) -> npt.NDArray[np.float64]:
    """Intervals between packets, shape (SENT_PKTS,)."""
    if kind == "random":
        return lot.exponential(mean_ms, SENT_PKTS)
    spread = 0.05 if kind != "equal" else 0.0
    return mean_ms * (1.0 + spread * lot.uniform(-1.0, 1.0, SENT_PKTS))


def lost_shares(arrivals_ms: Mapping[str, npt.NDArray[np.float64]], limit_pkts: int, drops: str) -> dict[str, float]:
    """Share of each flow's packets that the queue drops, while both send."""
    end_ms = min(times[-1] for times in arrivals_ms.values())
    packets = sorted((time, flow) for flow, times in arrivals_ms.items() for time in times[times < end_ms].tolist())
    waiting: deque[str] = deque()
    sent, lost, free_ms = Counter[str](), Counter[str](), 0.0
    for time, flow in packets:
        while waiting and free_ms <= time:
            waiting.popleft()
            free_ms += SERVICE_MS
        free_ms = free_ms if waiting else max(free_ms, time)
        sent[flow] += 1
        if len(waiting) < limit_pkts:
            waiting.append(flow)
        elif drops == "newest":
            lost[flow] += 1
        else:
            lost[waiting.popleft()] += 1
            waiting.append(flow)
    return {flow: lost[flow] / sent[flow] for flow in arrivals_ms}


def main(seed: int) -> None:
    """Print a row for each queue and kind of interval."""
    print("drops | limit, packets | intervals | lost of the smaller flow, % | of the larger, %")
    for drops in ("oldest", "newest"):
        for limit_pkts in LIMITS_PKTS:
            for kind in INTERVALS:
                lot = np.random.default_rng(seed)
                arrivals_ms = {flow: np.cumsum(gaps_ms(kind, mean, lot)) for flow, mean in INTERVAL_MS.items()}
                smaller, larger = lost_shares(arrivals_ms, limit_pkts, drops).values()
                print(f"{drops} | {limit_pkts} | {kind} | {100 * smaller:.1f} | {100 * larger:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    main(parser.parse_args().seed)
