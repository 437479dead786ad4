"""Paths that could not be broken while a stream went over them: the trial fails, it does not count as lossless."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import MagicMock

import pytest

from experiments.campaign.kinds.paths import LossParameters, SilentParameters, WindowParameters
from experiments.campaign.values import Variant
from experiments.testbed.trials import paths_session, transfers
from experiments.testbed.trials.decide.paths import PathsError


@contextmanager
def two_nodes(*_given: object) -> Iterator[tuple[MagicMock, MagicMock]]:
    yield MagicMock(), MagicMock()


@pytest.fixture(autouse=True)
def made_up_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("protected_nodes", "sqr_nodes"):
        monkeypatch.setattr(paths_session, name, two_nodes)
    monkeypatch.setattr(paths_session, "count_stream", MagicMock(side_effect=AssertionError("nothing broke")))


def test_a_path_that_does_not_fail_in_its_turn_fails_the_trial() -> None:
    testbed = MagicMock()
    testbed.fail.side_effect = PathsError("the kernel refuses")
    own = LossParameters("broken", rate_pps=1, stream_s=0.0, failures=(("p1", 0.0, 0.0),))
    with pytest.raises(PathsError, match="the kernel refuses"):
        paths_session.run_loss(testbed, MagicMock(variant=Variant("plain")), own)


@pytest.mark.parametrize("variant", ["plain", "sqr"])
def test_a_path_that_cannot_be_silenced_fails_the_trial(variant: str) -> None:
    testbed = MagicMock()
    testbed.silence.side_effect = PathsError("the kernel refuses")
    own = SilentParameters(
        "broken", detection_ms=0.0, rate_pps=1, stream_s=0.0, failure_at_s=0.0, frame_bytes=100, spare_ms=0.0
    )
    with pytest.raises(PathsError, match="the kernel refuses"):
        paths_session.run_silent_failure(testbed, MagicMock(variant=Variant(variant)), own)


def test_a_window_that_is_not_replayed_fails_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    switch = MagicMock()
    switch.wait_for.side_effect = PathsError("no word from the agent")

    @contextmanager
    def nodes(*_given: object) -> Iterator[tuple[MagicMock, None]]:
        yield switch, None

    monkeypatch.setattr(paths_session, "sqr_nodes", nodes)
    own = WindowParameters(
        "broken", rate_pps=1, delta_ms=0.0, frame_bytes=100, windows=2, apart_s=0.0, failure_at_s=0.0
    )
    with pytest.raises(PathsError, match="no word from the agent"):
        paths_session.run_window(MagicMock(), MagicMock(), own)
    switch.fail.assert_called_once()


def test_an_iperf3_that_does_not_end_fails_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    client = MagicMock()
    client.communicate.side_effect = subprocess.TimeoutExpired("iperf3", 21.0)
    monkeypatch.setattr(transfers, "_start", lambda *_given, **_more: [client])
    with pytest.raises(PathsError, match="iperf3 -t 1 did not end within 21 s"):
        transfers.transfer((1, 2), "10.0.0.2", 1, 1.0)
