"""`armor live --attach` beside `ryu-manager` and a plain `mn` network: the page shows the failure, and its repair."""

from __future__ import annotations

import sys

import pytest

from tests.emulation.test_mn_custom import FILE
from tests.emulation.test_ryu_app_with_plain_mn import ROOT, WAIT, said_by_mn

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]

FOLLOW = """
import json, subprocess, sys, urllib.request

words = ["-m", "armor", "live", "--attach", "http://127.0.0.1:8080", "--pair", "h4,h5"]
page = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
try:
    shown = []
    with urllib.request.urlopen(page.stdout.readline().strip() + "events", timeout=60) as stream:
        run = {}
        for line in stream:
            if line.startswith(b"data: "):
                run.update(json.loads(line[6:])["0"])
                span = run["pairs"][0]["spans"][-1]
                now = [span["failed"], run["error"]]
                if now not in shown[-1:]:
                    shown.append(now)
                    print(json.dumps(now), flush=True)
                if len(shown) == 3:
                    break
finally:
    page.terminate()
    page.wait()
"""


def shown_lines(shown, count):
    """A command of mn that waits until the page has shown so many states: it looks twice a second."""
    return f"sh timeout 60 sh -c 'until [ $(wc -l <{shown}) -ge {count} ]; do sleep 0.1; done'"


def test_a_page_follows_a_network_of_plain_mn(tmp_path):
    wait, follow = tmp_path / "wait.py", tmp_path / "follow.py"
    wait.write_text(WAIT, encoding="utf-8")
    follow.write_text(FOLLOW, encoding="utf-8")
    until = f"sh {sys.executable} {wait}"
    shown = tmp_path / "shown"
    commands = [
        f"{until} ready",
        f"sh cd {ROOT} && exec {sys.executable} {follow} >{shown} 2>{tmp_path}/said & echo $! >{tmp_path}/pid",
        shown_lines(shown, 1),
        "link s4 s5 down",
        shown_lines(shown, 2),
        "link s4 s5 up",
        shown_lines(shown, 3),
        f"sh timeout 60 sh -c 'while kill -0 $(cat {tmp_path}/pid); do sleep 0.1; done' 2>/dev/null",
    ]
    said_by_mn("figure2", f"--custom {FILE} --topo armor,figure2", "\n".join(commands), tmp_path)
    assert shown.read_text(encoding="utf-8").splitlines() == ['[[], ""]', '[["s4-s5"], ""]', '[[], ""]']
