"""Ports for controllers: nobody is given what another has been given, whether it listens yet or not."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import deque

import pytest

from experiments.loadgen import ports
from experiments.loadgen.ports import ROW, free_port
from mininet_topos.errors import ArmorError

ASK = """
from experiments.loadgen import ports
ports._FIRSTS, ports._CLAIM = {!r}, {!r}
print(ports.free_port())
"""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> tuple[int, ...]:
    """Three rows for this test alone, which are all that there is."""
    rows = tuple(free_port() for _ in range(3))
    monkeypatch.setattr(ports, "_claims", deque())
    monkeypatch.setattr(ports, "_FIRSTS", rows)
    monkeypatch.setattr(ports, "_CLAIM", f"\0armor-test-ports-{os.getpid()}-")
    return rows


def ask() -> subprocess.CompletedProcess[str]:
    """Another process that wants one of these rows."""
    program = ASK.format(ports._FIRSTS, ports._CLAIM)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_a_row_is_given_to_one_process_until_that_ends(few: tuple[int, ...]) -> None:
    mine = {free_port(), free_port()}
    theirs = int(ask().stdout)
    assert {*mine, theirs} == set(few)
    assert free_port() == theirs  # that process has ended
    assert "no 16 free TCP ports" in ask().stderr
    with pytest.raises(ArmorError, match="stop some program"):
        free_port()


def test_a_row_in_which_somebody_listens_is_left_out(few: tuple[int, ...]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", few[1] + ROW - 1))
        assert {free_port(), free_port()} == {few[0], few[2]}


def test_the_oldest_claim_makes_room_for_the_newest(few: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_MOST_CLAIMS", 2)
    first, *_ = (free_port() for _ in range(3))
    assert free_port() == first
