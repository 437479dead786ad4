"""SQR's trials with TCP: short flows and one long flow over a path that dies."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dataplane.two_paths import TwoPaths
from experiments.campaign.values import Json, Trial
from experiments.papers.sqr import flow_setup as setup
from experiments.workloads.run import (
    BACKGROUND_PORT,
    Bottleneck,
    Bulk,
    Sending,
    TcpSettings,
    run_bulk,
    run_workload,
)
from experiments.workloads.sizes_core import FlowSequence, draw_flows, find_table

_TCP = TcpSettings(setup.RTO_MIN_MS)
_LONGER_S = 10.0  # background goes on until the measured flows have ended


def run_flows(bench: TwoPaths, trial: Trial) -> Json:
    """Short flows one after another while the path breaks every so often."""
    given = trial.parameters
    seconds = float(given["seconds"])
    count = round(seconds * setup.FLOWS_A_SECOND)
    flows = draw_flows(find_table(given["workload"]), count, setup.LIMIT_BYTES, setup.PAUSE_MS / 1000, trial.seed)
    beside = background_of(seconds + _LONGER_S, trial.seed) if given["beside"] == setup.TRANSFERS else None
    recovery = setup.RECOVERIES[str(trial.arm.name if trial.arm else "")]
    return run_workload(bench, recovery, setup.MODEL, Sending(flows, seconds), _TCP, beside, trial.seed)


def background_of(seconds: float, seed: int) -> Sending:
    """Transfers with pauses between, for so long."""
    count = round(seconds * 1000 / (setup.BACKGROUND_PAUSE_MS / 2))
    pauses = np.random.default_rng((seed, 4)).exponential(setup.BACKGROUND_PAUSE_MS / 1000, count)
    flows = FlowSequence((setup.BACKGROUND_BYTES,) * count, tuple(pauses.tolist()))
    return Sending(flows, seconds, BACKGROUND_PORT, setup.BACKGROUND_MBPS)


def run_stream(bench: TwoPaths, trial: Trial) -> Json:
    """One long flow whose path dies once."""
    bulk = Bulk(
        setup.STREAM_SECONDS,
        setup.STREAM_CUT_S,
        setup.SAMPLE_MS,
        setup.WINDOW_MS,
        Bottleneck(setup.STREAM_MBPS, setup.STREAM_QUEUE_PACKETS),
    )
    return run_bulk(bench, setup.RECOVERIES[str(trial.arm.name if trial.arm else "")], setup.MODEL, bulk, _TCP)


WORKLOAD_RUNS: Mapping[str, Callable[[TwoPaths, Trial], Json]] = {
    setup.ALONE: run_flows,
    setup.FLOWS: run_flows,
    setup.STREAM: run_stream,
}
