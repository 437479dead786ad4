"""SQR's trials with TCP: short flows and one long flow over a path that fails."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from dataplane.two_paths import TwoPaths
from experiments.campaign.kinds.paths import (
    BreakingParameters,
    FlowsMeasured,
    FlowsParameters,
    StreamMeasured,
    StreamParameters,
)
from experiments.campaign.parameters import typed
from experiments.campaign.values import Trial
from experiments.testbed.workloads.decide.breaking import FailureModel, Recovery
from experiments.testbed.workloads.decide.sizes import FlowSequence, draw_flows, find_table
from experiments.testbed.workloads.run import (
    BACKGROUND_PORT,
    Bottleneck,
    Bulk,
    Sending,
    TcpSettings,
    run_bulk,
    run_workload,
)

_LONGER_S = 10.0  # background goes on until the measured flows have ended
_FLOWS_A_SECOND = 1000  # more than any machine sends, so that a trial never runs out of them
# By the variant.
_RECOVERIES: dict[str, Recovery | None] = {
    "no-failure": None,
    "sb": Recovery(same_port=True, replays=False),
    "sb-sqr": Recovery(same_port=True, replays=True),
    "lrr": Recovery(same_port=False, replays=False),
    "lrr-sqr": Recovery(same_port=False, replays=True),
}


def run_flows(testbed: TwoPaths, trial: Trial, own: FlowsParameters) -> FlowsMeasured:
    """Short flows one after another while the path breaks every so often."""
    count = round(own.seconds * _FLOWS_A_SECOND)
    flows = draw_flows(find_table(own.workload), count, own.limit_bytes, own.pause_ms / 1000, trial.seed)
    beside = background_of(own, trial.seed) if own.beside == "transfers" else None
    model, tcp = model_of(own.breaking), TcpSettings(own.breaking.rto_min_ms)
    found = run_workload(
        testbed, recovery_of(trial), model, Sending(flows, own.seconds), tcp, beside=beside, seed=trial.seed
    )
    return typed(FlowsMeasured, found)


def background_of(own: FlowsParameters, seed: int) -> Sending:
    """Transfers with pauses between, until the measured flows have ended."""
    seconds = own.seconds + _LONGER_S
    count = round(seconds * 1000 / (own.background_pause_ms / 2))
    pauses = np.random.default_rng((seed, 4)).exponential(own.background_pause_ms / 1000, count)
    flows = FlowSequence((own.background_bytes,) * count, tuple(pauses.tolist()))
    return Sending(flows, seconds, BACKGROUND_PORT, own.background_mbps)


def run_stream(testbed: TwoPaths, trial: Trial, own: StreamParameters) -> StreamMeasured:
    """One long flow whose path fails once."""
    bottleneck = Bottleneck(own.mbps, own.queue_packets)
    bulk = Bulk(own.seconds, own.failure_s, own.sample_ms, own.window_ms, bottleneck)
    model, tcp = model_of(own.breaking), TcpSettings(own.breaking.rto_min_ms, own.loss_probes)
    return typed(StreamMeasured, run_bulk(testbed, recovery_of(trial), model, bulk, tcp))


def model_of(breaking: BreakingParameters) -> FailureModel:
    """How paths fail in a trial."""
    values = asdict(breaking)
    del values["rto_min_ms"]
    return FailureModel(**values)


def recovery_of(trial: Trial) -> Recovery | None:
    """How a trial's variant recovers."""
    return _RECOVERIES[str(trial.variant.name if trial.variant else "")]
