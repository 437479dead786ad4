"""Trials of TCP flows across an emulated network: with SQR hit flows wait for no timer, with fast failover they do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dataplane.sqr import find_agent
from experiments.campaign.kinds.network_flows import NetworkFlowsMeasured, NetworkFlowsParameters
from experiments.campaign.parameters import typed
from experiments.campaign.values import TestbedSettings, Trial, Variant, parameters_of
from experiments.figures.sqr import ovs_fct
from experiments.testbed.trials.network_flows_trial import network_flows_runner, scenario_of
from mininet_topos.errors import MissingRequirementError
from tests.figures.test_sqr_ovs_fct import QUICK
from tests.undisturbed import first_undisturbed

RING = str(Path(__file__).resolve().parents[2] / "examples" / "sqr_ring.json")


def trial_of(variant: Variant) -> Trial:
    """On a ring of four, one failure in each of the workloads and of one stream."""
    (trial, *_) = ovs_fct.trials(QUICK)
    own = replace(
        parameters_of(trial, NetworkFlowsParameters),
        source="s1",
        destination="s3",
        failing=("s1", "s2"),
        delta_ms=3000.0,
        seconds=8.0,
        failures=1,
        streams_pps=(200,),
        pause_ms=20.0,  # with the figure's, so short a path fills the buffer, and replays of all of it lost packets
    )
    return replace(trial, topology=RING, variant=variant, parameters=own)


@pytest.mark.parametrize(("variant", "keeps_all"), [(ovs_fct.CALM, True), (ovs_fct.SQR, True), (ovs_fct.ALONE, False)])
def test_a_variant_keeps_all_packets_of_the_failing_link_or_marked_ones(variant: Variant, keeps_all: bool) -> None:
    (variation,) = scenario_of(trial_of(variant)).variations
    assert variation.scheme == "sqr"
    assert variation.replay is not None
    assert variation.replay.links == ("s1-s2",)
    assert variation.replay.marked.is_all is keeps_all


def measured_of(variant: Variant, work: Path) -> NetworkFlowsMeasured:
    """The first of a few rows that does not doubt itself, or the last.

    A busy machine detects after the timer of a SYN, or what did not fail: what a flow waited for then is not SQR's.
    """
    settings = TestbedSettings(work=work, quick=True, say=lambda _text: None, bfd_interval_ms=ovs_fct.BFD_MS)
    return first_undisturbed(
        lambda: typed(NetworkFlowsMeasured, network_flows_runner(settings)(trial_of(variant))),
        lambda measured: None if measured.trustworthy else measured.warnings,
    )


@pytest.mark.emulation
@pytest.mark.alone
@pytest.mark.ryu
@pytest.mark.parametrize("variant", [ovs_fct.ALONE, ovs_fct.SQR])
def test_failures_hit_flows_and_only_fast_failover_alone_lets_them_wait(tmp_path: Path, variant: Variant) -> None:
    try:
        find_agent()
    except MissingRequirementError as error:
        pytest.skip(str(error))
    measured = measured_of(variant, tmp_path)
    assert [each.workload for each in measured.workloads] == [each.name for each in ovs_fct.WORKLOADS]
    assert all(each.hits and len(each.outages_ms) == 1 for each in measured.workloads)
    retransmitted = sum(each.timeouts for each in measured.workloads)
    if variant == ovs_fct.ALONE:
        assert retransmitted > 0
        assert measured.held == ()
        return
    assert [each.during for each in measured.held] == ["web-search", "data-mining", "stream"]
    assert all(each.packets > 0 and each.frame_bytes > 0 for each in measured.held)
    assert retransmitted == 0, measured
