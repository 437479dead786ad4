"""Runs trials of kind "sweep"; of these only the classification of packet-ins measures anything: time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from experiments.campaign.act.attempts import RunTrial
from experiments.campaign.computed.classification import FIRST, LAST, Classified, ClassifyParameters, table_text
from experiments.campaign.computed.fields import FieldsParameters, count_fields
from experiments.campaign.computed.ladder import LadderParameters, climb
from experiments.campaign.computed.memory import MemoryParameters, count_memory
from experiments.campaign.parameters import Parameters, plain
from experiments.campaign.values import Json, TestbedSettings, Trial
from experiments.loadgen.decide.load import FRAME_BYTES, HIGH, LOW
from experiments.loadgen.decide.packets import frame, packet_in
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.parse import parse_pmt


def classify(own: ClassifyParameters) -> Classified:
    """Time one classification, batch by batch, where the first rule decides and where the last one does."""
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
    return Classified({kind: tuple(values) for kind, values in batches.items()})


_COMPUTED: Mapping[type[Parameters], Callable[[Any], object]] = {
    MemoryParameters: count_memory,
    FieldsParameters: count_fields,
    LadderParameters: climb,
    ClassifyParameters: classify,
}


def run_sweep(trial: Trial) -> Json:
    """Columns of a trial; its parameters say what is computed."""
    columns: Json = plain(_COMPUTED[type(trial.parameters)](trial.parameters))
    return columns


def sweep_runner(_settings: TestbedSettings) -> RunTrial:
    """What runs such trials."""
    return run_sweep
