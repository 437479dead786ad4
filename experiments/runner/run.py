"""Runs a scenario: each variation on a network of its own, results judged and written to one folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from experiments.analysis.dumps import DumpReport
from experiments.analysis.injected import failed_links
from experiments.analysis.result import Json, RunResult, judge
from experiments.runner.folder import ResultFolder, environment_facts
from experiments.runner.measure import measure
from experiments.runner.parts import BFD_S, dump_reports, emulated_network, options_of, wait_installed
from experiments.runner.promise import promise_of
from experiments.runner.record import make_record
from experiments.scenario.values import Scenario, Variation
from mininet_topos.connectivity import require_connected
from mininet_topos.emulation import EmulatedNetwork
from mininet_topos.errors import ArmorError
from ryu_apps.plan.registry import plan_network
from ryu_apps.plan.rows import RulePlan

_CONNECT_S = 40.0
_RETURN_SLACK_S = 20.0
_RETURN_POLL_S = 1.0

Say = Callable[[str], None]
Planned = dict[Variation, dict[int, RulePlan]]


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
    return {
        variation: plan_network(variation.scheme, scenario.topology, options_of(variation))
        for variation in scenario.variations
    }


def run_scenario(
    scenario: Scenario, planned: Planned, folder: ResultFolder, text: str | None, say: Say
) -> list[RunResult | FailedRun]:
    """Run every variation of a scenario.

    Parameters
    ----------
    scenario : Scenario
    planned : dict
        From `plan_scenario`.
    folder : ResultFolder
        Receives everything.
    text : str or None
        The scenario file as the user wrote it.
    say : callable
        Told what is going on.

    Returns
    -------
    list
        One entry a variation, in order. A run that breaks off does not keep the others from running.

    Raises
    ------
    MissingRequirementError
        The machine lacks something.
    """
    folder.write_scenario(scenario, text)
    facts = environment_facts(scenario)
    emulations: Json = {}
    outcomes: list[RunResult | FailedRun] = []
    for variation, plans in planned.items():
        outcome = _run_variation(scenario, variation, plans, folder, emulations, say)
        scenario = _with_the_same_bfd(scenario, emulations)
        if isinstance(outcome, FailedRun):
            folder.add_failed_run(variation.name, str(outcome.error))
        else:
            folder.add_result(outcome)
        outcomes.append(outcome)
    folder.write_environment({**facts, "emulation": emulations})
    return outcomes


def _with_the_same_bfd(scenario: Scenario, emulations: Json) -> Scenario:
    """Runs are compared, so all have the BFD interval that was found for the first."""
    found = [facts["bfd_interval_ms"] for facts in emulations.values() if isinstance(facts, dict)]
    return replace(scenario, bfd_interval_ms=found[0]) if found else scenario


def _run_variation(
    scenario: Scenario,
    variation: Variation,
    plans: dict[int, RulePlan],
    folder: ResultFolder,
    emulations: Json,
    say: Say,
) -> RunResult | FailedRun:
    """One run; everything that it builds is undone, whatever happens."""
    name = variation.name
    with folder.work(name) as work:
        try:
            say(f"{name}: building the network")
            with emulated_network(scenario, variation, work) as network, folder.keeping_logs(name, network):
                make_ready(network, plans, variation, say)
                measured = measure(network, scenario, work, lambda what: say(f"{name}: {what}"))
                say(f"{name}: waiting for the primaries to return")
                dumps = wait_returned(network, scenario, plans)
                emulations[name] = network.describe()
                notes = network.warnings
            say(f"{name}: reading the captures")
            record = make_record(scenario, variation, measured, work.events.read_text(encoding="utf-8"), dumps, notes)
            return judge(record, promise_of(variation, scenario.topology, plans))
        except ArmorError as error:
            if error.exit_code == 2:
                raise
            return FailedRun(variation, error)


def make_ready(network: EmulatedNetwork, plans: dict[int, RulePlan], variation: Variation, say: Say) -> None:
    """Wait for controller connections, plans and BFD sessions.

    Raises
    ------
    ArmorError
        Something is not ready in time; the message names what.
    """
    say(f"{variation.name}: waiting for the controller")
    network.wait_connected(_CONNECT_S)
    say(f"{variation.name}: installing {sum(len(plan.flows) for plan in plans.values()):,} rules")
    wait_installed(network, plans, variation)
    say(f"{variation.name}: waiting for BFD")
    network.wait_bfd_up(BFD_S)


def wait_returned(network: EmulatedNetwork, scenario: Scenario, plans: dict[int, RulePlan]) -> tuple[DumpReport, ...]:
    """Rows of all switches against their plans, once nothing stale is left or the time for it is over."""
    down = failed_links(scenario.duration_s, scenario.failures, scenario.topology)
    deadline = time.monotonic() + scenario.wait_to_restore_s + _RETURN_SLACK_S
    while True:
        reports = dump_reports(network, plans, down)
        if all(report.is_clean for report in reports) or time.monotonic() > deadline:
            return reports
        time.sleep(_RETURN_POLL_S)
