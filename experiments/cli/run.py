"""Run a scenario file on an emulated network and measure it (needs root).

  armor run examples/two_failures.yaml
  armor run examples/two_failures.yaml --json --out results/mine
  armor run examples/two_failures.yaml --pcap      captures for Wireshark, with the failures as packet comments
  armor run examples/two_failures.yaml --watch     shows failures, recovery and packets while the run goes on

The file's format is described in docs/scenario_format.md. The exit code is 1 when a scheme broke what it promises.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.terminal.inputs import parse, read_text
from experiments.terminal.output import progress
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from experiments.analysis.result import Json
    from experiments.scenario.values import Scenario
    from experiments.testbed.runs.folder import ResultFolder
    from experiments.testbed.runs.run import Follow, Planned

MAX_SEED = 2**31 - 1  # as in the file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor run`."""
    parser.add_argument("scenario", metavar="SCENARIO", help="scenario file, YAML or JSON")
    parser.add_argument(
        "--pcap",
        action="store_true",
        help="keep the captures: a pcapng file for each run, with failures and repairs as packet comments "
        "(Wireshark's display filter frame.comment)",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="show the run while it goes on: a screen on standard error, or lines where that is no terminal",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor run`."""
    from experiments.cli.run_text import runs_text

    seed = arguments.seed if "seed" in arguments.given else None
    out = Path(arguments.out) if arguments.out else None
    value = run_file(arguments.scenario, out, seed, keeps_captures=arguments.pcap, watches=arguments.watch)
    text = runs_text(value["runs"], str(value["folder"]), value["captures"])  # type: ignore[arg-type]
    print_result(arguments, value, text)
    return 0 if value["held"] else 1


def run_file(
    name: str,
    out: Path | None = None,
    seed: int | None = None,
    *,
    keeps_captures: bool = False,
    watches: bool = False,
) -> Json:
    """Run a scenario file on emulated networks and measure it.

    Parameters
    ----------
    out
        Folder of the results; None: a new one in results/.
    seed
        In place of the file's.
    keeps_captures
        Whether the folder receives the captures too.
    watches
        Whether standard error shows the runs while they go on.

    Returns
    -------
    What `armor run --json` prints.

    Raises
    ------
    BadInputError
        The file is no scenario, the folder cannot be used, or there are no captures to keep.
    MissingRequirementError
        The machine lacks a right or a program.
    """
    text = read_text(name)
    scenario = parse(text, name)
    if keeps_captures:
        require_captures(scenario, name)
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
    title = f"{scenario.topology.name}: one-way delay of the probes"
    return run_and_write(scenario, planned, folder, written, title, keeps_captures=keeps_captures, watches=watches)


def require_captures(scenario: Scenario, name: str) -> None:
    """Refuse to keep captures of a run that makes none.

    Raises
    ------
    BadInputError
        The scenario measures flows.
    """
    if scenario.measures_flows:
        raise BadInputError(
            f"--pcap keeps captures, and {name} measures flows, which it does without captures; "
            "leave --pcap out, or give the scenario 'traffic' in place of 'flows'"
        )


def run_and_write(
    scenario: Scenario,
    planned: Planned,
    folder: ResultFolder,
    text: str | None,
    title: str,
    *,
    keeps_captures: bool = False,
    watches: bool = False,
) -> Json:
    """Run all variations, draw pictures, and return what `--json` prints."""
    from experiments.charts.delay import draw_delay
    from experiments.charts.flows import draw_flows
    from experiments.charts.knowledge import draw_knowledge, knowledge_panels
    from experiments.charts.run_panels import read_panels
    from experiments.testbed.runs.run import run_scenario, verdict

    with watching(scenario, planned) if watches else telling() as (say, follow):
        outcomes = run_scenario(scenario, planned, folder, text, say, keeps_captures=keeps_captures, follow=follow)
    value = verdict(outcomes, folder)
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


def print_result(arguments: argparse.Namespace, value: Json, text: str) -> None:
    """Print a run's result; its folder is the place for files, so --out names no file here."""
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False) if arguments.json else text)


@contextmanager
def telling() -> Iterator[tuple[Callable[[str], None], Follow | None]]:
    """Tells what is going on: on a terminal as a line that changes, else as a line now and then."""
    with progress(None, "armor", "") as bar:
        yield bar.set_description_str, None


@contextmanager
def watching(scenario: Scenario, planned: Planned) -> Iterator[tuple[Callable[[str], None], Follow | None]]:
    """Shows the runs while they go on."""
    from experiments.live.watch import Watch, display

    with Watch(scenario, planned, display()) as watch:
        yield watch.say, watch.follow
