"""A live network: a failure asked for by a page is injected, detected, routed around and repaired."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from tests.patience import patient_s, wait_until

pytestmark = pytest.mark.emulation
READY_S = 120.0


class Page:
    """What a page knows: the fields of the runs, kept by server-sent events."""

    def __init__(self, url):
        self.url, self.runs = url, {}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        with suppress(OSError), urllib.request.urlopen(f"{self.url}events") as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    for number, changed in json.loads(line[6:]).items():
                        self.runs.setdefault(number, {}).update(changed)

    def ask(self, **wanted):
        data = json.dumps(wanted).encode()
        request = urllib.request.Request(f"{self.url}act", data, {"Content-Type": "application/json"}, method="POST")
        with urllib.request.urlopen(request, timeout=patient_s(60)) as answer:
            return json.load(answer)["error"]

    @property
    def run(self):
        return self.runs.get("0", {})


@pytest.fixture
def page(tmp_path):
    words = ["live", "ring:4", "--bfd-interval-ms", "100", "--pair", "h1,h2"]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "experiments", *words], stdout=subprocess.PIPE, stderr=said, text=True
        )
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), (tmp_path / "said").read_text()
        found = Page(url)
        wait_until(lambda: found.run.get("error") == "" and found.run["end_ms"], "the network is ready", READY_S)
        yield found
    finally:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(patient_s(60))
        finally:
            process.kill()
    assert code == 130
    assert "Traceback" not in (tmp_path / "said").read_text()
    assert not list(Path("/run/armor/runs").glob(f"*-{process.pid}.jsonl"))


def lost(page):
    return sum(series["counts"]["lost"] for series in page.run["series"])


def test_a_failure_is_injected_detected_routed_around_and_repaired(page):
    wait_until(lambda: all(len(series["sent_ms"]) > 50 for series in page.run["series"]), "pings are answered", 30)
    assert page.ask(do="fail", link="s1-s2", kind="silent") == ""
    wait_until(lambda: page.run["failures"] and "detect" in page.run["failures"][0]["stages"], "it is detected", 30)
    wait_until(lambda: page.run["pairs"][0]["spans"][-1]["failed"] == ["s1-s2"], "the page shows the other path", 10)
    assert lost(page) > 0
    last_ms = page.run["end_ms"]

    def has_answers():
        series = page.run["series"][0]
        return any(
            sent > last_ms and delay is not None
            for sent, delay in zip(series["sent_ms"], series["delay_ms"], strict=True)
        )

    wait_until(has_answers, "pings are answered on the other path", 30)
    assert page.ask(do="repair", link="s1-s2") == ""
    wait_until(lambda: page.run["failures"][0]["down"][0][1] is not None, "it is repaired", 30)
    wait_until(lambda: page.run["pairs"][0]["spans"][-1]["failed"] == [], "the usual path is back", 60)
    kinds = {event["kind"] for event in page.run["events"]}
    assert {"fail", "repair", "detect"} <= kinds
    assert set(page.run["loads_mbps"]) == {"s1-s2", "s2-s3", "s3-s4", "s1-s4"}
