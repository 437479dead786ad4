"""When the clients of streams start, and that none is left out without a word."""

from __future__ import annotations

import time
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from experiments.testbed.instruments.streams import StreamError
from experiments.testbed.runs.inject import sleep_until
from experiments.testbed.runs.measure import Clients


def clients(second: float, start_s: float, stop_s: float | None = None) -> tuple[Clients, Mock]:
    """Those of a scenario of ten seconds with one stream, at a second of it."""
    stream = SimpleNamespace(kind="ping", source="s1", destination="s2", start_s=start_s, stop_s=stop_s)
    streams = Mock()
    return Clients(streams, SimpleNamespace(duration_s=10.0, traffic=(stream,)), time.monotonic() - second), streams


def test_a_client_starts_once_when_its_second_has_come_and_runs_until_it_is_to_stop() -> None:
    early, streams = clients(1.0, 5.0)
    early.start_due()
    streams.start.assert_not_called()
    due, streams = clients(6.0, 5.0, 9.0)
    due.start_due()
    due.start_due()
    streams.start.assert_called_once_with(0, pytest.approx(3.0, abs=0.5))
    due.require_started()


def test_a_client_that_could_not_start_in_time_is_an_error() -> None:
    late, streams = clients(9.5, 5.0, 9.0)
    with pytest.raises(StreamError, match="ping from s1 to s2 was to start at second 5, and could not"):
        late.start_due()
    streams.start.assert_not_called()
    never, _ = clients(6.0, 9.9)
    never.start_due()
    with pytest.raises(StreamError, match=r"was to start at second 9\.9"):
        never.require_started()


def test_what_is_due_is_done_before_every_nap_but_not_shortly_before_an_action() -> None:
    between = Mock()
    sleep_until(time.monotonic() + 0.05, between)
    between.assert_not_called()
    sleep_until(time.monotonic() + 0.05, between, spare_s=0.0)
    between.assert_called()
