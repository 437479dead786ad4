"""Trials of kind "knowledge": probed trials on a network whose tables are watched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.campaign.values import Json, TestbedSettings, Trial
from experiments.testbed.runs.watching import watched_rows
from experiments.testbed.trials.decide.knowledge import first_rows, knowledge_row, routes_over
from experiments.testbed.trials.decide.scenario import links_of, variant_of
from experiments.testbed.trials.returning import Return
from experiments.testbed.trials.reused import ReusedRunner
from experiments.testbed.trials.session import Session
from experiments.testbed.trials.testbed import Testbed
from ryu_apps.plan.ids import Table


class KnowledgeSession(Session):
    """Failures of one link each, one after another."""

    @contextmanager
    def _build(self, trial: Trial, folder: Path) -> Iterator[Testbed]:
        # Where rows for untagged packets go.
        table = Table.CLASSIFY if variant_of(trial).uses_agent else Table.LEARNED
        with super()._build(trial, folder) as testbed, watched_rows(testbed.network, table, testbed.work):
            yield testbed

    def _measure(self, testbed: Testbed, trial: Trial, _folder: Path) -> tuple[Json, Return]:
        observed = self.observed(testbed, trial, self._scenario(trial), _folder)
        window, record, topology = observed.window, observed.seen.record, self._topology
        (link,) = links_of(trial, topology)
        first_s = first_rows(observed.events, topology, window)
        row = knowledge_row(routes_over(topology, link), first_s, observed.detected.get(link), window)
        frames = sum(window.holds(notice.t_s) for notice in record.notices or ())
        quality = {"trustworthy": record.trustworthy, "warnings": list(record.warnings)}
        return {**row, "notifications": frames, **quality, **observed.load}, observed.restored


def knowledge_runner(settings: TestbedSettings) -> ReusedRunner:
    """What runs such trials."""
    return ReusedRunner(KnowledgeSession, settings)
