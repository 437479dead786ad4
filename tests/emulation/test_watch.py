"""A run that a terminal shows: what stands on the screen, and that the terminal is given back."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

import pytest

from emulation.runfile import STATE_VARIABLE
from tests.patience import patient_s, wait_until

pytestmark = pytest.mark.emulation
COLUMNS, LINES = 80, 24
TAKEN, GIVEN_BACK = "\x1b[?1049h", "\x1b[?1049l"
SCENARIO = """\
topology: figure2
scheme: sdfast
mode: agent
notification: flood
bfd_interval_ms: 100
wait_to_restore_s: 1
settle_s: 1
traffic:
  - {from: h1, to: h5, interval_ms: 5}
failures:
  - {link: [s4, s5], at_s: 1, repair_at_s: 5}
duration_s: 8
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run files of these tests lie apart from those of others."""
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path_factory.mktemp("state")))


class Terminal:
    """A terminal that keeps what it is sent."""

    def __init__(self, master: int) -> None:
        self._master, self._sent = master, b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self._master, 65536)
            except OSError:  # Linux says so when the other side is closed
                return
            self._sent += part

    def text(self) -> str:
        """Everything so far."""
        return self._sent.decode(errors="replace")

    def whole(self) -> str:
        """Everything, once the other side has closed."""
        self._thread.join(patient_s(20))
        assert not self._thread.is_alive()
        return self.text()


def screens(text: str) -> list[list[str]]:
    """Lines of each screen that was drawn whole."""
    drawn = re.findall(r"\x1b\[H(.*?)\x1b\[J", text, re.DOTALL)
    return [re.sub(r"\x1b\[[0-9;]*[mK]", "", screen).split("\r\n") for screen in drawn]


@contextmanager
def watched(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Terminal]]:
    """`armor run --watch` on a terminal of 80 columns and 24 lines."""
    (folder / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    master, slave = os.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    words = ["run", str(folder / "scenario.yaml"), "--watch", "--json", "--out", str(folder / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments", *words],
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
    )
    os.close(slave)
    try:
        yield process, Terminal(master)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(patient_s(60))
        os.close(master)


def test_the_screen_follows_a_failure_from_injection_to_repair(tmp_path: Path) -> None:
    with watched(tmp_path) as (process, terminal):
        out = process.communicate(timeout=patient_s(200))[0]
        text = terminal.whole()
    assert out, text
    (run,) = json.loads(out)["runs"]
    shown = screens(text)
    assert all(len(screen) <= LINES and all(len(line) <= COLUMNS for line in screen) for screen in shown)
    states = ["failed links: s4-s5" in screen for screen in shown if screen[0].startswith("figure2: sdfast-agent")]
    assert True in states
    assert not states[0]
    assert not states[-1]
    last = " ".join(line.strip() for line in shown[-1])
    (failure,) = run["failures"]
    detected_ms = float(re.search(r"detected after ([0-9.]+) ms", last).group(1))
    assert detected_ms == pytest.approx(failure["stages_ms"]["detect"], abs=0.2)
    assert "8 of 8 switches know" in last
    repaired_s = float(re.search(r"repaired at ([0-9.]+) s", last).group(1))  # a busy machine repairs late
    assert repaired_s == pytest.approx(failure["until_s"], abs=0.001)
    row = next(line for line in shown[-1] if line.startswith("s1 > s5"))
    sent = int(row.split()[3].replace(",", ""))
    assert sent > 0
    assert text.count(TAKEN) == text.count(GIVEN_BACK) == 1
    assert text.endswith(GIVEN_BACK)
    assert not re.search(r"\x1b\[[0-9;]*m", text), "NO_COLOR is set"


def test_ctrl_c_gives_the_terminal_back(tmp_path: Path) -> None:
    with watched(tmp_path) as (process, terminal):
        wait_until(lambda: "warming up" in terminal.text(), "the run is measured", patient_s(120))
        process.send_signal(signal.SIGINT)
        assert process.wait(patient_s(60)) == 130
        text = terminal.whole()
    assert text.rindex(GIVEN_BACK) > text.rindex("\x1b[H")
    assert "Traceback" not in text
