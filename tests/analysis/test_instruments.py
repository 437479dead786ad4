"""Instruments against a real Open vSwitch in dummy mode: the port watcher, and the reading of rows."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.analysis.dumps import compare_dump
from experiments.analysis.events import Event, detections, read_events
from experiments.scenario.traffic.ping import Ping
from experiments.scenario.traffic.probe import Probe
from experiments.testbed.instruments.clock import sample_offset_ns
from experiments.testbed.instruments.dump import DumpError, read_switch
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.watching import PortWatch
from machine.event_log import EVENTS_VARIABLE
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.row_text import flow_text, group_text
from ryu_apps.schemes import plan_network
from tests.dummy_ovs import DummyOvs
from tests.patience import wait_until

PLAN = plan_network("sdfast", load_topology("figure2"), PlanOptions())[2]
WAIT_S = 30.0


@pytest.fixture
def switch() -> Iterator[DummyOvs]:
    with DummyOvs() as ovs:
        ovs.add_bridge("s2", 2, (1, 2, 3, 4))
        yield ovs


def management(ovs: DummyOvs) -> Path:
    return Path(ovs.management("s2").removeprefix("unix:"))


@pytest.mark.ovs
def test_a_switch_that_was_given_its_plan_is_read_back_clean(switch: DummyOvs) -> None:
    for command, rows in (("add-groups", map(group_text, PLAN.groups)), ("add-flows", map(flow_text, PLAN.flows))):
        words = ("ovs-ofctl", "-OOpenFlow13", command, switch.management("s2"), "-")
        switch.run(*words, text="".join(f"{row}\n" for row in rows))
    held = read_switch(management(switch))
    assert held.foreign == 0
    assert compare_dump(PLAN, held.flows, held.groups, lambda _tag_id: False).is_clean
    switch.ofctl("del-flows", "s2", "table=1")
    left = read_switch(management(switch))
    report = compare_dump(PLAN, left.flows, left.groups, lambda _tag_id: False)
    assert len(report.missing) == sum(row.table_id == 1 for row in PLAN.flows)


def test_a_switch_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"nobody\.mgmt does not answer"):
        read_switch(tmp_path / "nobody.mgmt")


class Watcher:
    """The watcher as a run starts it."""

    def __init__(self, ovs: DummyOvs, events: Path) -> None:
        self.events = events
        argv = [sys.executable, "-m", "experiments.testbed.instruments.port_watch", f"s2={management(ovs)}"]
        self.process = subprocess.Popen(argv, env={**os.environ, EVENTS_VARIABLE: str(events)})

    def wait_for(self, wanted: object) -> Event:
        """The first event that `wanted` is true for."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            text = self.events.read_text(encoding="utf-8") if self.events.exists() else ""
            for event in read_events(text):
                if wanted(event.fields):  # type: ignore[operator]
                    return event
            assert self.process.poll() is None
            time.sleep(0.02)
        raise AssertionError(f"not seen in {WAIT_S} s; events: {text}")

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def watcher(switch: DummyOvs, tmp_path: Path) -> Iterator[Watcher]:
    watching = Watcher(switch, tmp_path / "events.jsonl")
    yield watching
    watching.end()


@pytest.mark.ovs
def test_the_watcher_stamps_a_port_that_fails_and_returns(switch: DummyOvs, watcher: Watcher) -> None:
    watcher.wait_for(lambda fields: fields["port_no"] == 3 and fields["is_first"] and fields["live"])
    before_s = time.monotonic()
    switch.appctl("netdev-dummy/set-admin-state", "s2-p3", "down")
    failed = watcher.wait_for(lambda fields: fields["port_no"] == 3 and not fields["live"])
    assert before_s < failed.t_s < time.monotonic()
    switch.appctl("netdev-dummy/set-admin-state", "s2-p3", "up")
    watcher.wait_for(lambda fields: fields["port_no"] == 3 and fields["live"] and not fields["is_first"])
    found = detections(read_events(watcher.events.read_text(encoding="utf-8")))
    assert found == (("s2", failed.t_s),)


@pytest.mark.ovs
def test_the_watcher_outlives_the_switch(switch: DummyOvs, watcher: Watcher) -> None:
    watcher.wait_for(lambda fields: fields["port_no"] == 2)
    switch.kill_vswitchd()
    switch.start_vswitchd()
    wait_until(lambda: "s2-p2" in switch.appctl("dpif/show"), "the switch has its ports again")
    switch.appctl("netdev-dummy/set-admin-state", "s2-p2", "down")
    watcher.wait_for(lambda fields: fields["port_no"] == 2 and not fields["live"])


def test_the_clock_offset_turns_one_clock_into_the_other() -> None:
    offset_ns = sample_offset_ns()
    before_ns = time.monotonic_ns()
    real_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    slack_ns = 50_000
    assert before_ns - slack_ns <= real_ns - offset_ns <= after_ns + slack_ns


def test_probe_programs_keep_interval_and_length() -> None:
    irtt = Probe("s1", "s2", interval_ms=2.5).programs("10.0.0.2", 4.2, 0).client
    assert irtt[irtt.index("-i") + 1] == "2500us"
    assert irtt[irtt.index("-d") + 1] == "4200ms"
    ping = Ping("s1", "s2", interval_ms=2.5).programs("10.0.0.2", 4.2, 0).client
    assert ping[-4:] == ("0.0025", "1680", "1", "56")


@pytest.mark.ovs
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only root may put a process before others")
def test_the_watcher_of_a_run_goes_before_ordinary_processes(switch: DummyOvs, tmp_path: Path) -> None:
    started = []

    def popen(_where: str, argv: list[str], **options: Any) -> subprocess.Popen[bytes]:
        environment = {**os.environ, EVENTS_VARIABLE: str(tmp_path / "events.jsonl")}
        started.append(subprocess.Popen(argv, env=environment, **options))
        return started[0]

    (tmp_path / "events.jsonl").touch()
    network = SimpleNamespace(sites={"s2": SimpleNamespace(mgmt_socket=management(switch))}, popen=popen)
    with PortWatch(network, ("s2",), Work(tmp_path)):  # type: ignore[arg-type]
        assert os.sched_getscheduler(started[0].pid) == os.SCHED_RR
    assert started[0].poll() is not None
