"""Readiness and the controller's environment, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.testbed.runs.controller_environment import (
    SWITCH_DATABASE,
    controller_environment,
    write_demands,
    write_topology,
)
from experiments.testbed.runs.readiness import missing_after
from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.settings import ARMOR
from te_solver.demand_files import load_demands
from te_solver.values import Demand


def test_what_is_missing_is_asked_for_until_nothing_is() -> None:
    answers = iter([{"s1", "s2"}, {"s2"}, set(), {"never asked"}])
    assert missing_after(lambda: next(answers), timeout_s=60, poll_s=0) == set()
    assert next(answers) == {"never asked"}


def test_what_is_still_missing_when_the_time_is_over_is_given() -> None:
    assert missing_after(lambda: ["s1"], timeout_s=0, poll_s=0) == ["s1"]


def test_the_controller_reads_the_settings_that_it_is_given(tmp_path: Path) -> None:
    topology = load_topology("figure2")
    demands = (Demand("s1", "s4", 4.0, priority=4),)
    environment = controller_environment(
        {
            "topology": write_topology(tmp_path, topology),
            "demands": write_demands(tmp_path, demands),
            "max_failures": None,
            "replayed": ("s1-s2", "s3-s4"),
            "wait_to_restore_s": 0.5,
            "queue_db": SWITCH_DATABASE,
        }
    )
    settings = ARMOR.read({}, environment)
    assert load_topology(settings.topology).link_ids == topology.link_ids
    assert load_demands(settings.traffic.demands, topology, seed=1) == demands
    assert (settings.options.max_failures, settings.options.replayed) == (None, ("s1-s2", "s3-s4"))
    assert (settings.wait_to_restore_s, settings.stats_interval_s, settings.discovery_interval_s) == (0.5, 0, 0)
    assert settings.queue_remote("s1", "10.1.1.1") == "tcp:10.1.1.1:6641"


def test_without_demands_the_controller_takes_all_pairs(tmp_path: Path) -> None:
    assert write_demands(tmp_path, ()) is None


def test_a_setting_that_the_controller_does_not_have_is_refused() -> None:
    with pytest.raises(KeyError, match="tunnles"):
        controller_environment({"tunnles": 3})
