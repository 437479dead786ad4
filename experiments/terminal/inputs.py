"""What commands read: topologies and scenarios, by name or file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from experiments.terminal.output import hold_note
from mininet_topos import input_files
from mininet_topos.topology import Topology

if TYPE_CHECKING:
    from experiments.scenario.values import Scenario

MAX_SCENARIO_BYTES = 1_000_000


def load_topology(name: str) -> Topology:
    """Topology of a name or file; what the file left unknown is noted on standard error.

    Raises
    ------
    TopologyError
        Unknown name, or an unusable file.
    """
    from mininet_topos.catalogue import load_topology_with_warnings

    loaded = load_topology_with_warnings(name)
    for warning in loaded.warnings:
        hold_note(f"note: {warning}")
    return loaded.topology


def read_text(name: str) -> str:
    """Text of a scenario file.

    Raises
    ------
    BadInputError
        It cannot be read, or is no text.
    """
    return input_files.read_text(name, f"scenario {name!r}", MAX_SCENARIO_BYTES)


def parse(text: str, name: str) -> Scenario:
    """Scenario of a text; the schemes are those of the registry."""
    from experiments.scenario.parse import ScenarioContext, parse_scenario
    from ryu_apps.schemes import all_schemes

    folder = Path(name).parent

    def find(file: str) -> str:
        """A file that a scenario names may lie beside it."""
        return str(folder / file) if input_files.is_file(folder / file) else file

    def read(file: str) -> str:
        return input_files.read_text(find(file), file, MAX_SCENARIO_BYTES)

    scenario_context = ScenarioContext(
        lambda topology: load_topology(find(topology)),
        all_schemes(),
        find,
        read,
    )
    return parse_scenario(text, name, scenario_context)
