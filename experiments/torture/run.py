"""Rounds of storm and calm until the time is over; a violation is replayed, and its shortest cause kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from experiments.torture.decide.causes import Violation, shortest_prefix
from experiments.torture.decide.faults import Fault
from experiments.torture.decide.usage import Usage, grown
from experiments.torture.network import TorturedNetwork
from experiments.torture.record import Json, Record
from mininet_topos.errors import ArmorError
from mininet_topos.wording import counted

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
    draw: Draw
    replays: bool = True
    first_round: int = 1
    rounds: int | None = None


@dataclass
class Tally:
    """What has happened so far."""

    faults: int = 0
    recoveries: int = 0
    calm_s: list[float] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    acknowledged_rows: int = 0
    lost_rows: int = 0


class Session:
    """A torture of one scheme."""

    def __init__(self, record: Record, torture: Torture) -> None:
        self._record, self._torture = record, torture
        self._tally, self._networks = Tally(), 0
        self._targets: Mapping[str, Sequence[str]] = {}

    def run(self) -> Json:
        """Torture; what `armor torture --json` prints. A later network that cannot be built ends it as a violation.

        Raises
        ------
        ArmorError
            The first network does not become ready, or a fault cannot be carried out; finished rounds are kept.
        """
        number: int | None = self._torture.first_round
        while number is not None and not self._is_over():
            number = self._until_violation(number)
        return self._verdict()

    def _verdict(self) -> Json:
        tally = self._tally
        return self._record.verdict(
            faults=tally.faults,
            recoveries=tally.recoveries,
            longest_calm_s=round(max(tally.calm_s, default=0.0), 1),
            violations=[each.to_json() for each in tally.violations],
            acknowledged_rows=tally.acknowledged_rows,
            lost_rows=tally.lost_rows,
        )

    def _until_violation(self, number: int) -> int | None:
        """Rounds in one network, until something is violated or the time is over; the next round's number, if any."""
        with ExitStack() as stack:
            try:
                network = stack.enter_context(self._network())
            except ArmorError as error:
                if not self._record.rounds:
                    raise
                self._add_violation(number - 1, [f"the next network could not be built: {error}"])
                return None
            self._targets = network.targets
            first: Mapping[str, Usage] = {}
            found: list[str] = []
            while not found:
                found, first = self._round(network, number, self._faults(number), first)
                number += 1
                if self._is_over():
                    break
        if found and self._torture.replays:
            self._tally.violations[-1] = self._replayed(self._tally.violations[-1])
        return number

    def _is_over(self) -> bool:
        return self._record.now_s >= 60 * self._torture.minutes or self._record.rounds == self._torture.rounds

    def _faults(self, number: int) -> tuple[Fault, ...]:
        return self._torture.draw(self._targets, (self._record.seed, number))

    def _round(
        self, network: TorturedNetwork, number: int, faults: Sequence[Fault], first: Mapping[str, Usage]
    ) -> tuple[list[str], Mapping[str, Usage]]:
        """One storm and its calm; what is violated, and the usage that later ones are compared with."""
        self._record.say(f"round {number}: {counted(len(faults), 'fault')}")
        network.storm(faults)
        self._record.say(f"round {number}: calm")
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
        tally = self._tally
        tally.faults += len(faults)
        tally.calm_s.append(calm_s)
        tally.acknowledged_rows += rows[0]
        tally.lost_rows += rows[1]
        if found:
            self._add_violation(number, found, faults)
        else:
            tally.recoveries += 1
        row = {
            "calm_s": round(calm_s, 1),
            "faults": [fault.to_json() for fault in faults],
            "acknowledged_rows": rows[0],
            "lost_rows": rows[1],
        }
        self._record.add(number, row, found)
        self._verdict()

    def _add_violation(self, number: int, found: Sequence[str], faults: Sequence[Fault] = ()) -> None:
        at_s = round(self._record.now_s, 1)
        self._tally.violations.append(Violation("; ".join(found), at_s, number, tuple(faults)))

    def _replayed(self, violation: Violation) -> Violation:
        """The violation with the shortest prefix of its storm that brings one again, in new networks."""

        def fails(faults: Sequence[Fault]) -> bool:
            self._record.say(f"replaying {len(faults)} faults of round {violation.round_number}")
            try:
                with self._network() as network:
                    network.storm(faults)
                    return bool(network.calm()[1]) or network.backups()[1] > 0
            except ArmorError as error:
                self._record.say(f"a replay broke off: {error}")
                return False  # whatever broke it off, these faults have not been seen to bring a violation

        prefix = shortest_prefix(violation.faults, fails)
        return violation if prefix is None else replace(violation, faults=prefix, is_replayed=True)

    def _network(self) -> TorturedNetwork:
        self._networks += 1
        record = self._record
        return TorturedNetwork(record.scenario, record.planned, record.folder, f"{record.name}-{self._networks}")
