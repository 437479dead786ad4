"""Measures how long classifying a packet-in takes, for Figure 10."""

from __future__ import annotations

import time

from experiments.campaign.kinds.sweep import ClassifyParameters
from experiments.campaign.values import Json, Trial, parameters_of
from experiments.figures.pso.fig10 import FIRST, LAST, table_text
from experiments.loadgen.decide.load import FRAME_BYTES, HIGH, LOW
from experiments.loadgen.decide.packets import frame, packet_in
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.parse import parse_pmt


def run_trial(trial: Trial) -> Json:
    """Row of a trial: microseconds of one classification, batch by batch, by the rule that decides."""
    own = parameters_of(trial, ClassifyParameters)
    classifier = Classifier(parse_pmt(table_text(own.rules)))
    messages = {
        kind: packet_in(0, frame(0, packet_class, FRAME_BYTES), False)
        for kind, packet_class in ((FIRST, HIGH), (LAST, LOW))
    }
    batches: dict[str, list[float]] = {kind: [] for kind in messages}
    for _ in range(own.batches):
        for kind, message in messages.items():  # both kinds in turn, so that what disturbs hits both
            began_ns = time.perf_counter_ns()
            for _ in range(own.batch):
                classifier.classify(message)
            batches[kind].append((time.perf_counter_ns() - began_ns) / own.batch / 1000)
    return {"batches_us": batches}
