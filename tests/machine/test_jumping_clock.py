"""Wall clocks of single processes: set ahead and back, while others and CLOCK_MONOTONIC go on."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from machine.jumping_clock import JumpingClocks

SAYS_ITS_CLOCKS = """
import datetime, sys, time
for _ in sys.stdin:
    print(time.time(), datetime.datetime.now().timestamp(), time.monotonic(), flush=True)
"""
NEAR_S = 600.0  # far below an hour, far above what any machine takes for an answer


@pytest.fixture
def clocks(tmp_path):
    before = [os.environ.get(name) for name in ("LD_PRELOAD", "ARMOR_CLOCKS")]
    with JumpingClocks(tmp_path / "clocks") as found:
        yield found
    assert [os.environ.get(name) for name in ("LD_PRELOAD", "ARMOR_CLOCKS")] == before
    assert list(tmp_path.iterdir()) == []


def offsets_s(program):
    """By how much the clocks of a program are ahead of ours: time, date, CLOCK_MONOTONIC."""
    program.stdin.write("\n")
    program.stdin.flush()
    said = map(float, program.stdout.readline().split())
    return [theirs - ours for theirs, ours in zip(said, (time.time(), time.time(), time.monotonic()), strict=True)]


def test_one_process_has_another_time_and_no_other_clock_moves(clocks):
    words = [sys.executable, "-c", SAYS_ITS_CLOCKS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes) as one, subprocess.Popen(words, **pipes) as other:
        for offset_s in (0.0, 3600.0, -3600.0, 0.0):
            clocks.set(one.pid, offset_s)
            assert offsets_s(one) == pytest.approx([offset_s, offset_s, 0.0], abs=NEAR_S)
            assert offsets_s(other) == pytest.approx([0.0, 0.0, 0.0], abs=NEAR_S)
        one.stdin.close()
        other.stdin.close()
