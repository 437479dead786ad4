"""A folder of `armor run` or `armor demo` as the page's document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.analysis.events import Event, event_of
from experiments.live.decide.document import Document, RunView
from experiments.live.decide.places import topology_view
from experiments.live.decide.recorded import Recorded, recorded_view
from experiments.live.walks import network_walks
from experiments.report.drawings import scenario_of
from experiments.report.folders import PROBES, RunFolder, read_folder, read_rows
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.runs.parts import options_of
from mininet_topos.errors import BadInputError

Json = Mapping[str, Any]
EVENTS = "events.jsonl"
_ORIGIN = {"started": "measured", "commit": "commit", "kernel": "kernel", "open_vswitch": "Open vSwitch"}


def read_document(path: Path) -> Document:
    """What the page shows of a folder.

    Raises
    ------
    BadInputError
        It holds no run, or files that this version cannot read.
    """
    folder = read_folder(path)
    if not isinstance(folder, RunFolder):
        raise BadInputError(f"{str(path)!r} holds a campaign, not a run; name a folder that 'armor run' has written")
    try:
        return document_of(folder)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise BadInputError(
            f"{str(path)!r} holds results in a shape that this version does not know "
            f"({type(error).__name__}: {error}); replay it with the version that measured it, or measure again"
        ) from error


def document_of(folder: RunFolder) -> Document:
    """What the page shows of a run.

    Raises
    ------
    BadInputError
        The scenario cannot be read here, or a file is broken.
    """
    scenario = scenario_of(folder.scenario, f"{folder.path}/scenario.yaml")
    if isinstance(scenario, BadInputError):
        raise scenario
    files = _Files(folder)
    variations = {variation.name: variation for variation in scenario.variations}
    runs = [_run(scenario, variations.get(str(result["run"])), files.of(result)) for result in folder.verdict["runs"]]
    origin = [(label, str(folder.environment[key])) for key, label in _ORIGIN.items() if folder.environment.get(key)]
    name = folder.path.resolve().name
    return Document(name, "recorded", topology_view(scenario.topology), tuple(runs), (("folder", name), *origin))


class _Files:
    """Lines of a folder, by run."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        log, probes = folder.path / EVENTS, folder.path / PROBES
        events = map(event_of, read_rows(log)) if log.is_file() else ()
        self._events = sorted(events, key=lambda event: event.t_s)
        self._probes = read_rows(probes) if probes.is_file() else []

    def of(self, result: Json) -> Recorded:
        """Those of one entry in verdict.json."""
        name = str(result["run"])

        def mine(rows: Sequence[Json]) -> list[Json]:
            return [row for row in rows if row["run"] == name and row.get("status", "ok") == "ok"]

        events: list[Event] = [event for event in self._events if event.fields.get("run") == name]
        last = max((event.fields.get("attempt", 1) for event in events), default=1)  # the others were given up
        events = [event for event in events if event.fields.get("attempt", 1) == last]
        return Recorded(result, events, mine(self._folder.rows), mine(self._probes))


def _run(scenario: Scenario, variation: Variation | None, recorded: Recorded) -> RunView:
    walks = None if variation is None else network_walks(scenario.topology, variation.scheme, options_of(variation))
    return recorded_view(scenario, recorded, walks)
