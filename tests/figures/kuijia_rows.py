"""Rows of Kuijia's measured trials without a network: the fluid model's rates, with some noise."""

from __future__ import annotations

import random
from collections.abc import Iterable

from experiments.analysis.flows.classes import flow_classes, fluid_rates
from experiments.analysis.flows.placing import place, wanted_slots
from experiments.analysis.trust import Health
from experiments.campaign.draws.tunnel_traffic import FIGURE1, FOUR, Traffic
from experiments.campaign.order import trial_row
from experiments.campaign.parameters import plain
from experiments.campaign.values import Json, Trial
from experiments.scenario.flow_values import FlowRecord, Placed
from experiments.testbed.trials.decide.flow_row import SeenFlows, flow_row, flow_timing


def placed_flows(traffic: Traffic) -> list[Placed]:
    """Every flow at the first slot that does what it asks for."""
    planner, failures = traffic.planner, traffic.failures
    return [place(planner, flow, wanted_slots(planner, flow, failures)[0], 0, failures) for flow in traffic.flows]


def fluid_of(traffic: Traffic, placed: list[Placed]) -> dict[str, dict[str, float]]:
    return fluid_rates(traffic.network, placed, traffic.failures[0])


def synthetic_row(trial: Trial, noise: float = 0.002) -> Json:
    """What a trial would give on a network that behaves as the fluid, and settles sooner with Kuijia."""
    lot = random.Random(trial.trial_id)
    traffic = Traffic(trial)
    placed = placed_flows(traffic)
    fluid, timing = fluid_of(traffic, placed), flow_timing(trial.timing, trial.parameters.settle_s)
    classes = flow_classes(traffic.topology, placed, traffic.failures[0])
    settles_s = 0.4 if trial.variant.scheme == "kuijia" else 12.0

    def record(each: Placed) -> FlowRecord:
        name, is_udp = each.flow.name, each.flow.transport == "udp"
        before, after = (fluid[name][f"{when}_mbps"] * (1 + noise * lot.random()) for when in ("before", "after"))
        lost = 100.0 * max(0.0, 1 - after / before)
        steps = (round(10 * (timing.settle_s + timing.before_s)), round(10 * timing.after_s))
        return FlowRecord(
            *(name, each.flow.source, each.flow.destination, each.flow.transport, each.flow.priority),
            *(each.flow.offered_mbps, classes[name], each.tunnel_before, each.tunnel_after, before, after),
            *(0.0, lost, None if is_udp else 3),
            settles_s if classes[name] in ("victim", "direct") else 0.0,
            ((before,) * steps[0] + (after,) * steps[1]) if trial.topology == FIGURE1 or traffic.queues == FOUR else (),
            -1000.0 * (timing.settle_s + timing.before_s),
        )

    links = {"s1>s2": {"before": {1: 5.0}, "after": {1: 5.0, 2: 0.5}}}
    seen = SeenFlows(trial, placed, [record(each) for each in placed], links, fluid, 0.0, (), Health())
    return {**trial_row(trial, quick=False), "seconds": 30.0, **plain(flow_row(seen, timing))}


def synthetic_rows(trials: Iterable[Trial], noise: float = 0.002) -> list[Json]:
    return [synthetic_row(trial, noise) for trial in trials]
