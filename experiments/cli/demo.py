"""One failure, from topology file to measured recovery (needs root).

  armor demo                       Darkstrand, SD-FAST in learned mode and then in agent mode
  armor demo --scheme ffg          the same failure under fast-failover groups
  armor demo usnet --mode agent

The pair and the link are those whose first packets backtrack farthest. A probe is sent every 2 ms both ways while
the link fails silently; the timeline, the packets that backtracked, and three pictures are the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cli.parser import add_notification, choice, positive_number, whole_number
from experiments.scenario.stream import MIN_INTERVAL_MS
from experiments.terminal.inputs import load_topology
from experiments.terminal.output import emit
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import MODES, NO_MODE

if TYPE_CHECKING:
    from experiments.analysis.crankback import CrankbackCase
    from experiments.scenario.values import Scenario
    from experiments.testbed.runs.folder import ResultFolder
    from mininet_topos.topology import Topology

FAILURE_AT_S, REPAIR_AT_S, DURATION_S = 1.0, 4.0, 9.0
WAIT_TO_RESTORE_S = 2.0
EVERY_MODE = "both"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor demo`."""
    parser.add_argument("topology", metavar="TOPO", nargs="?", default="darkstrand", help="default: darkstrand")
    parser.add_argument("--scheme", default="sdfast", help="default: sdfast")
    parser.add_argument(
        "--mode", type=choice("mode", (*MODES, EVERY_MODE)), default=EVERY_MODE, metavar="|".join((*MODES, EVERY_MODE))
    )
    add_notification(parser)
    parser.add_argument("--pair", metavar="H1,H2", help="two hosts; default: the pair with the longest crankback")
    parser.add_argument(
        "--link", metavar="LINK", help="the link to fail, as s2-s4; default: the one with the longest walk"
    )
    parser.add_argument(
        "--interval-ms", type=positive_number("--interval-ms", 1000.0, MIN_INTERVAL_MS), default=2.0, help="default: 2"
    )
    parser.add_argument(
        "--bfd-interval-ms",
        type=whole_number("--bfd-interval-ms", 1, 10_000),
        help="default: the shortest of 5, 20, 50, 100 that this machine holds",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor demo`."""
    from mininet_topos.connectivity import require_connected
    from ryu_apps.schemes import find_route_scheme

    scheme = find_route_scheme(arguments.scheme)
    topology = load_topology(arguments.topology)
    require_connected(topology)
    case = chosen_case(topology, arguments.pair, arguments.link)
    scenario = demo_scenario(arguments, topology, case, [mode.name for mode in scheme.modes])
    from experiments.testbed.runs.parts import require_programs
    from experiments.testbed.runs.run import plan_scenario

    planned = plan_scenario(scenario)
    require_programs()
    from experiments.cli.run import run_and_write
    from experiments.testbed.runs.folder import ResultFolder

    folder = ResultFolder(Path(arguments.out)) if arguments.out else ResultFolder.new(f"demo-{scheme.name}")
    value = run_and_write(scenario, planned, folder, None, f"{topology.name}: {case.link} fails silently at 0 ms")
    draw_case(topology, case, folder, recovered=has_recovered(value))
    from experiments.cli.demo_text import demo_text

    arguments.out = None
    emit(arguments, {**value, "case": case_json(case)}, demo_text(topology, case, value, arguments.interval_ms))
    return 0 if value["held"] else 1


def chosen_case(topology: Topology, pair: str | None, link: str | None) -> CrankbackCase:
    """The failure to show.

    Raises
    ------
    BadInputError
        The given pair or link cannot be shown.
    """
    from experiments.analysis.crankback import crankback_cases, find_case, longest_crankback
    from experiments.scenario.targets import read_pair

    wanted = None if link is None else topology.parse_link(link)
    if pair is None:
        if wanted is None:
            return longest_crankback(topology)
        cases = [case for case in crankback_cases(topology) if case.link == wanted]
        if not cases:
            raise BadInputError(f"{wanted} is a bridge or on no primary path, so nothing recovers from its loss")
        return max(cases, key=lambda case: case.hops_back)
    return find_case(topology, *read_pair("--pair", pair, topology), wanted)


def demo_scenario(
    arguments: argparse.Namespace, topology: Topology, case: CrankbackCase, modes: Sequence[str]
) -> Scenario:
    """The scenario that shows a case."""
    from experiments.scenario.failures.silent import Silent
    from experiments.scenario.traffic.probe import Probe
    from experiments.scenario.values import Scenario, Variation

    chosen = modes if arguments.mode == EVERY_MODE else (arguments.mode,)
    return Scenario(
        topology_name=arguments.topology,
        topology=topology,
        variations=tuple(
            Variation(arguments.scheme, mode, notification=arguments.notification)
            for mode in (chosen if modes else (NO_MODE,))
        ),
        traffic=(Probe(case.source, case.destination, interval_ms=arguments.interval_ms),),
        failures=(Silent(FAILURE_AT_S, case.link, repair_at_s=REPAIR_AT_S),),
        duration_s=DURATION_S,
        seed=arguments.seed,
        bfd_interval_ms=arguments.bfd_interval_ms,
        wait_to_restore_s=WAIT_TO_RESTORE_S,
    )


def has_recovered(value: dict[str, Any]) -> bool:
    """Whether packets were delivered again while the link was down, in every run."""
    return all(failure["recovered"] for run in value["runs"] for failure in run["failures"])


def draw_case(topology: Topology, case: CrankbackCase, folder: ResultFolder, *, recovered: bool) -> None:
    """topology.png and topology.svg: the failed link, the primary path, the crankback, and the new path."""
    from mininet_topos.draw import DrawSpec, draw_topology
    from mininet_topos.topology import Direction

    labels = {node.name: f"{node.name} {node.label}".strip() for node in topology.nodes}
    place = next(index for index, hop in enumerate(case.primary) if topology.link_id(hop) == case.link)
    crankback_path = case.primary[place - case.hops_back : place]
    spec = DrawSpec(
        title=f"{topology.name}: {labels[case.source]} to {labels[case.destination]}",
        subtitle=f"{case.link} fails; the first packets walk {case.hops_back} hops back",
        failed=(case.link,),
        primary=case.primary,
        crankback=tuple(Direction(hop.dst, hop.src, hop.key) for hop in reversed(crankback_path)) if recovered else (),
        new_path=case.new_path if recovered else (),
        ends=(case.source, case.destination),
    )
    for name in ("topology.png", "topology.svg"):
        draw_topology(topology, folder.picture(name), spec)


def case_json(case: CrankbackCase) -> dict[str, object]:
    """The chosen failure as plain data."""
    from experiments.analysis.crankback import node_path

    return {
        "source": case.source,
        "destination": case.destination,
        "link": [case.link.a, case.link.b],
        "hops_back": case.hops_back,
        "primary": list(node_path(case.primary)),
        "new_path": list(node_path(case.new_path)),
    }
