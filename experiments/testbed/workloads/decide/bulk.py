"""How one long TCP flow got through a failure: its samples around the failure, and what they come to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiments.campaign.values import Json
from experiments.testbed.workloads.decide.flows import WorkloadError

LARGEST_GAP_MS = 50.0  # between samples: a sender that gets no processor for longer makes silences of its own


@dataclass(frozen=True)
class Sample:
    """A flow at one moment (CLOCK_MONOTONIC): congestion window in segments, bytes sent once, bytes confirmed."""

    at_ns: int
    cwnd: int
    sent_bytes: int
    acknowledged_bytes: int
    retransmits: int


def read_samples(text: str) -> list[Sample]:
    """Read what the sender of a long flow prints.

    Raises
    ------
    WorkloadError
        It is no report, or holds less than two samples.
    """
    try:
        samples = [Sample(*(int(each) for each in row)) for row in json.loads(text)["samples"]]
    except (ValueError, KeyError, TypeError) as error:
        raise WorkloadError(f"the sender of a long flow printed {text[:80]!r}, which is no report") from error
    if len(samples) < 2:
        raise WorkloadError(f"the sender of a long flow took {len(samples)} samples; it must run for longer")
    return samples


def bulk_row(samples: Sequence[Sample], failure_ns: int, window_ms: float) -> Json:
    """Columns of a trial.

    Parameters
    ----------
    failure_ns
        When the path failed, or would have.
    window_ms
        The smallest congestion window is looked for so long after the failure.
    """
    before = [each.cwnd for each in samples if each.at_ns < failure_ns]
    after = [each.cwnd for each in samples if 0 <= each.at_ns - failure_ns <= window_ms * 1e6]
    seconds = (samples[-1].at_ns - samples[0].at_ns) / 1e9
    gap_ms = max(late.at_ns - early.at_ns for early, late in pairwise(samples)) / 1e6
    return {
        "at_ms": [round((each.at_ns - failure_ns) / 1e6, 2) for each in samples],
        "cwnd_segments": [each.cwnd for each in samples],
        "sent_bytes": [each.sent_bytes for each in samples],
        "retransmits": samples[-1].retransmits,
        "cwnd_at_failure": before[-1] if before else None,
        "smallest_cwnd": min(after, default=None),
        "stalled_ms": stalled_ms(samples, failure_ns, window_ms),
        "largest_gap_ms": gap_ms,
        "trustworthy": gap_ms <= LARGEST_GAP_MS,
        "warnings": [] if gap_ms <= LARGEST_GAP_MS else [f"the sender got no processor for {gap_ms:.0f} ms"],
        "rate_mbps": 8 * samples[-1].acknowledged_bytes / seconds / 1e6,
    }


def stalled_ms(samples: Sequence[Sample], failure_ns: int, window_ms: float) -> float:
    """Longest time in which nothing new was confirmed, of those that end after the failure and begin soon after it.

    It is as exact as samples are close.
    """
    progress = [samples[0]]
    progress += [late for early, late in pairwise(samples) if late.acknowledged_bytes > early.acknowledged_bytes]
    waits = [
        late.at_ns - early.at_ns
        for early, late in pairwise(progress)
        if late.at_ns > failure_ns and early.at_ns - failure_ns < window_ms * 1e6
    ]
    return max(waits, default=samples[-1].at_ns - progress[-1].at_ns) / 1e6
