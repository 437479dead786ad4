"""Runs a scenario: each variation on a network of its own, results judged and written to one folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from emulation.bfd_probe import BfdUnstableError
from emulation.decide.options import BFD_CANDIDATES_MS
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.analysis.dumps import DumpReport
from experiments.analysis.flow_result import FlowResult
from experiments.analysis.flows.placing import wanted_slots
from experiments.analysis.injected import failed_links
from experiments.analysis.record import Promise
from experiments.analysis.result import Json, RunResult, judge
from experiments.scenario.flow_values import Flow
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.runs.captures import write_captures
from experiments.testbed.runs.flow_run import FlowTestbed, failed_at_once, run_flows
from experiments.testbed.runs.folder import ResultFolder, Work, run_environment
from experiments.testbed.runs.inject import Injector
from experiments.testbed.runs.measure import measure
from experiments.testbed.runs.parts import BFD_S, dump_reports, emulated_network, options_of, plans_while
from experiments.testbed.runs.promise import promise_of, tunnel_promise
from experiments.testbed.runs.readiness import wait_installed, wait_returned_to_all
from experiments.testbed.runs.record import make_record
from experiments.testbed.runs.tunnel_agents import start_tunnel_agents, wanted_plans
from experiments.testbed.runs.tunnels import flows_of, is_tunnel_scheme, tunnel_planner, tunnel_plans
from mininet_topos.connectivity import require_connected
from mininet_topos.errors import ArmorError
from mininet_topos.topology import LinkId
from ryu_apps.plan.choices import AGENTS_NOTIFY
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.notification import is_for_notifications
from ryu_apps.plan.rows import RulePlan
from ryu_apps.schemes import find_scheme, plan_network

_CONNECT_S = 40.0
_RETURN_SLACK_S = 20.0
_RETURN_POLL_S = 1.0
_UNFINISHED = "the command ended before this run had finished; run it again in a new folder"

Say = Callable[[str], None]
Follow = Callable[[Variation, Work, EmulatedNetwork], None]
"""Shows a network that has just been built while it runs."""
Planned = dict[Variation, "PlannedRun"]


@dataclass(frozen=True)
class PlannedRun:
    """What is known of a run before anything is built.

    Attributes
    ----------
    plans
        By datapath id.
    planner
        Of a scheme of tunnels.
    flows
        What is measured, in place of single packets.
    """

    plans: dict[int, RulePlan]
    planner: TunnelPlanner | None = None
    flows: tuple[Flow, ...] = ()


@dataclass(frozen=True)
class FailedRun:
    """A run that broke off, and why."""

    variation: Variation
    error: ArmorError

    def to_json(self) -> Json:
        """The shape of `run --json` for a run without a result."""
        return {
            "run": self.variation.name,
            "scheme": self.variation.scheme,
            "mode": self.variation.mode,
            "variant": self.variation.variant,
            "failures": [],
            "error": str(self.error),
            "held": False,
            "trustworthy": False,
            "warnings": [str(self.error)],
        }


def plan_scenario(scenario: Scenario) -> Planned:
    """Rule plans of every variation, before anything is built.

    Raises
    ------
    BadInputError
        The topology is in parts, or a scheme cannot be planned on it.
    """
    require_connected(scenario.topology)
    return {variation: _planned(scenario, variation) for variation in scenario.variations}


def _planned(scenario: Scenario, variation: Variation) -> PlannedRun:
    if not is_tunnel_scheme(variation):
        plans = plan_network(variation.scheme, scenario.topology, options_of(variation))
        return PlannedRun(plans, flows=flows_of(scenario, variation, None))
    planner = tunnel_planner(scenario, variation)
    flows = flows_of(scenario, variation, planner)
    failed = failed_at_once(scenario)
    for flow in flows:
        wanted_slots(planner, flow, (failed,) if failed else ())  # what no slot can do is refused before anything runs
    return PlannedRun(tunnel_plans(scenario, planner), planner, flows)


def run_scenario(
    scenario: Scenario,
    planned: Planned,
    folder: ResultFolder,
    text: str | None,
    say: Say,
    *,
    keeps_captures: bool = False,
    follow: Follow | None = None,
) -> list[RunResult | FlowResult | FailedRun]:
    """Run every variation of a scenario.

    Parameters
    ----------
    planned : dict
        From `plan_scenario`.
    folder
        Receives everything, environment and verdict after each run.
    text
        The scenario file as the user wrote it.
    say : callable
        Called with what is going on.
    keeps_captures
        Whether the folder receives the captures too; runs that measure flows have none.
    follow
        Called with each network once it is built, again where a run starts anew.

    Returns
    -------
    One entry a variation, in order. A run that breaks off does not keep the others from running.

    Raises
    ------
    MissingRequirementError
        The machine lacks something.
    """
    folder.write_scenario(scenario, text)
    facts = run_environment(scenario)
    emulations: Json = {}
    outcomes: list[RunResult | FlowResult | FailedRun] = []
    interval_ms = scenario.bfd_interval_ms
    for number, (variation, prepared) in enumerate(planned.items(), 1):
        run = _Run(scenario, variation, prepared, folder, emulations, say, keeps_captures, follow)
        # Runs are compared, so the next one begins with the BFD interval that this one ended with.
        outcome, interval_ms = run.until_stable(interval_ms)
        if isinstance(outcome, FailedRun):
            folder.add_failed_run(variation.name, str(outcome.error))
        elif isinstance(outcome, FlowResult):
            folder.add_flows(outcome)
        else:
            folder.add_result(outcome)
        outcomes.append(outcome)
        # After each run: what has finished can be read, however the others end.
        waiting = [FailedRun(each, ArmorError(_UNFINISHED)) for each in list(planned)[number:]]
        folder.write_environment({**facts, "emulation": emulations})
        folder.write_verdict(verdict([*outcomes, *waiting], folder))
    return outcomes


def verdict(outcomes: Sequence[RunResult | FlowResult | FailedRun], folder: ResultFolder) -> Json:
    """The shape of `run --json`: one entry a run, and whether all kept their claims."""
    runs = [outcome.to_json() for outcome in outcomes]
    return {
        "runs": runs,
        "held": all(run["held"] for run in runs),
        "trustworthy": all(run["trustworthy"] for run in runs),
        "folder": str(folder.path),
        "captures": folder.captures,
    }


def next_interval(interval_ms: int) -> int | None:
    """The next longer BFD interval to try; None after the longest.

    Examples
    --------
    >>> next_interval(5), next_interval(100)
    (20, None)
    """
    return next((candidate for candidate in BFD_CANDIDATES_MS if candidate > interval_ms), None)


@dataclass(frozen=True)
class _Run:
    """One variation of a scenario; everything that it builds is undone, whatever happens."""

    scenario: Scenario
    variation: Variation
    planned: PlannedRun
    folder: ResultFolder
    emulations: Json
    say: Say
    keeps_captures: bool
    follow: Follow | None

    def until_stable(self, interval_ms: int | None) -> tuple[RunResult | FlowResult | FailedRun, int | None]:
        """Run; when BFD sessions flap that nobody broke, or do not come up, again with a longer interval.

        An interval that the scenario fixes stays; the result then says that it cannot be trusted.

        Returns
        -------
        RunResult, FlowResult or FailedRun, int or None
            The outcome, and the interval at which it came about.
        """
        notes: list[str] = []
        while isinstance(outcome := self._attempt(interval_ms, notes), BfdUnstableError):
            interval_ms = next_interval(outcome.interval_ms)
            notes.append(f"{outcome}; it was raised to {interval_ms} ms")
        if isinstance(outcome, RunResult):
            interval_ms = outcome.record.bfd_interval_ms
        elif isinstance(outcome, FlowResult):
            interval_ms = outcome.run.bfd_interval_ms
        return outcome, interval_ms

    def _attempt(
        self, interval_ms: int | None, notes: list[str]
    ) -> RunResult | FlowResult | FailedRun | BfdUnstableError:
        """One attempt; errors that are no fault of the input are outcomes."""
        try:
            return self._once(interval_ms, notes)
        except BfdUnstableError as error:
            return error if self._may_raise(error.interval_ms) else FailedRun(self.variation, error)
        except ArmorError as error:
            if error.exit_code == 2:
                raise
            return FailedRun(self.variation, error)

    def _once(self, interval_ms: int | None, notes: list[str]) -> RunResult | FlowResult:
        name, scenario = self.variation.name, self.scenario
        with self.folder.work(name) as work:
            self._say("building the network")
            keeping = partial(self.folder.keeping_logs, name)
            network = emulated_network(scenario, self.variation, work, interval_ms, keeping)
            # What is still broken at the end stays so until the switches' rows have been compared with their plans.
            with network, FailureInjection(network) as injection:
                if self.follow is not None:
                    self.follow(self.variation, work, network)
                make_ready(network, self.planned.plans, self.variation, self._say)
                if is_tunnel_scheme(self.variation) and scenario.tunnels.notified_by == AGENTS_NOTIFY:
                    self._say("waiting for the agents")
                    start_tunnel_agents(network, scenario, work)
                if scenario.measures_flows:
                    return self._flows(FlowTestbed(network, injection, work, self.planned.plans, self.planned.planner))
                may_raise = self._may_raise(network.bfd_interval_ms)
                measured = measure(network, Injector(network, injection, scenario), work, may_raise, self._say)
                self._say("waiting for the primaries to return")
                dumps = () if self._cannot_refill() else self._dumps(network, work)
                self.emulations[name] = network.describe()
                all_notes = (*notes, *network.warnings)
            if self.keeps_captures:
                self._say("writing the captures")
                write_captures(self.folder.capture(name), scenario, self.variation, measured)
            self._say("reading the captures")
            events = work.events.read_text(encoding="utf-8")
            record = make_record(scenario, self.variation, measured, events, dumps, notes=all_notes)
            notices = record.notices if self._notifies() else None
            record = replace(record, bfd_interval_ms=network.bfd_interval_ms, notices=notices)
            return judge(record, self._promise())

    def _may_raise(self, interval_ms: int) -> bool:
        """Whether a longer BFD interval than this one can be tried."""
        return self.scenario.bfd_interval_ms is None and next_interval(interval_ms) is not None

    def _notifies(self) -> bool:
        return any(is_for_notifications(row) for plan in self.planned.plans.values() for row in plan.flows)

    def _promise(self) -> Promise:
        planner, scenario = self.planned.planner, self.scenario
        if planner is not None:
            return tunnel_promise(scenario, planner)
        return promise_of(scenario, self.variation, self.planned.plans)

    def _dumps(self, network: EmulatedNetwork, work: Work) -> tuple[DumpReport, ...]:
        """Rows of all switches against what they should hold."""
        planner, scenario, variation = self.planned.planner, self.scenario, self.variation
        if planner is None:
            return wait_returned(
                network, scenario, lambda down: plans_while(down, scenario.topology, variation, self.planned.plans)
            )

        return wait_returned(network, scenario, lambda down: wanted_plans(network, planner, scenario, work, down))

    def _flows(self, testbed: FlowTestbed) -> FlowResult:
        result = run_flows(testbed, self.scenario, self.variation, self.planned.flows, self._say)
        self.emulations[self.variation.name] = testbed.network.describe()
        return result

    def _cannot_refill(self) -> bool:
        """Whether a switch that lost its rows must wait: the controller is away, and there is no agent."""
        return controller_is_away(self.scenario) and not self.variation.uses_agent

    def _say(self, what: str) -> None:
        self.say(f"{self.variation.name}: {what}")


def make_ready(network: EmulatedNetwork, plans: dict[int, RulePlan], variation: Variation, say: Say) -> None:
    """Wait for controller connections, plans and BFD sessions.

    Raises
    ------
    ArmorError
        Something is not ready in time; the message names what.
    """
    say("waiting for the controller")
    with network.slow_bfd():
        network.wait_connected(_CONNECT_S)
        say(f"installing {sum(len(plan.flows) for plan in plans.values()):,} rules")
        wait_installed(network, plans, variation)
    say("waiting for BFD")
    network.wait_bfd_up(BFD_S)
    if is_tunnel_scheme(variation) or find_scheme(variation.scheme).restoration is not None:
        # To a controller that acts on failures, links whose sessions were not up yet had failed.
        wait_returned_to_all(network, plans)


def controller_is_away(scenario: Scenario) -> bool:
    """Whether the controller is still disconnected when the scenario ends."""
    return any(failure.takes_controller and failure.end_s is None for failure in scenario.failures)


def wait_returned(
    network: EmulatedNetwork, scenario: Scenario, wanted: Callable[[frozenset[LinkId]], Mapping[int, RulePlan]]
) -> tuple[DumpReport, ...]:
    """Rows of all switches against their plans, once nothing stale is left or the time for it is over.

    Parameters
    ----------
    wanted
        What the switches should hold while these links are down, by datapath id; asked again at each look.
    """
    if controller_is_away(scenario):
        down = frozenset(scenario.topology.link_ids)  # rows of past failures wait for the controller to remove them
    else:
        down = failed_links(scenario.duration_s, scenario.failures, scenario.topology)
    deadline = time.monotonic() + scenario.wait_to_restore_s + _RETURN_SLACK_S
    while True:
        reports = dump_reports(network, wanted(down), down)
        if all(report.is_clean for report in reports) or time.monotonic() > deadline:
            return reports
        time.sleep(_RETURN_POLL_S)
