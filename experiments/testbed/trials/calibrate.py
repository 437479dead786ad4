"""Measures what a machine does under a campaign's load while nothing fails."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from emulation.decide.queues import CS6_TOS
from emulation.decide.switch import VSWITCHD
from experiments.analysis.frames import CaptureError
from experiments.analysis.packet_counts import Clock
from experiments.analysis.timeline import Window
from experiments.campaign.values import Json, TestbedSettings, Trial
from experiments.scenario.values import Scenario
from experiments.testbed.instruments.capture import DRAIN_S
from experiments.testbed.instruments.clock import sample_offset_ns
from experiments.testbed.instruments.streams import Streams
from experiments.testbed.runs.parts import require_programs
from experiments.testbed.runs.record import make_record
from experiments.testbed.trials.decide.calibration import (
    CANDIDATES_MS,
    FullLink,
    calibration_trial,
    frame_mbps,
    full_link_facts,
    full_link_traffic,
    holds,
    load_facts,
    lonely_link,
    mean_ping_ms,
    without_load,
)
from experiments.testbed.trials.decide.scenario import load_of, scenario_of, timing_of
from experiments.testbed.trials.session import datagrams_of, udp_of
from experiments.testbed.trials.testbed import Testbed, open_testbed
from machine.environment import load_per_core
from mininet_topos.catalogue import load_topology

_FILL_S = 0.7  # until the queue of the full link is full
_FULL_S = 4.0  # the pings take half of it
_PINGS, _PING_INTERVAL_S = 20, 0.05


def measure_calibration(trials: Sequence[Trial], settings: TestbedSettings) -> Json:
    """What calibration.json says of a machine, before it is judged.

    A network with the load of the campaign's first mixed trial and no failure: the shortest BFD interval that holds,
    lost pings, UDP goodput; then one link filled by UDP: the rate that it reaches, BFD's verdicts, and how long control
    packets wait.

    Parameters
    ----------
    trials
        Of the campaign. Without a mixed one only the host's load is reported.
    settings
        Its BFD interval is not used.

    Raises
    ------
    MissingRequirementError
        Networks cannot be emulated or measured here.
    """
    host: Json = {"load_per_core": round(load_per_core(), 2), "cores": os.cpu_count()}
    began_s = time.monotonic()
    trial = calibration_trial(trials)
    if trial is None:
        return {**without_load(host), "seconds": 0.0}
    require_programs()
    scenario = scenario_of(trial, load_topology(trial.topology), CANDIDATES_MS[0])
    with (
        tempfile.TemporaryDirectory(dir=settings.work) as name,
        open_testbed(scenario, Path(name) / "network", settings.say) as testbed,
    ):
        settings.say("measuring under load")
        facts = _under_load(testbed, trial, scenario, Path(name))
        settings.say("filling a link")
        facts = {**_full_link_of(testbed, trial, Path(name) / "full"), **facts}
    return {**facts, **host, "seconds": round(time.monotonic() - began_s, 1)}


def _under_load(testbed: Testbed, trial: Trial, scenario: Scenario, folder: Path) -> Json:
    """Try the intervals, shortest first; the facts are those of the first that holds, or of the last."""
    tried: list[Json] = []
    facts: Json = {}
    for interval_ms in CANDIDATES_MS:
        testbed.network.set_bfd_interval(interval_ms)
        began_s, used_s = time.monotonic(), _switch_seconds(testbed)
        measured, _ = testbed.observe(scenario, folder / f"bfd-{interval_ms}")
        share = (_switch_seconds(testbed) - used_s) / (time.monotonic() - began_s) / (os.cpu_count() or 1)
        record = make_record(scenario, scenario.variations[0], measured, "", (), notes=())
        found = udp_of(trial, scenario.topology, measured.captures, measured.clock)
        window = Window(measured.zero_s, measured.zero_s + timing_of(trial).total_s)
        facts = load_facts(record, found.values(), load_of(trial).udp_mbps, window)
        flaps, seconds = sum(measured.flaps.values()), timing_of(trial).total_s
        tried.append({"interval_ms": interval_ms, "flaps": flaps, "seconds": seconds, "switch_share": round(share, 3)})
        if holds(tried[-1]):
            break
    return {"bfd_interval_ms": tried[-1]["interval_ms"], "bfd": tried, **facts}


def _switch_seconds(testbed: Testbed) -> float:
    return testbed.network.processor_seconds()[VSWITCHD]


def _full_link_of(testbed: Testbed, trial: Trial, folder: Path) -> Json:
    """Nothing is known of links that are as fast as the machine makes them."""
    capacity_mbps = load_of(trial).capacity_mbps
    if capacity_mbps is None:
        return without_load({})
    return full_link_facts(_fill(testbed, capacity_mbps, folder), capacity_mbps)


def _fill(testbed: Testbed, capacity_mbps: float, folder: Path) -> FullLink:
    """Fill a link for some seconds, and ask it how it is."""
    network, marks = testbed.network, testbed.captures.marks()
    link = lonely_link(network.topology)
    flaps_before = sum(network.flap_counts().values())
    stream = full_link_traffic(link, capacity_mbps)
    source, destination = network.hosts[link.a], network.hosts[link.b]
    with Streams(network, (stream,), folder) as streams:
        streams.start(0, _FILL_S + _FULL_S + 1)
        time.sleep(_FILL_S)
        start_s = time.monotonic()
        words = ["ping", "-n", "-q", "-c", str(_PINGS), "-i", str(_PING_INTERVAL_S), "-W", "1"]
        control = network.run(source.name, [*words, "-Q", str(CS6_TOS), destination.address]).stdout
        other = network.run(source.name, [*words, destination.address]).stdout
        time.sleep(max(0.0, start_s + _FULL_S - time.monotonic()))
        window = Window(start_s, time.monotonic())
    time.sleep(DRAIN_S)
    captures = testbed.captures.slices(marks, folder)
    if missed := testbed.captures.missed_since(marks):
        raise CaptureError(f"the tap on {next(iter(missed)).device} missed {sum(missed.values())} frames")
    found = datagrams_of(network.topology, captures, Clock(sample_offset_ns()), {(link.a, link.b): 0})
    flaps = sum(network.flap_counts().values()) - flaps_before
    reached_mbps = frame_mbps(found[link.a, link.b], window)
    return FullLink(reached_mbps, flaps, mean_ping_ms(control), mean_ping_ms(other))
