"""Malformed messages break what their name says; the classifier names each instead of falling over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.loadgen.connection import Target
from experiments.loadgen.controllers import RESPONDER, Controller, Watched
from experiments.loadgen.decide.misbehave import endless, malformed
from experiments.loadgen.misbehave import RogueReport, has_begun, misbehaving, report_of, rogue_beside
from experiments.loadgen.ports import free_port
from experiments.loadgen.rogue import RogueSwitch
from machine.environment import REPOSITORY
from machine.places import child
from mininet_topos.errors import BadInputError
from ryu_apps.openflow.lengths import check_received
from ryu_apps.openflow.wire import VERSION, MalformedMessageError, WireError, header, split_messages
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.parse import load_pmt
from ryu_apps.pmt.rules import PolicyMapTable
from tests.patience import patient_s


@given(st.integers(0, 2**32))
def test_each_is_refused_by_the_classifier_or_only_noise(seed: int) -> None:
    name, message = malformed(np.random.default_rng(seed))
    if name == "noise in a whole message":
        assert split_messages(message) == ([message], b"")
    elif name == "length below eight":
        with pytest.raises(WireError):
            split_messages(message)
    else:
        assert header(message).length == len(message)
        with pytest.raises(MalformedMessageError):
            Classifier(PolicyMapTable()).classify(message)


@given(st.integers(0, 2**32))
def test_lists_without_end_are_refused_before_they_are_parsed(seed: int) -> None:
    with pytest.raises(MalformedMessageError, match="of length 0"):
        check_received(endless(np.random.default_rng(seed)), VERSION)


def test_a_lot_makes_every_kind() -> None:
    rng = np.random.default_rng(1)
    assert len({malformed(rng)[0] for _ in range(200)}) == 7


def test_an_unknown_behaviour_is_refused_by_name() -> None:
    with pytest.raises(BadInputError, match="'sulk' is not known"), misbehaving(None, (), "sulk", 1):
        pass


def test_a_rogue_switch_beside_a_load_has_the_connections_of_good_ones_and_low_packet_ins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[Sequence[Target], int]] = []

    @contextmanager
    def record(
        _pid: int | None, targets: Sequence[Target], _behaviour: str, _seed: int, switch: RogueSwitch
    ) -> Iterator[None]:
        seen.append((targets, switch.controller_id))
        yield None

    monkeypatch.setattr("experiments.loadgen.misbehave.misbehaving", record)
    controller = Controller((RESPONDER,), load_pmt(REPOSITORY / "examples/pmt/out_of_band.yaml", "a table"))
    with rogue_beside(controller, "flood", 1)(None, Watched(0, "127.0.0.1", 6653, Path("controller.log"))):
        pass
    assert seen == [(controller.targets("127.0.0.1", 6653), 3)]


def test_what_a_rogue_switch_has_said_is_read_from_its_output() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdout:
        process = cast("Any", SimpleNamespace(stdout=stdout))
        os.write(writing, b"begins\nsent 1\ntaken 3\nsent 2\ntaken 1\n")
        assert report_of(process) == RogueReport((1, 3), 2)
        os.close(writing)


def test_a_rogue_switch_keeps_to_its_processor_and_a_controller_leaves_it() -> None:
    processors = os.sched_getaffinity(0)
    processor = max(processors)
    targets = (Target("127.0.0.1", free_port()),)
    with (
        misbehaving(None, targets, "stall", 1, RogueSwitch(processor=processor)) as rogue,
        child(("sleep", "infinity")) as controller,
    ):
        assert rogue is not None
        assert has_begun(rogue, patient_s(20))
        assert os.sched_getaffinity(rogue.pid) == {processor}
        Watched(controller.pid, "127.0.0.1", 6653, Path("controller.log")).leave_processor(processor)
        # Where it is the only one, the system refuses, and both share it.
        assert os.sched_getaffinity(controller.pid) == (processors - {processor} or processors)
