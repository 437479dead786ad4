"""Trials on real emulated networks: what a row says must hold whatever the machine's speed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from emulation.clean import clean_all, marked_processes
from emulation.runfile import STATE_VARIABLE, list_runs
from experiments.campaign.kinds.probed import DownloadParameters, WatchedParameters
from experiments.campaign.values import Load, TestbedSettings, Timing, Trial, Variant
from experiments.testbed.trials.calibrate import measure_calibration
from experiments.testbed.trials.session import Session, probed_runner
from tests.patience import wait_until
from tests.undisturbed import TRIES, undisturbed

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]

TIMING = Timing(before_s=0.5, transient_s=0.5, converged_s=0.7)
LOAD = Load(pings=True, ping_interval_ms=10, udp_mbps=0.5, download_bytes=None, capacity_mbps=5)
# In learned mode one packet of a destination comes back. A datagram would do as well, but only pings are followed.
PINGS = replace(LOAD, udp_mbps=None)
DOWNLOAD = Load(pings=False, ping_interval_ms=10, udp_mbps=None, download_bytes=30_000, capacity_mbps=5)
LEARNED = Variant("sdfast", "learned")
BFD_MS = 50  # holds on a busy machine
ENDED_S = 30.0


def trial(kind="mixed", links=(), variant=LEARNED, load=LOAD):
    """A trial on the topology of SD-FAST's figure 2; the failure of s4-s5 makes packets of s1 backtrack to s2."""
    name = f"figure2/k{len(links)}/{kind}/{variant.name}"
    parameters = DownloadParameters() if kind == "download" else WatchedParameters()
    pairs = (("s1", "s5"), ("s8", "s2"))
    return Trial(name, kind, "figure2", variant, 1, len(links), links, pairs, load, TIMING, 1, parameters)


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> TestbedSettings:
    return TestbedSettings(tmp_path, quick=True, bfd_interval_ms=BFD_MS, say=lambda _what: None)


def phases(row, number=0):
    return row["pairs"][number]["phases"]


def test_trials_of_a_session_share_a_network_that_returns_between_them(settings: TestbedSettings, state: Path) -> None:
    runner = probed_runner(settings)
    with runner.session(trial()) as run:
        (built,) = list_runs(state)
        quiet = undisturbed(run, trial())
        failed = undisturbed(run, trial(links=("s4-s5",), load=PINGS))
        fetched = run(trial("download", ("s4-s5",), load=DOWNLOAD))
        again = undisturbed(run, trial())
        assert [record.run_id for record in list_runs(state)] == [built.run_id]
    for row in (quiet, failed, fetched, again):
        assert row["returned"]["wrong"] is None
        assert json.loads(json.dumps(row)) == row
    for row in (quiet, again):
        assert [phase["lost"] + phase["backtracked"] for phase in phases(row).values()] == [0, 0, 0], row
        assert all(phase["udp_received"] == phase["udp_sent"] > 0 for phase in phases(row).values())
    assert phases(failed)["transient"]["lost"] > 0
    assert sum(phase["backtracked"] for phase in phases(failed).values()) > 0
    assert phases(failed)["converged"]["lost"] == 0
    assert failed["pairs"][0]["hit"] == ["s4-s5"]
    assert failed["pairs"][0]["hops_back"] == 2
    assert failed["crankback_frames"] >= failed["pairs"][0]["backtracked_out"] * 2 > 0
    assert failed["backtracking_ms"]["from_failure"] > max(0, failed["backtracking_ms"]["from_detection"])
    assert failed["stages_ms"]["detect"] > 0
    for pair in fetched["pairs"]:
        assert pair["download"]["finished"]
        assert pair["download"]["bytes"] == DOWNLOAD.download_bytes
    assert list_runs(state) == ()
    assert list(settings.work.iterdir()) == []


def test_crankback_alone_never_ends_and_its_controller_ends_it(settings: TestbedSettings) -> None:
    rows = {}
    for variant, times in ((Variant("cb"), 1), (Variant("cbc", control_delay_ms=20), 2)):
        with Session(trial(variant=variant), settings) as session:
            made = trial(links=("s4-s5",), variant=variant)
            rows[variant.scheme] = [undisturbed(session.run, made) for _ in range(times)]
    for row in (*rows["cb"], *rows["cbc"]):
        assert phases(row)["converged"]["lost"] == 0, row
        assert row["returned"]["wrong"] is None
    for row in rows["cb"]:
        assert row["backtracking_ms"] is None
        assert phases(row)["converged"]["backtracked"] == phases(row)["converged"]["sent"]
    # Notified after one control delay, rows written after another; the last packet before that left up to a pace
    # earlier. A busy machine stamps the detection late, or does not ping for a while, and both make the time shorter.
    longest_ms = max(row["backtracking_ms"]["from_detection"] for row in rows["cbc"])
    assert longest_ms >= 2 * 20 - 2 * LOAD.ping_interval_ms


def test_a_network_that_does_not_return_is_built_anew(
    settings: TestbedSettings, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(trial(), settings) as session:
        (built,) = list_runs(state)
        monkeypatch.setattr("experiments.testbed.trials.returning._RETURN_S", 0.0)
        assert session.run(trial(links=("s4-s5",)))["returned"]["wrong"]
        monkeypatch.undo()
        monkeypatch.setenv(STATE_VARIABLE, str(state))
        assert session.run(trial())["returned"]["wrong"] is None
        (anew,) = list_runs(state)
        assert anew.run_id != built.run_id


def test_calibration_measures_everything_that_is_judged(settings: TestbedSettings) -> None:
    # A busy machine lets BFD take the full link as failed, and then no ping is answered: that says nothing of classes.
    tries = (measure_calibration([trial()], settings) for _ in range(TRIES))
    facts = next(each for each in tries if None not in each["full_link_delay_ms"].values())
    assert facts["bfd"][-1]["interval_ms"] == facts["bfd_interval_ms"]
    assert all(0 < each["switch_share"] < 1 for each in facts["bfd"])
    assert facts["ping"]["sent"] > 1000
    assert facts["udp"]["offered_mbps"] > 0
    assert 0 < facts["link"]["reached_mbps"] <= facts["link"]["capacity_mbps"] * 1.05
    # A full queue holds tens of milliseconds; control packets do not wait behind it.
    assert facts["full_link_delay_ms"]["control_ms"] < facts["full_link_delay_ms"]["best_effort_ms"]


BACKGROUND = """
import sys
from pathlib import Path
from experiments.campaign.values import TestbedSettings
from experiments.testbed.trials.session import Session
from tests.testbed.trials.test_session import trial
settings = TestbedSettings(Path(sys.argv[1]), True, 50, lambda what: None)
with Session(trial(), settings) as session:
    print("built", flush=True)
    while True:
        session.run(trial(links=("s4-s5",)))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_session_that_is_ended_in_a_trial_leaves_nothing(number: int, state: Path, tmp_path: Path) -> None:
    argv = [sys.executable, "-c", BACKGROUND, str(tmp_path)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "built\n"
    time.sleep(1.0)
    (run,) = list_runs(state)
    process.send_signal(number)
    process.wait(ENDED_S)
    process.stdout.close()
    wait_until(lambda: not list_runs(state) and not marked_processes(run.run_id), "everything has been removed", 60)
    assert clean_all() == ()
