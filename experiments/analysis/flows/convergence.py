"""What ten samples a second say: rates of windows, loss, and when a flow has converged."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.scenario.flow_values import (
    BIN_S,
    CLOSE_TO_FINAL,
    FINAL_S,
    MOVING_MEAN_S,
    FlowRecord,
    FlowSeen,
    FlowTiming,
    Placed,
)

_TINY_MBPS = 1e-3  # below this a flow has nothing


def window_mean(samples: Sequence[float], start_s: float, stop_s: float) -> float:
    """Mean of the samples whose tenth of a second lies whole in a window; 0 when none does.

    Parameters
    ----------
    samples
        The first covers the second 0.0 to 0.1.
    """
    first, stop = _bins(start_s, stop_s, len(samples))
    return sum(samples[first:stop]) / (stop - first) if stop > first else 0.0


def convergence_s(samples: Sequence[float], failure_s: float, final_s: float = FINAL_S) -> float | None:
    """Seconds from the failure to a stable throughput (Kuijia section 5.2 asks for the time, and leaves the rule open).

    The rule: the first moment after the failure from which on the moving mean over the last second stays within 10 % of
    the mean of the last `final_s` seconds. A moving mean counts from the moment at which its second begins, so that a
    flow that nothing disturbs has converged at 0.

    Parameters
    ----------
    samples
        Mbit/s, ten a second.
    failure_s
        When the link failed, in seconds of the samples.

    Returns
    -------
    None when the flow came to nothing, so that there is no rate to be close to, or never stays close.
    """
    width = round(MOVING_MEAN_S / BIN_S)
    first = _bins(failure_s, len(samples) * BIN_S, len(samples))[0]
    final = window_mean(samples, len(samples) * BIN_S - final_s, len(samples) * BIN_S)
    if final < _TINY_MBPS or len(samples) - first < width:
        return None
    starts = range(first, len(samples) - width + 1)
    far = [at for at in starts if abs(sum(samples[at : at + width]) / width - final) > CLOSE_TO_FINAL * final]
    if not far:
        return 0.0
    if far[-1] == starts[-1]:
        return None
    return max(0.0, (far[-1] + 1) * BIN_S - failure_s)


def throughput_lost_percent(before_mbps: float, after_mbps: float) -> float | None:
    """Share of a flow's throughput that the failure took, percent; never below 0; None when it had none."""
    if before_mbps < _TINY_MBPS:
        return None
    return max(0.0, 100.0 * (before_mbps - after_mbps) / before_mbps)


def datagrams_lost_percent(sent: Sequence[int], arrived: Sequence[int], start_s: float, stop_s: float) -> float | None:
    """Share of the datagrams sent in a window that never arrived, percent; None when none was sent."""
    first, stop = _bins(start_s, stop_s, len(sent))
    total = sum(sent[first:stop])
    return None if not total else 100.0 * (total - sum(arrived[first:stop])) / total


def to_record(placed: Placed, kind: str, seen: FlowSeen, failure_s: float, timing: FlowTiming) -> FlowRecord:
    """The record of one flow.

    Parameters
    ----------
    kind
        Its class.
    failure_s
        CLOCK_MONOTONIC.
    """
    failure, end = failure_s - seen.start_s, failure_s - seen.start_s + timing.after_s
    samples = seen.received_mbps[: max(0, int(end / BIN_S + 1e-6))]
    before = (failure - timing.before_s, failure)
    after = (end - timing.final_s, end)
    before_mbps, after_mbps = (window_mean(samples, *window) for window in (before, after))
    if placed.flow.transport == "udp":
        lost = [datagrams_lost_percent(seen.sent, seen.arrived, *window) for window in (before, after)]
    else:
        lost = [0.0 if before_mbps >= _TINY_MBPS else None, throughput_lost_percent(before_mbps, after_mbps)]
    udp = placed.flow.transport == "udp"
    return FlowRecord(
        name=placed.flow.name,
        source=placed.flow.source,
        destination=placed.flow.destination,
        transport=placed.flow.transport,
        priority=placed.flow.priority,
        offered_mbps=placed.flow.offered_mbps,
        kind=kind,
        tunnel=placed.tunnel_before,
        tunnel_after=placed.tunnel_after,
        before_mbps=before_mbps,
        after_mbps=after_mbps,
        lost_percent_before=lost[0],
        lost_percent_after=lost[1],
        retransmits=seen.retransmits,
        convergence_s=convergence_s(samples, failure, timing.final_s),
        samples_mbps=tuple(round(sample, 4) for sample in samples),
        start_ms=-1000.0 * failure,
        sent=sum(seen.sent) if udp else None,
        received=sum(seen.arrived) if udp else None,
        duplicated=seen.duplicated if udp else None,
        reordered=len(seen.reordered_s) if udp else None,
        reordered_ms=tuple(round((came_s - failure) * 1000, 3) for came_s in seen.reordered_s),
    )


def _bins(start_s: float, stop_s: float, count: int) -> tuple[int, int]:
    """First bin that begins in the window, and the one after the last that ends in it."""
    first = max(0, -int(-(start_s / BIN_S - 1e-6) // 1))
    return first, max(first, min(count, int(stop_s / BIN_S + 1e-6)))
