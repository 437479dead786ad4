"""Trials of 1+1 protection through Open vSwitch: both sorts run, what is protected passes the packet programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dataplane.loader import find_program_object
from experiments.campaign.kinds.protected import EchoMeasured, EchoParameters, TransfersMeasured, TransfersParameters
from experiments.campaign.parameters import typed
from experiments.campaign.values import TestbedSettings, Trial, Variant
from experiments.figures.p4protect import ovs_fig7, ovs_fig8, setup
from experiments.testbed.trials.protect_trial import UNUSED_PORT, protect_runner, scenario_of
from mininet_topos.errors import MissingRequirementError
from ryu_apps.plan.protection import flow_text
from tests.figures.test_p4protect import QUICK

TRANSFERS = TransfersParameters(ovs_fig7.ID, setup.BFD_MS, (1, 2), 3, 1.0)
ECHOES = EchoParameters(ovs_fig8.ID, setup.BFD_MS, 2.0, 1.0, 100, 5.0, 0.5)


def trial_of(variant: Variant, own: TransfersParameters | EchoParameters) -> Trial:
    (trial, *_) = ovs_fig7.trials(QUICK)
    return replace(trial, variant=variant, parameters=own)


@pytest.mark.parametrize(
    ("variant", "own", "flows"),
    [
        (setup.PLAIN, TRANSFERS, []),
        (setup.UNPROTECTED, TRANSFERS, [f"s1 to s2, tcp to port {UNUSED_PORT}"]),
        (setup.PROTECTED, TRANSFERS, ["s1 to s2, tcp to port 5201", "s1 to s2, tcp to port 5202"]),
        (setup.PROTECTED, ECHOES, ["s1 to s2, udp to port 7007"]),
    ],
)
def test_a_variant_protects_what_is_measured_both_ways_or_not(
    variant: Variant, own: TransfersParameters | EchoParameters, flows: list[str]
) -> None:
    (variation,) = scenario_of(trial_of(variant, own)).variations
    protected = variation.protection.flows if variation.protection else ()
    assert [flow_text(flow) for flow in protected if flow.source == "s1"] == flows
    assert {flow.reverse for flow in protected} == set(protected)
    assert len({each.number for each in protected}) == len(flows)


@pytest.fixture
def settings(tmp_path: Path) -> TestbedSettings:
    try:
        find_program_object("protect")
    except MissingRequirementError as error:
        pytest.skip(str(error))
    return TestbedSettings(work=tmp_path, quick=True, say=lambda _text: None, bfd_interval_ms=setup.BFD_MS)


@pytest.mark.emulation
@pytest.mark.ryu
def test_pairs_transfer_through_bridges_and_hairpins(settings: TestbedSettings) -> None:
    row = protect_runner(settings)(trial_of(setup.PROTECTED, TRANSFERS))
    measured = typed(TransfersMeasured, row)
    assert len(measured.goodput_mbps) == len(measured.retransmits) == 2
    assert min(measured.goodput_mbps) > 0


@pytest.mark.emulation
@pytest.mark.ryu
@pytest.mark.parametrize("variant", [setup.PLAIN, setup.PROTECTED])
def test_echoes_take_the_delay_of_links_both_ways(settings: TestbedSettings, variant: Variant) -> None:
    measured = typed(EchoMeasured, protect_runner(settings)(trial_of(variant, ECHOES)))
    assert measured.sent == measured.arrived == measured.returned == ECHOES.packets
    assert measured.one_way_mean_ms >= ECHOES.base_delay_ms
    assert measured.round_trip_mean_ms >= 2 * ECHOES.base_delay_ms
    assert min(measured.one_way_deviation_ms, measured.round_trip_deviation_ms) > 0
