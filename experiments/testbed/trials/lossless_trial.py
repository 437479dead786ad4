"""Trials of kind "lossless": a run of a scenario with one failure, with SQR at both ends of the link or without."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from experiments.analysis.result import RunResult
from experiments.campaign.kinds.lossless import LosslessMeasured, LosslessParameters
from experiments.campaign.parameters import plain
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from experiments.scenario.failures import link_failure
from experiments.scenario.traffic.probe import Probe
from experiments.scenario.values import Replay, Scenario
from experiments.testbed.runs.folder import ResultFolder
from experiments.testbed.runs.parts import require_programs
from experiments.testbed.runs.readiness import NotReadyError
from experiments.testbed.runs.run import FailedRun, plan_scenario, run_scenario
from experiments.testbed.trials.decide.scenario import links_of, timing_of, variant_of, variation_of
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Topology
from ryu_apps.schemes import find_scheme


def lossless_runner(settings: TestbedSettings) -> Callable[[Trial], Json]:
    """What runs such trials, each on a network of its own: which ports are kept decides the switches' rows."""

    def run(trial: Trial) -> Json:
        require_programs()
        scenario = scenario_of(trial, load_topology(trial.topology))
        with tempfile.TemporaryDirectory(dir=settings.work) as name:
            (outcome,) = run_scenario(scenario, plan_scenario(scenario), ResultFolder(Path(name)), None, settings.say)
        if isinstance(outcome, FailedRun):
            raise outcome.error
        if not isinstance(outcome, RunResult):
            raise NotReadyError(f"trial {trial.trial_id!r} gave no counts of probes")
        columns: Json = plain(measured(trial, outcome))
        return columns

    return run


def scenario_of(trial: Trial, topology: Topology) -> Scenario:
    """The scenario of a trial: probes of one pair, and one failure that lasts.

    Raises
    ------
    BadInputError
        The trial lacks a variant or a timing, or fails an unknown link.
    """
    variant, timing, own = variant_of(trial), timing_of(trial), parameters_of(trial, LosslessParameters)
    (link,) = links_of(trial, topology)
    buffers = find_scheme(variant.scheme).buffers
    replay = Replay((str(link),), own.slots, own.delta_ms, own.margin) if buffers else None
    variation = replace(variation_of(variant), replay=replay)
    return Scenario(
        topology_name=trial.topology,
        topology=topology,
        variations=(variation,),
        traffic=tuple(Probe(*pair, interval_ms=own.probe_ms) for pair in trial.pairs),
        failures=(link_failure(own.failure, timing.before_s, link),),
        duration_s=timing.total_s,
        seed=trial.seed,
        bfd_interval_ms=own.bfd_ms,
    )


def measured(trial: Trial, result: RunResult) -> LosslessMeasured:
    """Columns of a trial: counts of both ways, the outage of each, and whether to trust them."""
    counts, (failure,) = result.counts, result.failures
    lost = sum(outcome.counts.lost for pair in failure.outcomes for outcome in pair)
    return LosslessMeasured(
        pair=trial.pairs[0],
        rate_pps=result.counts_by_way[0][0].sent / (result.record.end_s - result.record.zero_s),
        sent=counts.sent,
        received=counts.received,
        lost=lost,
        lost_before=counts.lost - lost,
        duplicated=counts.duplicated,
        reordered=counts.reordered,
        backtracked=counts.backtracked,
        outages_ms=tuple(round(outcome.outage_ms, 3) for pair in failure.outcomes for outcome in pair),
        broken_claims=tuple(claim.name for claim in result.claims if not claim.held),
        warnings=tuple(result.record.warnings),
        trustworthy=result.record.trustworthy,
    )
