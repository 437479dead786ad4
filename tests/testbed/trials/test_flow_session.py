"""Flows over tunnels on a real network: Table 2 of Kuijia, with short windows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("cvxpy")

from emulation.runfile import STATE_VARIABLE
from experiments.campaign.values import CampaignPlan, TestbedSettings, Timing
from experiments.figures.kuijia.testbed import KUIJIA, figure1_trials
from experiments.testbed.trials.flow_session import FlowSession
from experiments.testbed.trials.reused import ReusedRunner

pytestmark = [pytest.mark.emulation, pytest.mark.ryu, pytest.mark.alone]


def test_victims_take_what_the_others_leave_and_the_network_comes_back(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path_factory.mktemp("state")))
    trial = next(each for each in figure1_trials(CampaignPlan(True, 1), "table2") if each.variant == KUIJIA)
    short = replace(trial, timing=Timing(2.0, 2.0, 3.0))
    settings = TestbedSettings(tmp_path, True, 100, lambda _words: None)
    with ReusedRunner(FlowSession, settings).session(short) as run:
        row = run(short)
    flows = {flow["name"]: flow for flow in row["flows"]}
    assert {name: flow["class"] for name, flow in flows.items()} == {
        **dict.fromkeys(("f1", "f2"), "victim"),
        **dict.fromkeys(("f3", "f4"), "direct"),
    }
    assert [flows[name]["tunnel_after"] for name in ("f1", "f2", "f3", "f4")] == [0, 2, 0, 2]
    for victim, other in (("f1", "f3"), ("f2", "f4")):
        assert flows[victim]["after_mbps"] < 0.7 * flows[victim]["before_mbps"]
        assert flows[other]["after_mbps"] > 0.9 * flows[other]["before_mbps"]
    assert row["links"]["s1>s4"]["after"]["2"] > 0.5
    assert row["links"]["s1>s2"]["after"]["1"] < 0.5
    assert row["stages_ms"]["answered"] >= row["stages_ms"]["notified"] > 0
    assert row["returned"]["wrong"] is None
    assert not list(tmp_path.iterdir())
