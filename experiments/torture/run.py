"""Rounds of storm and calm until the time is over; a violation is replayed, and its shortest cause kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.scenario.values import Scenario, Variation
from experiments.testbed.runs.folder import ResultFolder, run_environment
from experiments.testbed.runs.run import PlannedRun
from experiments.torture.decide.causes import Violation, shortest_prefix
from experiments.torture.decide.faults import Fault
from experiments.torture.decide.usage import Usage, grown
from experiments.torture.network import TorturedNetwork
from mininet_topos.errors import ArmorError
from mininet_topos.wording import counted

Json = dict[str, Any]
Say = Callable[[str], None]
Draw = Callable[[Mapping[str, Sequence[str]], tuple[int, int]], tuple[Fault, ...]]


@dataclass(frozen=True)
class Torture:
    """What is asked for.

    Attributes
    ----------
    minutes
        After that no storm begins, but the first.
    draw
        Faults of a storm: of what each kind can break, and of the seed and the number of the round.
    replays
        Whether a violation's cause is looked for.
    first_round
        Number of the first round: 1, or after a run that is gone on with.
    rounds
        Most rounds; None: as many as there is time for.
    """

    minutes: float
    seed: int
    draw: Draw
    replays: bool = True
    first_round: int = 1
    rounds: int | None = None


@dataclass
class Tally:
    """What has happened so far."""

    rounds: int = 0
    faults: int = 0
    calm_s: list[float] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    acknowledged_rows: int = 0
    lost_rows: int = 0


class Session:
    """A torture of one scheme.

    Parameters
    ----------
    planned
        The scheme and its plans.
    folder
        Gets rows.jsonl (a line a round, at once), verdict.json, events and logs.
    say
        Called with what is going on.
    """

    def __init__(
        self,
        scenario: Scenario,
        planned: tuple[Variation, PlannedRun],
        torture: Torture,
        folder: ResultFolder,
        say: Say,
    ) -> None:
        self._scenario, self._planned, self._torture = scenario, planned, torture
        self._folder, self._say = folder, say
        self._tally, self._began_s, self._networks = Tally(), time.monotonic(), 0
        self._targets: Mapping[str, Sequence[str]] = {}

    def run(self) -> Json:
        """Torture; what `armor torture --json` prints.

        Raises
        ------
        ArmorError
            The first network does not become ready.
        """
        self._folder.write_environment(run_environment(self._scenario))
        number, torture = self._torture.first_round, self._torture
        end_s = self._began_s + 60 * torture.minutes
        while not self._is_over(end_s):
            number = self._until_violation(number, end_s)
        return self._kept_value()

    def value(self) -> Json:
        """What has happened, as plain data."""
        tally = self._tally
        return {
            "run": self._planned[0].name,
            "topology": self._scenario.topology_name,
            "seed": self._torture.seed,
            "minutes": round((time.monotonic() - self._began_s) / 60, 2),
            "rounds": tally.rounds,
            "faults": tally.faults,
            "recoveries": tally.rounds - len(tally.violations),
            "longest_calm_s": round(max(tally.calm_s, default=0.0), 1),
            "violations": [each.to_json() for each in tally.violations],
            "acknowledged_rows": tally.acknowledged_rows,
            "lost_rows": tally.lost_rows,
            "folder": str(self._folder.path),
        }

    def _kept_value(self) -> Json:
        """What has happened, also in the folder: one that is broken off says how far it came."""
        value = self.value()
        self._folder.write_verdict(value)
        return value

    def _until_violation(self, number: int, end_s: float) -> int:
        """Rounds in one network, until something is violated or the time is over; the next round's number."""
        with ExitStack() as stack:
            network = stack.enter_context(self._network())
            self._targets = network.targets
            first: Mapping[str, Usage] = {}
            found: list[str] = []
            while not found:
                found, first = self._round(network, number, self._faults(number), first)
                number += 1
                if self._is_over(end_s):
                    break
        if found and self._torture.replays:
            self._tally.violations[-1] = self._replayed(self._tally.violations[-1])
        return number

    def _is_over(self, end_s: float) -> bool:
        return time.monotonic() >= end_s or self._tally.rounds == self._torture.rounds

    def _faults(self, number: int) -> tuple[Fault, ...]:
        return self._torture.draw(self._targets, (self._torture.seed, number))

    def _round(
        self, network: TorturedNetwork, number: int, faults: Sequence[Fault], first: Mapping[str, Usage]
    ) -> tuple[list[str], Mapping[str, Usage]]:
        """One storm and its calm; what is violated, and the usage that later ones are compared with."""
        self._say(f"round {number}: {counted(len(faults), 'fault')}")
        network.storm(faults)
        self._say(f"round {number}: calm")
        calm_s, found = network.calm()
        usage = network.usage()
        found = found or grown(first, usage)
        acknowledged, lost = network.backups()
        if lost:
            found = [*found, f"{lost} of {acknowledged} acknowledged backup rows are lost"]
        self._note(number, faults, calm_s, found, (acknowledged, lost))
        return found, first or usage

    def _note(
        self, number: int, faults: Sequence[Fault], calm_s: float, found: Sequence[str], rows: tuple[int, int]
    ) -> None:
        tally, at_s = self._tally, time.monotonic() - self._began_s
        tally.rounds += 1
        tally.faults += len(faults)
        tally.calm_s.append(calm_s)
        tally.acknowledged_rows += rows[0]
        tally.lost_rows += rows[1]
        if found:
            tally.violations.append(Violation("; ".join(found), round(at_s, 1), number, tuple(faults)))
        self._folder.add_round(
            {
                "round": number,
                "at_s": round(at_s, 1),
                "calm_s": round(calm_s, 1),
                "faults": [fault.to_json() for fault in faults],
                "violations": list(found),
                "acknowledged_rows": rows[0],
                "lost_rows": rows[1],
            }
        )
        self._kept_value()

    def _replayed(self, violation: Violation) -> Violation:
        """The violation with the shortest prefix of its storm that brings one again, in new networks."""

        def fails(faults: Sequence[Fault]) -> bool:
            self._say(f"replaying {len(faults)} faults of round {violation.round_number}")
            try:
                with self._network() as network:
                    network.storm(faults)
                    return bool(network.calm()[1])
            except ArmorError as error:
                self._say(f"a replay broke off: {error}")
                return True

        prefix = shortest_prefix(violation.faults, fails)
        return violation if prefix is None else replace(violation, faults=prefix, is_replayed=True)

    def _network(self) -> TorturedNetwork:
        self._networks += 1
        name = f"{self._planned[0].name}-{self._networks}"
        return TorturedNetwork(self._scenario, self._planned, self._folder, name)
