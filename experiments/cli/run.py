"""Run a scenario file on an emulated network and measure it (needs root).

  armor run examples/two_failures.yaml
  armor run examples/two_failures.yaml --json --out results/mine

The file's format is described in docs/scenario_format.md. The exit code is 1 when a scheme broke what it promises.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.terminal.inputs import parse, read_text
from experiments.terminal.output import progress
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from experiments.analysis.flow_result import FlowResult
    from experiments.analysis.result import Json, RunResult
    from experiments.scenario.values import Scenario
    from experiments.testbed.runs.folder import ResultFolder
    from experiments.testbed.runs.run import FailedRun, Planned

MAX_SEED = 2**31 - 1  # as in the file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor run`."""
    parser.add_argument("scenario", metavar="SCENARIO", help="scenario file, YAML or JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor run`."""
    from experiments.cli.run_text import runs_text

    seed = arguments.seed if "seed" in arguments.given else None
    value = run_file(arguments.scenario, Path(arguments.out) if arguments.out else None, seed)
    print_result(arguments, value, runs_text(value["runs"], str(value["folder"])))  # type: ignore[arg-type]
    return 0 if value["held"] else 1


def run_file(name: str, out: Path | None = None, seed: int | None = None) -> Json:
    """Run a scenario file on emulated networks and measure it.

    Parameters
    ----------
    out
        Folder of the results; None: a new one in results/.
    seed
        In place of the file's.

    Returns
    -------
    What `armor run --json` prints.

    Raises
    ------
    BadInputError
        The file is no scenario, or the folder cannot be used.
    MissingRequirementError
        The machine lacks a right or a program.
    """
    text = read_text(name)
    scenario = parse(text, name)
    written: str | None = text
    if seed is not None:
        if seed > MAX_SEED:
            raise BadInputError(f"--seed is {seed}; a scenario takes 0 to {MAX_SEED}")
        scenario, written = replace(scenario, seed=seed), None  # the folder then says what was run
    from experiments.testbed.runs.folder import ResultFolder
    from experiments.testbed.runs.parts import require_programs
    from experiments.testbed.runs.run import plan_scenario

    try:
        planned = plan_scenario(scenario)
    except BadInputError as error:
        raise BadInputError(f"{name}: {error}") from error
    require_programs()
    folder = ResultFolder(out) if out is not None else ResultFolder.new(f"run-{Path(name).stem}")
    return run_and_write(scenario, planned, folder, written, f"{scenario.topology.name}: one-way delay of the probes")


def run_and_write(scenario: Scenario, planned: Planned, folder: ResultFolder, text: str | None, title: str) -> Json:
    """Run all variations, write verdict and pictures, and return what `--json` prints."""
    from experiments.charts.delay import draw_delay
    from experiments.charts.flows import draw_flows
    from experiments.charts.knowledge import draw_knowledge, knowledge_panels
    from experiments.charts.run_panels import read_panels
    from experiments.testbed.runs.run import run_scenario

    with telling() as say:
        outcomes = run_scenario(scenario, planned, folder, text, say)
    value = verdict(outcomes, folder)
    folder.write_verdict(value)
    pictures = [folder.picture("figure.png"), folder.picture("figure.svg")]
    if scenario.measures_flows:
        draw_flows(value["runs"], pictures, f"{scenario.topology.name}: throughput of the flows")  # type: ignore[arg-type]
        return value
    panels = read_panels(folder.path)
    if panels:
        draw_delay(panels, pictures, title)
    knowledge = knowledge_panels(value["runs"])  # type: ignore[arg-type]
    if knowledge:
        paths = [folder.picture("knowledge.png"), folder.picture("knowledge.svg")]
        draw_knowledge(knowledge, paths, f"{scenario.topology.name}: when each switch knew of the failure")
    return value


def verdict(outcomes: Sequence[RunResult | FlowResult | FailedRun], folder: ResultFolder) -> Json:
    """The shape of `run --json`: one entry a run, and whether all kept their claims."""
    runs = [outcome.to_json() for outcome in outcomes]
    return {
        "runs": runs,
        "held": all(run["held"] for run in runs),
        "trustworthy": all(run["trustworthy"] for run in runs),
        "folder": str(folder.path),
    }


def print_result(arguments: argparse.Namespace, value: Json, text: str) -> None:
    """Print a run's result; its folder is the place for files, so --out names no file here."""
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False) if arguments.json else text)


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Tells what is going on: on a terminal as a line that changes, else nothing."""
    with progress(None, "armor", "") as bar:
        yield bar.set_description_str
