"""A run that measures flows: the network with its queues, flows in their tunnels, one thing that happens, a result."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.analysis.events import avoided_by_engineering, detections, read_events
from experiments.analysis.flow_result import FlowResult, FlowRun, judge_flows
from experiments.analysis.flows.classes import flow_classes, fluid_rates
from experiments.analysis.flows.placing import place
from experiments.analysis.trust import assess
from experiments.scenario.flow_values import FINAL_S, Flow, FlowTiming, Placed
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.inject import Injector
from experiments.testbed.runs.measure import Flaps, network_health, unasked_restarts
from experiments.testbed.runs.readiness import wait_plans_held
from experiments.testbed.runs.tunnel_agents import wanted_plans
from experiments.testbed.runs.tunnels import rerun_planner
from experiments.testbed.runs.watching import PortWatch, watched_switches
from experiments.testbed.traffic.measure import MeasuredFlows, measure_flows
from experiments.testbed.traffic.ports import place_flows, unplaced
from mininet_topos.errors import ArmorError
from mininet_topos.topology import LinkId
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.rows import RulePlan
from te_solver.network import to_network

POST = Path(__file__).parents[1] / "instruments" / "post.py"
_INSTALLED = ("restoration_done", "agent_install")
_ROWS_S, _ROWS_POLL_S = 10.0, 0.5
_RERUN_S = 60.0
_REST = "http://127.0.0.1:8080/armor/te"  # where the settings' defaults put it
Say = Callable[[str], None]


@dataclass(frozen=True)
class FlowTestbed:
    """A network that is ready, and what is planned on it.

    Attributes
    ----------
    network
        Its plans installed, its BFD sessions up.
    plans
        What the switches hold while nothing is broken.
    planner
        None for a scheme of routes.
    """

    network: EmulatedNetwork
    injection: FailureInjection
    work: Work
    plans: dict[int, RulePlan]
    planner: TunnelPlanner | None


def run_flows(
    testbed: FlowTestbed, scenario: Scenario, variation: Variation, flows: Sequence[Flow], say: Say
) -> FlowResult:
    """Measure the flows of a scenario around what happens in it.

    Parameters
    ----------
    scenario, variation : Scenario, Variation
    flows
        With tunnels as numbers (`tunnels.flows_of`).
    say : callable
        Called with what is going on.

    Raises
    ------
    ArmorError
        A flow finds no place, or a program fails.
    """
    network, planner = testbed.network, testbed.planner
    injector = Injector(network, testbed.injection, scenario)
    injector.prepare()
    failed = failed_at_once(scenario)
    after = planner if planner is None or scenario.rerun is None else rerun_planner(scenario, variation, planner)
    say("finding source ports")
    placed = _place(network, planner, flows, failed, scenario.seed)
    if after is not planner and after is not None:
        placed = moved(placed, after)
    flaps = Flaps(network, scenario, may_raise=False)
    say(f"measuring {len(placed)} flows")
    with PortWatch(network, watched_switches(scenario.failures, scenario.topology), testbed.work):
        measured = measure_flows(
            network,
            placed,
            lambda: _happen(testbed, scenario, injector),
            timing_of(scenario),
            flow_classes(scenario.topology, placed, failed),
        )
    if scenario.rerun is not None:
        say("waiting for traffic engineering")
        _wait_engineered(testbed.work)
    say("comparing rows with plans")
    wrong = _wrong_rows(testbed, scenario, after, failed)
    return _result(testbed, scenario, variation, placed, measured, seen=_Seen(flaps, wrong, failed))


@dataclass(frozen=True)
class _Seen:
    """What else was seen of a run."""

    flaps: Flaps
    wrong_rows: str
    failed: frozenset[LinkId]


def _result(
    testbed: FlowTestbed,
    scenario: Scenario,
    variation: Variation,
    placed: Sequence[Placed],
    measured: MeasuredFlows,
    *,
    seen: _Seen,
) -> FlowResult:
    network, planner = testbed.network, testbed.planner
    events = read_events(_text(testbed.work))
    health = network_health(
        network, seen.flaps.unexplained(), unasked_restarts(network, scenario), measured.load_per_core
    )
    warnings, trustworthy = assess(replace(health, avoided=avoided_by_engineering(events)))
    capacities = to_network(scenario.topology, scenario.default_capacity_mbps)
    run = FlowRun(
        scenario=scenario,
        variation=variation,
        records=measured.records,
        fluid={} if planner is None else fluid_rates(capacities, placed, seen.failed),
        links=measured.links,
        stays=frozenset(each.flow.name for each in placed if each.before and each.before == each.after),
        failure_s=measured.failure_s,
        detections_s=tuple(t_s for _, t_s in detections(events)),
        installs_s=tuple(event.t_s for event in events if event.name in _INSTALLED),
        bfd_interval_ms=network.bfd_interval_ms,
        wrong_rows=seen.wrong_rows,
        warnings=tuple(warnings),
        trustworthy=trustworthy,
    )
    return judge_flows(run, keeps_others=planner is not None and planner.failover.tags_victims)


def failed_at_once(scenario: Scenario) -> frozenset[LinkId]:
    """Links that the scenario's failures take away."""
    topology = scenario.topology
    return frozenset(link for failure in scenario.failures for link in failure.links_down(topology))


