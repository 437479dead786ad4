"""Trials in the words of scenarios."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from experiments.campaign.kinds.probed import DownloadParameters
from experiments.campaign.values import CampaignPlan, Load, Timing, Trial
from experiments.figures.sdfast import setup
from experiments.testbed.trials.decide.scenario import scenario_of
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError

DARKSTRAND = load_topology("darkstrand")
PLAN = CampaignPlan(quick=True, seed=1)


@cache
def cbc_four() -> Trial:
    (trial,) = setup.mixed_trials(PLAN, "darkstrand", [4], [setup.CBC])
    return trial


def test_a_mixed_trial_sends_pings_and_udp_between_all_pairs_and_fails_all_links_at_once() -> None:
    scenario = scenario_of(cbc_four(), DARKSTRAND, 20)
    kinds = [stream.kind for stream in scenario.traffic]
    assert kinds == ["ping"] * 12 + ["iperf3-udp"] * 12
    assert {(stream.source, stream.destination) for stream in scenario.traffic} == set(cbc_four().pairs)
    assert [str(failure.link) for failure in scenario.failures] == list(cbc_four().links)
    assert {failure.at_s for failure in scenario.failures} == {cbc_four().timing.before_s}
    assert {failure.kind for failure in scenario.failures} == {"silent"}
    assert {link.capacity_mbps for link in scenario.topology.links} == {setup.CAPACITY_MBPS}
    assert scenario.duration_s == pytest.approx(cbc_four().timing.total_s)


def test_the_control_delay_is_that_of_the_variant() -> None:
    assert scenario_of(cbc_four(), DARKSTRAND, 20).control_delay_ms == 5
    assert scenario_of(replace(cbc_four(), variant=setup.LEARNED), DARKSTRAND, 20).control_delay_ms == 0


def test_downloads_have_a_head_start_and_no_other_traffic() -> None:
    (trial,) = setup.download_trials(PLAN, [4], [setup.CB])
    scenario = scenario_of(trial, DARKSTRAND, 20)
    assert scenario.traffic == ()
    assert {failure.at_s for failure in scenario.failures} == {DownloadParameters().head_start_s}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"variant": None}, "names no scheme"),
        ({"timing": None}, "says not how long it lasts"),
        ({"load": None}, "says not what is sent"),
        ({"links": ("s1-s999",)}, "fails 's1-s999', which is no link of 'darkstrand'"),
    ],
)
def test_what_a_trial_lacks_is_named(change: dict[str, object], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        scenario_of(replace(cbc_four(), **change), DARKSTRAND, 20)


def test_links_keep_their_own_capacity_when_the_load_names_none() -> None:
    load = Load(pings=True, ping_interval_ms=10, udp_mbps=None, download_bytes=None, capacity_mbps=None)
    trial = replace(cbc_four(), load=load, timing=Timing(1, 1, 1))
    assert scenario_of(trial, DARKSTRAND, 20).topology == DARKSTRAND
