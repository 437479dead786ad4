"""Live networks: a failure asked for by a page is injected, detected, routed around and repaired, in each of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager, suppress
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

    @property
    def is_ready(self):
        return bool(self.runs) and all(run["error"] == "" and run["end_ms"] for run in self.runs.values())


@contextmanager
def live(folder, *options):
    """A page of `armor live` on a ring of four switches."""
    words = ["live", "ring:4", "--bfd-interval-ms", "100", "--pair", "h1,h2", *options]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "experiments", *words], stdout=subprocess.PIPE, stderr=said, text=True
        )
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), (folder / "said").read_text()
        found = Page(url)
        wait_until(lambda: found.is_ready, "the networks are ready", READY_S)
        yield found
    finally:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(patient_s(60))
        finally:
            process.kill()
    assert code == 130
    assert "Traceback" not in (folder / "said").read_text()
    assert not list(Path("/run/armor/runs").glob(f"*-{process.pid}.jsonl"))


def answered_since(run, t_ms):
    """Whether a ping of the first pair that was sent later has been answered."""
    series = run["series"][0]
    return any(
        sent > t_ms and delay is not None for sent, delay in zip(series["sent_ms"], series["delay_ms"], strict=True)
    )


def avoids(run, links):
    return run["pairs"][0]["spans"][-1]["failed"] == links


@pytest.mark.parametrize("mode", ["learned", "agent"])
def test_a_failure_is_injected_detected_routed_around_and_repaired(mode, tmp_path):
    with live(tmp_path, "--mode", mode) as page:
        wait_until(lambda: all(len(series["sent_ms"]) > 50 for series in page.run["series"]), "pings are answered", 30)
        assert page.ask(do="fail", link="s1-s2", kind="silent") == ""
        wait_until(lambda: page.run["failures"] and "detect" in page.run["failures"][0]["stages"], "it is detected", 30)
        wait_until(lambda: avoids(page.run, ["s1-s2"]), "the page shows the other path", 10)
        assert sum(series["counts"]["lost"] for series in page.run["series"]) > 0
        last_ms = page.run["end_ms"]
        wait_until(lambda: answered_since(page.run, last_ms), "pings are answered on the other path", 30)
        assert page.ask(do="repair", link="s1-s2") == ""
        wait_until(lambda: page.run["failures"][0]["down"][0][1] is not None, "it is repaired", 30)
        wait_until(lambda: avoids(page.run, []), "the usual path is back", 60)
        kinds = {event["kind"] for event in page.run["events"]}
        assert {"fail", "repair", "detect"} <= kinds
        assert set(page.run["loads_mbps"]) == {"s1-s2", "s2-s3", "s3-s4", "s1-s4"}


def test_two_networks_side_by_side_get_the_same_failures(tmp_path):
    with live(tmp_path, "--scheme", "sdfast", "--side-by-side", "shortest") as page:
        assert [page.runs[number]["scheme"] for number in ("0", "1")] == ["sdfast", "shortest"]
        for run in page.runs.values():
            wait_until(lambda run=run: len(run["series"][0]["sent_ms"]) > 50, "pings are answered", 30)
        assert page.ask(do="fail", link="s1-s2", kind="silent") == ""
        for run in page.runs.values():
            wait_until(lambda run=run: run["failures"] and "detect" in run["failures"][0]["stages"], "detected", 30)
        last_ms = {number: run["end_ms"] for number, run in page.runs.items()}
        wait_until(lambda: answered_since(page.runs["0"], last_ms["0"]), "SD-FAST answers pings again", 30)
        wait_until(lambda: page.runs["1"]["end_ms"] > last_ms["1"] + 2000, "two seconds have passed", 30)
        assert not answered_since(page.runs["1"], last_ms["1"]), "nothing recovers with shortest paths alone"
        assert page.ask(do="repair", link="s1-s2") == ""
        for number, run in page.runs.items():
            repaired_ms = wait_until(lambda run=run: run["failures"][0]["down"][0][1], "it is repaired", 30)
            wait_until(lambda run=run, at=repaired_ms: answered_since(run, at), f"pings of network {number}", 60)
