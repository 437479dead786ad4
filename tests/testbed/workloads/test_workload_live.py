"""Short flows over a path that really fails: without SQR they wait for timers of TCP, with it none runs out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dataplane.two_paths import two_paths
from experiments.campaign.values import Json
from experiments.testbed.workloads.decide.breaking import FailureModel, Recovery
from experiments.testbed.workloads.decide.flows import GIVE_UP_MS
from experiments.testbed.workloads.decide.sizes import WEB_SEARCH, draw_flows
from experiments.testbed.workloads.run import Bottleneck, Bulk, Sending, TcpSettings, run_bulk, run_workload
from tests.undisturbed import undisturbed

pytestmark = [pytest.mark.emulation, pytest.mark.alone]
# Notified late on a busy machine, a failure is still within delta; a path fails twice.
MODEL = FailureModel(interval_ms=600, detection_ms=1, down_ms=150, bound_ms=300, spare_ms=50)
LONG_DOWN = replace(MODEL, down_ms=500)
SECONDS = 2.0
TCP = TcpSettings(rto_min_ms=400)
# Where nothing is lost no timer runs out, unless a busy machine lets an answer wait for so long.
PATIENT_TCP = TcpSettings(rto_min_ms=2000)


def workload(recovery: Recovery | None, tcp: TcpSettings) -> Json:
    flows = draw_flows(WEB_SEARCH, 3000, 100_000, 0.002, seed=1)
    with two_paths() as testbed:
        return run_workload(testbed, recovery, MODEL, Sending(flows, SECONDS), tcp, beside=None, seed=1)


def test_flows_whose_path_fails_wait_for_a_timer() -> None:
    row = workload(Recovery(same_port=True, replays=False), TCP)
    assert row["flows"] > 10
    assert len(row["outages_ms"]) > 0
    assert row["timeouts"] > 0
    # A flow that began while the path was down has lost its SYN, which is retransmitted after a second.
    began_while_down = [number for number, after_ms, _, again in row["hits"] if after_ms > 0 and again]
    assert began_while_down
    assert all((row["completion_ms"][number] or GIVE_UP_MS) > 900 for number in began_while_down)


@pytest.mark.parametrize("same_port", [True, False], ids=["same-port", "rerouted"])
def test_with_sqr_no_flow_loses_its_syn_and_none_times_out(same_port: bool) -> None:
    row = undisturbed(workload, Recovery(same_port=same_port, replays=True), PATIENT_TCP)
    assert row["unfinished"] == 0
    assert row["timeouts"] == 0
    assert row["sqr_s1"]["replays"] == row["sqr_s2"]["replays"] == len(row["outages_ms"]) > 0
    assert row["sqr_s1"]["young"] == row["sqr_s1"]["pending"] == 0


def test_a_long_flow_has_no_time_out_with_sqr() -> None:
    bulk = Bulk(seconds=2.0, failure_s=1.0, sample_ms=5, window_ms=900, bottleneck=Bottleneck(20.0, 1000))
    with two_paths() as testbed:
        row = run_bulk(testbed, Recovery(same_port=True, replays=True), MODEL, bulk, PATIENT_TCP)
    assert row["timeouts"] == 0
    assert row["sqr_s1"]["replays"] == 1
    assert row["stalled_ms"] > MODEL.down_ms / 2
    assert row["sent_bytes"][-1] > row["sent_bytes"][0]


@pytest.mark.parametrize("loss_probes", [True, False], ids=["probes", "no-probes"])
def test_a_long_flow_without_sqr_sends_loss_probes_unless_they_are_off(loss_probes: bool) -> None:
    bulk = Bulk(seconds=2.0, failure_s=1.0, sample_ms=5, window_ms=900, bottleneck=Bottleneck(20.0, 20))
    tcp = TcpSettings(TCP.rto_min_ms, loss_probes)
    with two_paths() as testbed:
        row = run_bulk(testbed, Recovery(same_port=True, replays=False), LONG_DOWN, bulk, tcp)
    assert (row["loss_probes"] > 0) == loss_probes
    assert row["timeouts"] > 0  # the path is down for longer than a probe waits
