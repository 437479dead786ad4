"""Measures how long classifying a packet-in takes, for Figure 10."""

from __future__ import annotations

import time

from experiments.campaign.values import Json, Trial
from experiments.ofload.load_core import FRAME_BYTES, HIGH, LOW
from experiments.ofload.packets_core import frame, packet_in
from experiments.papers.pso import matching
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.parse import parse_pmt

_BATCHES, _BATCH = 30, 300


def run_trial(trial: Trial) -> Json:
    """Row of a trial: microseconds of one classification, batch by batch, by the rule that decides."""
    classifier = Classifier(parse_pmt(matching.table_text(trial.parameters["rules"])))
    messages = {
        kind: packet_in(0, frame(0, packet_class, FRAME_BYTES), False)
        for kind, packet_class in ((matching.FIRST, HIGH), (matching.LAST, LOW))
    }
    batches: dict[str, list[float]] = {kind: [] for kind in messages}
    for _ in range(_BATCHES):
        for kind, message in messages.items():  # both kinds in turn, so that what disturbs hits both
            began_ns = time.perf_counter_ns()
            for _ in range(_BATCH):
                classifier.classify(message)
            batches[kind].append((time.perf_counter_ns() - began_ns) / _BATCH / 1000)
    return {"parameters": dict(trial.parameters), "batches_us": batches}
