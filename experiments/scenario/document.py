"""A scenario back as plain data, in the words of the file format: what a result folder keeps as scenario.yaml."""

from __future__ import annotations

import json
from dataclasses import asdict

from experiments.scenario.controls import control_to_document
from experiments.scenario.failures import failure_to_document
from experiments.scenario.message_classes import pmt_to_document
from experiments.scenario.protection import protection_to_document
from experiments.scenario.replay import replay_to_document
from experiments.scenario.traffic import stream_to_document
from experiments.scenario.tunnel_values import Rerun, TunnelConfiguration, WantedFlow
from experiments.scenario.values import IN_BAND, Scenario
from ryu_apps.plan.choices import NO_MODE

Document = dict[str, object]
_PLANNED_ALIKE = ("planner", "routes", "metric", "max_failures", "notification")


def to_document(scenario: Scenario) -> Document:
    """Plain data that `parse_scenario` reads back into an equal scenario.

    Raises
    ------
    ValueError
        The variations are not the product of schemes and modes of one file.
    """
    planned = {name: getattr(scenario.variations[0], name) for name in _PLANNED_ALIKE}
    if any(getattr(variation, name) != value for variation in scenario.variations for name, value in planned.items()):
        raise ValueError("a scenario file plans all its schemes alike; these variations differ in more than the mode")
    modes = dict.fromkeys(variation.mode for variation in scenario.variations)
    document: Document = {
        "topology": scenario.topology_name,
        "schemes": list(dict.fromkeys(variation.scheme for variation in scenario.variations)),
        "modes": [mode for mode in modes if mode != NO_MODE] or None,
        **planned,
        "seed": scenario.seed,
        "duration_s": scenario.duration_s,
        "settle_s": scenario.settle_s,
        "bfd_interval_ms": scenario.bfd_interval_ms,
        "default_capacity_mbps": scenario.default_capacity_mbps,
        "control_delay_ms": scenario.control_delay_ms or None,
        "delay_ms": scenario.delay_ms,
        "jitter_ms": scenario.jitter_ms,
        "link_delays": scenario.link_delays,
        "wait_to_restore_s": scenario.wait_to_restore_s,
        "capacity_mbps": scenario.capacity_mbps,
        "controls": [control_to_document(control) for control in scenario.controls] or None,
        "sqr": replay_to_document(next((each.replay for each in scenario.variations if each.replay), None)),
        "protect": protection_to_document(
            next((each.protection for each in scenario.variations if each.protection), None), scenario.topology
        ),
        "pmt": pmt_to_document(scenario.pmt),
        "control": None if scenario.control_at is None else IN_BAND,
        "control_at": scenario.control_at,
        "tls": scenario.tls or None,
        "queues": scenario.queues,
        **_tunnels(scenario.tunnels),
        "traffic": [stream_to_document(stream) for stream in scenario.traffic] or None,
        "flows": scenario.aggregates or [_flow(wanted) for wanted in scenario.flows] or None,
        "failures": [failure_to_document(failure) for failure in scenario.failures],
        "reoptimise": None if scenario.rerun is None else _rerun(scenario.rerun),
        "expect": [_given(asdict(each)) for each in scenario.expected] or None,
    }
    return _given(document)


def _tunnels(configuration: TunnelConfiguration) -> Document:
    """What differs from the defaults; a list of demands as it was given."""
    usual, document = asdict(TunnelConfiguration()), asdict(configuration)
    given = document.pop("given")
    document["demands"] = json.loads(given) if given else document["demands"]
    return {key: value for key, value in document.items() if value != usual[key]}


def _flow(wanted: WantedFlow) -> Document:
    flow = wanted.flow
    return _given(
        {
            "name": flow.name,
            "from": flow.source,
            "to": flow.destination,
            "kind": flow.transport,
            "mbps": flow.offered_mbps,
            "priority": flow.priority,
            "tunnel": list(wanted.via) or flow.tunnel,
            "moves_to": list(wanted.moves_via) or flow.moves_to,
            "start_s": flow.start_s or None,
        }
    )


def _rerun(rerun: Rerun) -> Document:
    return {"at_s": rerun.at_s} | ({"demands": json.loads(rerun.given)} if rerun.given else {})


def _given(document: Document) -> Document:
    return {key: value for key, value in document.items() if value is not None}
