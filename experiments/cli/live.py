"""See a network recover, in a browser: an emulated one, a recorded run, or that of a running controller.

  sudo armor live darkstrand                       # emulates it; links fail at a click (needs root)
  armor live results/mine                          # replays a recorded run in slow motion
  armor live results/mine --export recovery.html   # the same page as one file that opens offline
  armor live --attach http://127.0.0.1:8080        # a running controller app, over its REST interface; read-only

The first line is the page's address, which holds a token; only this machine can open it. Ctrl-C ends everything.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cli.parser import add_notification, choice, refuse_given, whole_number
from experiments.terminal.inputs import load_topology
from experiments.terminal.output import emit, note, release_notes, writable
from experiments.terminal.token import add_token_option, token_headers
from mininet_topos.errors import BadInputError, TopologyError
from ryu_apps.plan.choices import DEFAULT_MODE, MODES, NO_MODE
from te_solver.choices import PLANNERS

if TYPE_CHECKING:
    from starlette.routing import Route

    from experiments.live.decide.document import Document
    from experiments.scenario.values import Scenario, Variation
    from mininet_topos.topology import Topology

_MOST_PORT = 65_535
_OF_EMULATION = ("scheme", "mode", "planner", "notification", "side_by_side", "bfd_interval_ms")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor live`."""
    parser.add_argument("target", metavar="TOPO|FOLDER", nargs="?", help="a topology, or a folder of results")
    parser.add_argument("--attach", metavar="URL", help="the REST interface of a running controller app")
    add_token_option(parser)
    parser.add_argument("--export", metavar="PAGE", help="of a folder: write one HTML file, and serve nothing")
    parser.add_argument(
        "--port", type=whole_number("--port", 0, _MOST_PORT), default=0, help="TCP port of the page (default: any)"
    )
    parser.add_argument(
        "--pair",
        metavar="H1,H2",
        action="append",
        default=[],
        help="two hosts (may be given again; default: the pair whose packets can backtrack farthest)",
    )
    group = parser.add_argument_group("emulated networks")
    group.add_argument("--scheme", default="sdfast", help="default: sdfast")
    group.add_argument("--mode", type=choice("mode", tuple(MODES)), default=DEFAULT_MODE, metavar="|".join(MODES))
    group.add_argument("--planner", type=choice("planner", PLANNERS), default="tree", metavar="|".join(PLANNERS))
    add_notification(group)
    group.add_argument("--side-by-side", metavar="SCHEME", help="a second network, which the same clicks fail")
    group.add_argument(
        "--bfd-interval-ms",
        type=whole_number("--bfd-interval-ms", 1, 10_000),
        help="default: the shortest of 5, 20, 50, 100 that this machine holds",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor live`."""
    if (arguments.target is None) == (arguments.attach is None):
        raise BadInputError("name one of both: a topology or a folder of 'armor run', or --attach URL of a controller")
    is_folder = arguments.target is not None and Path(arguments.target).is_dir()
    if arguments.export is None:
        refuse_given(arguments, ("out",), "has no use without --export; armor live FOLDER --export PAGE writes a page")
    if arguments.attach is None:
        refuse_given(arguments, ("token_file",), "is for --attach URL")
    if not is_folder:
        refuse_given(arguments, ("export",), "is for folders of 'armor run'; record a run and export that")
    if is_folder or arguments.attach is not None:
        refuse_given(arguments, _OF_EMULATION, "is for emulated networks: armor live TOPO")
    if is_folder:
        refuse_given(arguments, ("pair",), "is for networks that run; a recorded run has the pairs of its traffic")
        return _replay(arguments)
    return _attach(arguments) if arguments.target is None else _emulate(arguments)


def _replay(arguments: argparse.Namespace) -> int:
    from experiments.live.html import to_html
    from experiments.live.replay import read_document

    document = read_document(Path(arguments.target))
    if arguments.export is not None:
        return _export(arguments, document)
    html = to_html(document)
    _serve(arguments, lambda: html)
    return 0


def _export(arguments: argparse.Namespace, document: Document) -> int:
    from experiments.live.export import export

    path = writable(arguments.export, "--export")
    size = export(document, path)
    emit(arguments, {"page": str(path), "bytes": size}, f"written: {path} ({size / 1e6:.1f} MB)")
    return 0


def _attach(arguments: argparse.Namespace) -> int:
    from experiments.live.attach import Attached, Controller
    from experiments.live.html import page_html
    from experiments.live.hub import hub_routes

    attached = Attached(Controller(arguments.attach, token_headers(arguments.token_file)), arguments.pair)
    attached.look()
    ended = threading.Event()
    thread = threading.Thread(target=attached.follow, args=(ended,), daemon=True)
    thread.start()
    try:
        _serve(arguments, lambda: page_html(attached.hub.document), hub_routes(attached.hub))
    finally:
        ended.set()
        thread.join()
    return 0


def _emulate(arguments: argparse.Namespace) -> int:
    from experiments.live.attach import shown_pairs
    from experiments.live.session import run_session
    from experiments.testbed.runs.parts import require_programs
    from experiments.testbed.runs.run import plan_scenario

    try:
        topology = load_topology(arguments.target)
    except TopologyError as error:
        raise BadInputError(f"{arguments.target!r} is no folder of results and no topology: {error}") from error
    scenario = _scenario(arguments, topology)
    pairs = shown_pairs(topology, arguments.pair)
    planned = plan_scenario(scenario)
    require_programs()
    release_notes()
    run_session(scenario, planned, pairs, arguments.port, _announcing(arguments), say=note)
    return 0


def _scenario(arguments: argparse.Namespace, topology: Topology) -> Scenario:
    """Networks in which nothing fails by plan."""
    from experiments.scenario.values import Scenario

    schemes = [arguments.scheme, *([] if arguments.side_by_side is None else [arguments.side_by_side])]
    variations = tuple(_variation(arguments, scheme) for scheme in schemes)
    if len(set(variations)) < len(variations):
        raise BadInputError(f"--side-by-side is {arguments.side_by_side!r}, as --scheme; name another scheme")
    return Scenario(
        topology_name=topology.name,
        topology=topology,
        variations=variations,
        traffic=(),
        failures=(),
        duration_s=0.0,
        seed=arguments.seed,
        bfd_interval_ms=arguments.bfd_interval_ms,
    )


def _variation(arguments: argparse.Namespace, scheme: str) -> Variation:
    from experiments.scenario.values import Variation
    from ryu_apps.schemes import find_route_scheme

    modes = [mode.name for mode in find_route_scheme(scheme).modes]
    mode = NO_MODE if not modes else arguments.mode
    return Variation(scheme, mode, arguments.planner, notification=arguments.notification)


def _announcing(arguments: argparse.Namespace) -> Callable[[str], None]:
    def announce(url: str) -> None:
        print(json.dumps({"url": url}) if arguments.json else url, flush=True)

    return announce


def _serve(arguments: argparse.Namespace, html: Callable[[], str], routes: Sequence[Route] = ()) -> None:
    from experiments.live.server import page_app, serve

    release_notes()
    serve(page_app(html, routes), arguments.port, _announcing(arguments))
