"""What calibration sends and says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.datagrams import Datagram
from experiments.analysis.timeline import Window
from experiments.campaign.calibration import bfd_interval_ms, problems
from experiments.campaign.values import CampaignPlan, TestbedSettings
from experiments.figures.sdfast import setup
from experiments.testbed.trials.calibrate import measure_calibration
from experiments.testbed.trials.decide.calibration import (
    FullLink,
    calibration_trial,
    frame_mbps,
    full_link_facts,
    full_link_traffic,
    holds,
    lonely_link,
    mean_ping_ms,
    without_load,
)
from mininet_topos.catalogue import list_topologies, load_topology

PLAN = CampaignPlan(quick=True, seed=1)
WINDOW = Window(10.0, 14.0)


def test_calibration_has_the_load_of_a_trial_and_no_failure() -> None:
    (mixed,) = setup.mixed_trials(PLAN, "darkstrand", [4], [setup.CB])
    trial = calibration_trial([*setup.flow_trials(PLAN, [setup.CB]), mixed])
    assert trial is not None
    assert (trial.pairs, trial.load) == (mixed.pairs, mixed.load)
    assert (trial.links, trial.failures) == ((), 0)


def test_a_campaign_without_load_measures_no_network_and_is_not_blamed_for_it(tmp_path) -> None:
    trials = list(setup.verify_trials(PLAN, ["gscale"], [1]))
    assert calibration_trial(trials) is None
    facts = measure_calibration(trials, TestbedSettings(tmp_path, True, 20, print))
    assert facts["cores"] > 0
    assert facts["bfd"] is facts["ping"] is facts["link"] is None
    assert problems({**facts, "load_per_core": 0.0}) == ()
    assert bfd_interval_ms(facts) > 0


def test_what_a_link_does_is_judged_by_the_words_that_are_used_here() -> None:
    good = FullLink(reached_mbps=4.96, flaps=0, control_ms=0.3, best_effort_ms=70.0)
    assert problems(full_link_facts(good, 5.0)) == ()
    for change in ({"reached_mbps": 3.0}, {"flaps": 2}, {"control_ms": 60.0}):
        assert len(problems(full_link_facts(replace(good, **change), 5.0))) == 1
    assert problems(without_load({})) == ()


@pytest.mark.parametrize(("flaps", "share", "expected"), [(0, 0.4, True), (1, 0.4, False), (0, 0.8, False)])
def test_a_bfd_interval_holds_without_flaps_and_with_processor_time_to_spare(flaps, share, expected) -> None:
    assert holds({"interval_ms": 20, "flaps": flaps, "seconds": 8.0, "switch_share": share}) is expected


@given(st.lists(st.tuples(st.floats(9.0, 15.0), st.integers(1, 1448)), max_size=30))
def test_a_link_carries_headers_too(arrived: list[tuple[float, int]]) -> None:
    found = [Datagram(number, 9.0, t_s, size) for number, (t_s, size) in enumerate(arrived)]
    inside = [size for t_s, size in arrived if 10.0 <= t_s < 14.0]
    assert frame_mbps([*found, Datagram(99, 11.0, None, 1448)], WINDOW) == pytest.approx(
        8 * (sum(inside) + 42 * len(inside)) / 4e6, abs=1e-4
    )


@pytest.mark.parametrize("name", [row.name for row in list_topologies() if row.kind != "generator"])
def test_the_full_link_is_the_only_one_between_its_ends(name: str) -> None:
    topology = load_topology(name)
    link = lonely_link(topology)
    ends = {link.a, link.b}
    assert sum({other.a, other.b} == ends for other in topology.link_ids) == 1
    assert full_link_traffic(link, 5.0).rate_mbps > 5.0


def test_ping_without_an_answer_has_no_mean() -> None:
    assert mean_ping_ms("20 packets transmitted, 0 received, 100% packet loss, time 970ms\n") is None
