"""The drills one after the other: a row each, a sum at the end, and what of it breaks the drill's promise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from emulation.private_database import private_database
from experiments.torture.decide.drills import (
    draw_link,
    kills_summary,
    largest_plan,
    most_changes_a_minute,
    outages_summary,
)
from experiments.torture.drills.database import kill_during_a_write
from experiments.torture.drills.network import DrilledNetwork
from experiments.torture.record import Json, Record
from ryu_apps.backup_database.schema import SCHEMA_PATH

_WHOLE_CALM_EVERY = 25
_SAY_EVERY = 10
_ATTEMPTS = 10


@dataclass(frozen=True)
class Drill:
    """What is asked for.

    Attributes
    ----------
    times
        How often; of kills of a database, those that came during a write.
    first_round
        Number of the first round: 1, or after a run that is gone on with.
    flap_s, period_s
        How long a link flaps, and how long it is down and up again once.
    """

    times: int
    first_round: int = 1
    flap_s: float = 600.0
    period_s: float = 0.6


@dataclass
class DrillSession:
    """One drill with one scheme."""

    record: Record
    drill: Drill
    rows: list[Json] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    def links(self) -> Json:
        """Links fail one at a time, while the hosts at both ends ask each other."""
        with self._network() as network:
            for number in self._numbers():
                row, found = self._outage(network, number)
                if number % _WHOLE_CALM_EVERY == 0 or number == self._last:
                    found = found or network.calm()[1]
                self._add(number, row, found)
                value = self._verdict(outages_summary(self.rows, network.bound_ms))
        return value

    def _outage(self, network: DrilledNetwork, number: int) -> tuple[Json, list[str]]:
        """A link fails, and again when the machine stood still meanwhile, which says nothing about the recovery."""
        link = self._drawn_link(number)
        for attempt in range(1, _ATTEMPTS + 1):
            outage = network.fail_link(link)
            is_counted = outage.late_ms <= network.interval_ms or attempt == _ATTEMPTS
            row, found = {**outage.to_json(), "counted": is_counted}, network.await_return()
            if is_counted:
                break
            self._add(number, row, found)
        if row["recovered_ms"] is None:
            found = [*found, f"{link}: requests were not answered again while it was down"]
        return row, [*found, *_unmet(row)]

    def flap(self) -> Json:
        """One link after the other flaps; no black hole, and as many rule changes as damping allows."""
        with self._network() as network:
            for number in self._numbers():
                link = self._drawn_link(number)
                once = network.changes_of_a_failure(link)
                row = network.flap(link, self.drill.flap_s, self.drill.period_s)
                most = most_changes_a_minute(once, network.damping)
                found = [*network.calm()[1], *_unmet(row)]
                if row["longest_gap_ms"] > network.bound_ms:
                    found.append(f"{link}: no answer for {row['longest_gap_ms']:g} ms, {network.bound_ms:g} allowed")
                if max(row["changes_a_minute"]) > most:
                    found.append(f"{link}: {max(row['changes_a_minute'])} rule changes in a minute, {most:g} allowed")
                self._add(number, {**row, "changes_of_a_failure": once, "most_changes_a_minute": most}, found)
                gap_ms = max(row["longest_gap_ms"] for row in self.rows)
                changes = [row["changes_a_minute"] for row in self.rows]
                summary = {"bound_ms": network.bound_ms, "longest_gap_ms": gap_ms, "changes_a_minute": changes}
                value = self._verdict(summary)
        return value

    def database(self) -> Json:
        """Kill -9 of ovsdb-server while the largest plan of the network is written to it."""
        plan = largest_plan(self.record.planned[1].plans.values())
        with private_database("armor drill", SCHEMA_PATH) as server:
            for number in count(self.drill.first_round):
                row = kill_during_a_write(server, plan, (self.record.seed, number))
                found = [f"{row['lost_rows']} acknowledged rows are lost"] if row["lost_rows"] else []
                kills = sum(each["killed_during_a_write"] for each in (*self.rows, row))
                self._add(number, row, found, f": {kills} of {self.drill.times} kills during a write")
                value = self._verdict(kills_summary(self.rows))
                if value["kills_during_a_write"] == self.drill.times:
                    return value
        raise AssertionError("numbers do not end")

    @property
    def _last(self) -> int:
        return self.drill.first_round + self.drill.times - 1

    def _numbers(self) -> range:
        return range(self.drill.first_round, self._last + 1)

    def _drawn_link(self, number: int) -> str:
        links = tuple(map(str, self.record.scenario.topology.link_ids))
        return draw_link(links, self.record.seed, number)

    @contextmanager
    def _network(self) -> Iterator[DrilledNetwork]:
        record = self.record
        with DrilledNetwork(record.scenario, record.planned, record.folder, record.name) as network:
            if found := network.calm()[1]:
                self.violations.append(f"before the drill: {'; '.join(found)}")
            yield network

    def _add(self, number: int, row: Json, found: list[str], progress: str = "") -> None:
        self.rows.append(row)
        self.violations += [f"round {number}: {each}" for each in found]
        self.record.add(number, row, found)
        if found or number % _SAY_EVERY == 0 or number == self._last:
            self.record.say("; ".join([f"round {number}{progress or f' of {self._last}'}", *found]))

    def _verdict(self, summary: Json) -> Json:
        return self.record.verdict(**summary, violations=self.violations)


def _unmet(row: Json) -> list[str]:
    """Requests every few milliseconds, and a failure takes many to detect: without a loss it has failed nothing."""
    return [] if row["lost"] else [f"{row['link']}: no request was lost, so no request met its failure"]
