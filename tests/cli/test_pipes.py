"""--out of a pipe: with a reader it is written, without one it is refused at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.cli.main import main
from tests.patience import patient_s


@pytest.mark.parametrize("command", ["plan shortest square", "topo show square", "topo draw square", "doctor"])
def test_a_pipe_that_nobody_reads_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    pipe = tmp_path / "pipe.svg"
    os.mkfifo(pipe)
    assert main([*command.split(), "--out", str(pipe)]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert f"--out '{pipe}' is a pipe that nobody reads; start its reader first" in shown.err


def test_a_pipe_with_a_reader_gets_the_whole_result(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    words = [sys.executable, "-m", "experiments", "topo", "show", "square", "--out", str(pipe)]
    with open(reader, encoding="utf-8") as stream, subprocess.Popen(words, stderr=subprocess.PIPE) as writer:
        _output, said = writer.communicate(timeout=patient_s(60))
        assert stream.read().startswith("square: 4 nodes")
    assert (writer.returncode, said) == (0, f"written: {pipe}\n".encode())
