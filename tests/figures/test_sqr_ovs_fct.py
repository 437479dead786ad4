"""SQR across a fat tree, on rows that are known: one flow that waits for a timer, or a short buffer, breaks a claim."""

from __future__ import annotations

from typing import Any

from experiments.campaign.kinds.network_flows import NetworkFlowsParameters
from experiments.campaign.order import trial_row
from experiments.campaign.values import CampaignPlan, Trial, parameters_of
from experiments.figures.sqr import ovs_fct
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.ffg import find_alternates
from te_solver.routes import ResidualRoutes

QUICK = CampaignPlan(quick=True, seed=1, rounds=2)
FLOWS, NORMAL_MS, DETECTION_MS = 100, 5.0, 300.0
HIT_MS = {ovs_fct.SQR: 200.0, ovs_fct.ALONE: 1310.0}
HIT = 7  # number of the flow


def _held(rate_pps: float | None, packets: int) -> dict[str, Any]:
    during = "web-search" if rate_pps is None else "stream"
    return {
        "during": during,
        "rate_pps": rate_pps,
        "detection_ms": DETECTION_MS,
        "packets": packets,
        "frame_bytes": ovs_fct.STREAM_FRAME_BYTES * packets,
    }


def _flows(workload: str, trial: Trial) -> dict[str, Any]:
    times = [NORMAL_MS] * FLOWS
    hit_ms = HIT_MS.get(trial.variant) if trial.variant else None
    if hit_ms is not None:
        times[HIT] = hit_ms
    return {
        "workload": workload,
        "flows": FLOWS,
        "unfinished": 0,
        "retransmitted": 0,
        "sizes_bytes": [1000] * FLOWS,
        "completion_ms": times,
        "hits": [] if hit_ms is None else [[HIT, 10.0, 190.0, 1]],
        "outages_ms": [] if hit_ms is None else [DETECTION_MS],
        "timeouts": 0,
        "loss_probes": 0,
        "fast_retransmits": 0,
    }


def measured(trial: Trial) -> dict[str, Any]:
    own = parameters_of(trial, NetworkFlowsParameters)
    held = [_held(float(rate), round(rate * own.delta_ms / 1000)) for rate in own.streams_pps] + [_held(None, 90)]
    return {
        "workloads": [_flows(name, trial) for name in own.workloads],
        "held": held if trial.variant == ovs_fct.SQR else [],
    }


def rows() -> list[dict[str, Any]]:
    return [
        {**trial_row(trial, True), "trial": trial.trial_id, "status": "ok", "parameters": trial.parameters.to_json()}
        | measured(trial)
        for trial in ovs_fct.trials(QUICK)
    ]


def verdicts(stored: list[dict[str, Any]]) -> dict[str, str]:
    return {result.name: result.verdict for result in ovs_fct.FIGURE.claims(stored)}


def test_claims_hold_where_only_fast_failover_makes_flows_wait_for_timers() -> None:
    assert set(verdicts(rows()).values()) == {"holds", "measured", "by construction"}


def test_one_flow_that_waits_for_a_timer_breaks_the_claim_for_sqr() -> None:
    stored = rows()
    broken = next(row for row in stored if row["variant"] == ovs_fct.SQR.name)
    broken["workloads"][0]["completion_ms"][HIT] = ovs_fct.TIMER_MS
    assert [name for name, verdict in verdicts(stored).items() if verdict == "differs"] == [
        "hit flows that took 1000 ms or longer, a timer of TCP, web search, SQR"
    ]


def test_a_control_whose_flows_do_not_wait_breaks_its_claim() -> None:
    stored = rows()
    for row in stored:
        if row["variant"] == ovs_fct.ALONE.name:
            for flows in row["workloads"]:
                flows["completion_ms"][HIT] = 200.0
    assert sum(verdict == "differs" for verdict in verdicts(stored).values()) == len(ovs_fct.WORKLOADS)


def test_a_buffer_that_does_not_cover_the_detection_breaks_the_claim() -> None:
    stored = rows()
    for row in stored:
        for held in row["held"]:
            held["packets"] = round((held["rate_pps"] or 0) * 0.9 * DETECTION_MS / 1000)
    wrong = [name for name, verdict in verdicts(stored).items() if verdict == "differs"]
    assert wrong == [f"packets held at a failure by those sent since it, {rate} packets/s" for rate in (200, 800)]


def test_packets_that_a_late_sender_sent_at_once_are_no_fault_of_the_buffer() -> None:
    stored = rows()
    for row in stored:
        for held in row["held"]:
            held["packets"] *= 2
            held["frame_bytes"] *= 2
    assert "direction" in set(verdicts(stored).values())
    for row in stored:
        for held in row["held"]:
            if held["rate_pps"] is not None:
                held["sent_within_delta"], held["sent_since_failure"] = held["packets"], held["packets"] // 2
    assert set(verdicts(stored).values()) == {"holds", "measured", "by construction"}
    results = {result.name: result.measured for result in ovs_fct.FIGURE.claims(stored)}
    assert results["packets sent within delta by rate x delta, 800 packets/s"] == 2.0


def test_the_failing_uplink_is_on_the_way_and_has_an_alternate_and_the_way_back_needs_none() -> None:
    topology = load_topology(ovs_fct.FAT_TREE.topology)
    routes, names = ResidualRoutes(topology, "spt", "hops"), topology.node_names
    table, target = routes.next_links().tolist(), names.index(ovs_fct.DESTINATION)
    node, way = ovs_fct.SOURCE, []
    while node != ovs_fct.DESTINATION:
        direction = routes.links[table[names.index(node)][target]].direction
        way.append((direction.src, direction.dst))
        node = direction.dst
    assert ovs_fct.FAILING in way
    assert (names.index(ovs_fct.FAILING[0]), target) in find_alternates(routes)


def test_without_rows_nothing_is_claimed_and_the_picture_still_draws() -> None:
    assert set(verdicts([]).values()) == {"no data"}
    for stored in ([], rows()):
        assert ovs_fct.FIGURE.draw(stored, "a caption").axes
        table = ovs_fct.FIGURE.table(stored)
        assert all(len(row) == len(table.header) for row in table.rows)
