"""The folder of a run: scenario, environment, events, probes, rows, verdict, pictures, logs."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from experiments.analysis.flow_result import FlowResult
from experiments.analysis.result import Json, RunResult
from experiments.analysis.rows import failure_rows, probe_rows
from experiments.scenario.document import to_document
from experiments.scenario.values import Scenario
from machine.ending import ending_waits
from machine.environment import environment_facts
from machine.event_log import EventLog
from machine.whole_file import write_whole
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from emulation.running import RunningNetwork

FORMAT_VERSION = 1
CAPTURES = "captures"


@dataclass(frozen=True)
class Work:
    """Raw files of one run: event log, captures, output of the streams, topology for the controller."""

    path: Path

    @property
    def events(self) -> Path:
        """The event log that all processes append to."""
        return self.path / "events.jsonl"

    def note_zero(self, zero_s: float) -> None:
        """Let the event log say when second 0 of the scenario is (CLOCK_MONOTONIC); it may lie ahead."""
        log = EventLog("runner", self.events)
        try:
            log.write("zero", zero_s)
        finally:
            log.close()


class ResultFolder:
    """A folder that one command writes, and the paths in it.

    Raises
    ------
    BadInputError
        The folder cannot be made, or holds something else already.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._attempts: Counter[str] = Counter()
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise BadInputError(f"--out {str(path)!r} is not empty; name a new folder, or empty it")
        except OSError as error:
            raise BadInputError(
                f"--out {str(path)!r} cannot be used ({error.strerror}); name another folder"
            ) from error

    @classmethod
    def new(cls, name: str) -> ResultFolder:
        """A folder results/<time>-<name> in the current folder."""
        return cls(Path("results") / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}")

    def write_scenario(self, scenario: Scenario, text: str | None) -> None:
        """scenario.yaml: the user's text, or the scenario in the words of the format."""
        shown = text if text is not None else yaml.safe_dump(to_document(scenario), sort_keys=False)
        self._file("scenario.yaml").write_text(shown, encoding="utf-8")

    def write_environment(self, facts: Json) -> None:
        """environment.json."""
        self._write_json("environment.json", facts)

    @contextmanager
    def work(self, run: str) -> Iterator[Work]:
        """A folder for one run's raw files; at the end its events go to events.jsonl and the rest is removed.

        A run that is done again counts as its next attempt.
        """
        self._attempts[run] += 1
        work = Work(self._file("work") / run)
        work.path.mkdir(parents=True)
        work.events.touch()
        try:
            yield work
        finally:
            with ending_waits():
                try:
                    self._keep(work, run)
                finally:
                    shutil.rmtree(self._file("work"))

    def _keep(self, work: Work, run: str) -> None:
        origin = {"run": run, "attempt": self._attempts[run]}
        lines = work.events.read_text(encoding="utf-8").splitlines()
        self._append("events.jsonl", ({**json.loads(line), **origin} for line in lines if _is_whole(line)))
        self._copy(work.path / "streams", "iperf3-*.json", f"streams/{run}")

    @contextmanager
    def keeping_logs(self, run: str, network: RunningNetwork) -> Iterator[None]:
        """Copy the logs of a network's processes to logs/<run>/ before it removes them; goes around the network."""
        try:
            yield
        finally:
            self._copy(network.run_dir, "*.log", f"logs/{run}")

    def add_result(self, result: RunResult) -> None:
        """Append to probes.jsonl and rows.jsonl."""
        self._append("probes.jsonl", probe_rows(result))
        self._append("rows.jsonl", failure_rows(result))

    def add_flows(self, result: FlowResult) -> None:
        """Append to rows.jsonl: a line for each flow."""
        value = result.to_json()
        shared = {"run": value["run"], "scheme": value["scheme"], "status": "ok"}
        self._append("rows.jsonl", [{**shared, **flow} for flow in result.flows_json()])

    def add_round(self, row: Json) -> None:
        """Append to rows.jsonl: a round of a torture."""
        self._append("rows.jsonl", [row])

    def add_failed_run(self, run: str, error: str) -> None:
        """A run that broke off is a row too."""
        self._append("rows.jsonl", [{"run": run, "status": "failed", "error": error}])

    def write_verdict(self, value: Json) -> None:
        """verdict.json."""
        self._write_json("verdict.json", value)

    def picture(self, name: str) -> Path:
        """Path of a picture."""
        return self._file(name)

    def capture(self, run: str) -> Path:
        """Path of a run's captures."""
        folder = self._file(CAPTURES)
        folder.mkdir(exist_ok=True)
        return folder / f"{run}.pcapng"

    @property
    def captures(self) -> list[str]:
        """The captures of all runs that were kept, relative to the folder."""
        return sorted(f"{CAPTURES}/{file.name}" for file in self._file(CAPTURES).glob("*.pcapng"))

    def _copy(self, source: Path, pattern: str, target: str) -> None:
        """Copy files that are not empty, with the folders they lie in."""
        for file in source.rglob(pattern):
            if file.stat().st_size:
                copy = self._file(target) / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)

    def _file(self, name: str) -> Path:
        return self.path / name

    def _write_json(self, name: str, value: Json) -> None:
        write_whole(self._file(name), json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def _append(self, name: str, values: Iterable[Json]) -> None:
        with self._file(name).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def _is_whole(line: str) -> bool:
    """Whether an event was written to its end, which a full disk prevents."""
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def run_environment(scenario: Scenario) -> Json:
    """What a reader must know to repeat a run."""
    facts = environment_facts(scenario.seed)
    return {"format_version": FORMAT_VERSION, "started": facts.pop("at"), **facts}