def timing_of(scenario: Scenario) -> FlowTiming:
    """Windows of a scenario's flows: from its second 0 to what happens, and from there to its end."""
    at_s = scenario.rerun.at_s if scenario.rerun is not None else scenario.failures[0].at_s
    after_s = scenario.duration_s - at_s
    return FlowTiming(scenario.settle_s, at_s, after_s, min(FINAL_S, after_s))


def moved(placed: Sequence[Placed], planner: TunnelPlanner) -> tuple[Placed, ...]:
    """Flows with the tunnels, after the event, of another planner."""
    found = []
    for each in placed:
        new = place(planner, each.flow, each.slot or 0, each.source_port, ())
        found.append(replace(each, after=new.before, queue_after=new.queue_before, tunnel_after=new.tunnel_before))
    return tuple(found)


def _wrong_rows(
    testbed: FlowTestbed, scenario: Scenario, planner: TunnelPlanner | None, failed: frozenset[LinkId]
) -> str:
    """What is wrong with the rows of the switches, once the controller or agents have had time; empty: nothing."""
    if planner is None:
        return ""
    plans = partial(wanted_plans, testbed.network, planner, scenario, testbed.work, failed)
    wrong = wait_plans_held(testbed.network, plans, _ROWS_S, _ROWS_POLL_S)
    return f"switches that do not hold what is planned for these failures: {'; '.join(wrong[:5])}" if wrong else ""


def _place(
    network: EmulatedNetwork,
    planner: TunnelPlanner | None,
    flows: Sequence[Flow],
    failed: frozenset[LinkId],
    seed: int,
) -> tuple[Placed, ...]:
    if planner is None:
        return unplaced(flows)
    return place_flows(network, planner, flows, (failed,) if failed else (), seed)


def _happen(testbed: FlowTestbed, scenario: Scenario, injector: Injector) -> None:
    """What the scenario says: its failures, or a run of traffic engineering."""
    if scenario.rerun is None:
        at_s = scenario.failures[0].at_s
        zero_s = time.monotonic() - at_s
        testbed.work.note_zero(zero_s)
        injector.run(zero_s, at_s, lambda: None)
        return
    words = [sys.executable, "-I", str(POST), _REST, scenario.rerun.given]
    answer = testbed.network.run("controller", words, timeout_s=_RERUN_S)
    if "run" not in _json(answer.stdout):
        raise ArmorError(f"the controller does not run traffic engineering: {answer.stdout or answer.stderr}")


def _wait_engineered(work: Work) -> None:
    """Wait until the asked run of traffic engineering has ended, which takes long where every processor is busy."""
    deadline_s = time.monotonic() + _RERUN_S
    while "te_done" not in (names := {event.name for event in read_events(_text(work))}):
        if "te_failed" in names:
            raise ArmorError("traffic engineering has failed; the controller's log says why")
        if time.monotonic() > deadline_s:
            raise ArmorError(
                f"traffic engineering has not ended {_RERUN_S:g} s after the flows; the controller's log says why"
            )
        time.sleep(_ROWS_POLL_S)


def _json(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(work: Work) -> str:
    return work.events.read_text(encoding="utf-8")
