"""What a torture or a drill runs with, and its folder: a line a round, at once, and how far it has come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.scenario.values import Scenario, Variation
from experiments.terminal.output import note
from experiments.testbed.runs.folder import ResultFolder, run_environment
from experiments.testbed.runs.run import PlannedRun

Json = dict[str, Any]


@dataclass
class Record:
    """The rounds of one scheme on one topology.

    Attributes
    ----------
    planned
        The scheme and its plans.
    folder
        Gets environment.json, rows.jsonl (a line a round), verdict.json after each round, events and logs.
    rounds
        How many have ended.
    """

    scenario: Scenario
    planned: tuple[Variation, PlannedRun]
    seed: int
    folder: ResultFolder
    rounds: int = 0
    _began_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.folder.write_environment(run_environment(self.scenario))

    @property
    def name(self) -> str:
        """Of the scheme in its mode."""
        return self.planned[0].name

    @property
    def now_s(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began_s

    def say(self, text: str) -> None:
        """A line for the person at the terminal."""
        note(f"{self.now_s / 60:6.1f} min  {text}")

    def add(self, number: int, row: Json, violations: Sequence[str]) -> None:
        """One round has ended."""
        self.rounds += 1
        line = {"round": number, "at_s": round(self.now_s, 1), **row, "violations": list(violations)}
        self.folder.add_round(line)

    def verdict(self, **found: Any) -> Json:
        """What has been found so far, also in the folder: one that is broken off says how far it came."""
        value = {
            "run": self.name,
            "topology": self.scenario.topology_name,
            "seed": self.seed,
            "minutes": round(self.now_s / 60, 2),
            "rounds": self.rounds,
            **found,
            "folder": str(self.folder.path),
        }
        self.folder.write_verdict(value)
        return value
