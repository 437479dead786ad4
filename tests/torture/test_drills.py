"""Drills: what is drawn, and how outages, gaps and lost rows are judged."""

from __future__ import annotations

import subprocess
from contextlib import nullcontext
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.torture.decide.drills import (
    INTERVAL_S,
    Outage,
    draw_kill,
    draw_link,
    largest_plan,
    longest_gap_ms,
    lost_rows,
    most_changes_a_minute,
    outages_summary,
)
from experiments.torture.decide.faults import targets_of
from experiments.torture.drills.database import kill_during_a_write
from experiments.torture.drills.network import DrilledNetwork
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import plan_network

USNET = load_topology("usnet")
LINKS = tuple(map(str, USNET.link_ids))
_OF_SWITCHES = (f"{name}@{node}" for name in ("agent", "ovs-vswitchd") for node in USNET.node_names)
PROCESSES = (*_OF_SWITCHES, "controller")
TARGETS = targets_of(USNET, PROCESSES, drops_a_part=True)
FLOWS = plan_network("sdfast", load_topology("figure2"), PlanOptions())[2].flows


@given(st.integers(0, 2**31), st.integers(1, 500), st.sampled_from(["agent", "ovs-vswitchd", "controller"]))
def test_a_kill_meets_one_process_of_its_kind_around_the_failure_of_one_link(seed, number, process):
    faults = draw_kill(TARGETS, (seed, number), process)
    (kill,) = [fault for fault in faults if fault.kind == "kill"]
    (link,) = [fault for fault in faults if fault.kind == "silent"]
    assert kill.target in PROCESSES
    assert kill.target.partition("@")[0] == process
    assert link.target in LINKS
    assert link.at_s - 0.5 <= kill.at_s < link.at_s + link.for_s
    assert faults == tuple(sorted(draw_kill(TARGETS, (seed, number), process)))


@given(st.integers(0, 2**31), st.integers(0, 20))
def test_each_link_fails_once_before_one_fails_again(seed, cycle):
    numbers = range(cycle * len(LINKS) + 1, (cycle + 1) * len(LINKS) + 1)
    drawn = [draw_link(LINKS, seed, number) for number in numbers]
    assert sorted(drawn) == sorted(LINKS)


@given(st.integers(0, 100), st.integers(1, 100), st.integers(0, 100), st.floats(0, 1e6))
def test_an_outage_ends_with_the_first_request_after_the_last_lost_one(before, lost, after, start_s):
    count = before + lost + after
    times_s = [start_s + n * INTERVAL_S for n in range(count)]
    failed_s, until_s = times_s[before], start_s + (count - 1) * INTERVAL_S
    outage = Outage.of("s1-s2", (failed_s, until_s), count, times_s[before : before + lost])
    assert (outage.requests, outage.lost) == (count, lost)
    if after > 6:
        assert outage.recovered_ms == pytest.approx(1000 * lost * INTERVAL_S, abs=1e-3)
    elif after < 5:
        assert outage.recovered_ms is None
    unanswered = list(enumerate(times_s))[before : before + lost]
    assert longest_gap_ms(unanswered) == pytest.approx(1000 * lost * INTERVAL_S, abs=1e-3)


def test_what_was_lost_before_the_failure_is_no_outage():
    assert Outage.of("s1-s2", (10.0, 20.0), 100, [5.0]).recovered_ms == 0.0
    assert Outage.of("s1-s2", (10.0, 20.0), 100, []).recovered_ms == 0.0


def test_gaps_are_those_of_consecutive_requests():
    assert longest_gap_ms([]) == 0.0
    assert longest_gap_ms([(7, 1.0), (8, 1.005), (9, 1.010), (400, 3.0), (401, 3.005)]) == pytest.approx(15.0)


def test_a_gap_in_which_the_machine_stood_still_is_one_gap():
    before_s = [(number, number * INTERVAL_S) for number in range(60)]
    after_s = [(number, number * INTERVAL_S + 0.02) for number in range(60, 120)]
    assert longest_gap_ms([*before_s, *after_s]) == pytest.approx(620.0)


@given(st.lists(st.none() | st.floats(0, 1000), min_size=1), st.floats(0, 1000), st.integers(0, 5))
def test_a_summary_counts_each_failure_once(times_ms, bound_ms, stood_still):
    rows = [{"recovered_ms": time_ms, "lost": number, "counted": True} for number, time_ms in enumerate(times_ms)]
    found = outages_summary([*rows, *stood_still * [{**rows[0], "counted": False}]], bound_ms)
    assert (found["failures"], found["not_counted"]) == (len(rows), stood_still)
    late = sum(time_ms is not None and time_ms > bound_ms for time_ms in times_ms)
    assert found["within_bound"] + late + found["not_recovered"] == len(times_ms)
    assert found["lost_requests"]["max"] == len(times_ms) - 1


def test_damping_bounds_the_changes_of_a_link_that_flaps():
    assert most_changes_a_minute(10, Damping.of_wait(1.0)) == 60.0


@given(st.sets(st.sampled_from(FLOWS)), st.sets(st.sampled_from(FLOWS)), st.none() | st.sets(st.sampled_from(FLOWS)))
def test_rows_are_lost_unless_the_database_holds_one_of_two_whole_plans(found, acknowledged, under_way):
    lost = lost_rows(tuple(found), tuple(acknowledged), None if under_way is None else tuple(under_way))
    assert lost == (0 if found == under_way else len(acknowledged - found))


@pytest.mark.parametrize(
    "drill", [lambda network: network.fail_link("s1-s2"), lambda network: network.flap("s1-s2", 1.2, 0.6)]
)
def test_requests_that_do_not_end_are_an_error(monkeypatch, drill):
    program = MagicMock()
    program.communicate.side_effect = subprocess.TimeoutExpired("requests", 60.0)
    monkeypatch.setattr(DrilledNetwork, "_requests", lambda *_given: nullcontext((program, 0.0)))
    monkeypatch.setattr(DrilledNetwork, "_changes", lambda _network: nullcontext(lambda: 0))
    network = DrilledNetwork(MagicMock(), (MagicMock(), MagicMock()), MagicMock(), "run")
    network._network, network._injection = MagicMock(bfd_interval_ms=5), MagicMock()
    with pytest.raises(ArmorError, match="the requests did not end within 60 s"):
        drill(network)


@pytest.mark.ovs
def test_a_database_killed_during_writes_holds_what_it_acknowledged():
    pytest.importorskip("ovs")
    from emulation.private_database import private_database
    from ryu_apps.backup_database.schema import SCHEMA_PATH
    from ryu_apps.backup_database.store import BackupStore

    plan = largest_plan(plan_network("sdfast", load_topology("figure2"), PlanOptions()).values())
    with private_database("test of a killed database", SCHEMA_PATH) as database:
        rows = [kill_during_a_write(database, plan, (1, number)) for number in range(1, 7)]
        assert all(row["writes"] >= 1 and row["lost_rows"] == 0 and row["refused"] for row in rows)
        found = BackupStore(database.remote).read_plan("s1")
        assert found is not None
        without = tuple(found.plan.flows[1:])
        assert lost_rows(without, found.plan.flows, None) == 1
