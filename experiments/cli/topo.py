"""List, show and draw topologies.

armor topo list
armor topo show darkstrand
armor topo draw darkstrand --out darkstrand.svg --failed s2-s14 --path s1,s2,s26
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from experiments.cli.parser import choice, refuse_given
from experiments.scenario.suggest import suggest
from experiments.terminal.inputs import load_topology
from experiments.terminal.output import emit, writable
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, Topology

ACTIONS = ("list", "show", "draw")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor topo`."""
    parser.add_argument("action", metavar="list|show|draw", type=choice("action", ACTIONS))
    parser.add_argument("topology", metavar="TOPO", nargs="?", help="a name from the list, or a file")
    parser.add_argument("--failed", metavar="LINK", action="append", default=[], help="draw: a failed link, as s2-s4")
    parser.add_argument("--path", metavar="NODES", help="draw: a primary path, as s1,s2,s4")
    parser.add_argument("--new-path", metavar="NODES", help="draw: the path after the failure, as s1,s3,s4")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor topo`."""
    if arguments.action != "draw":
        refuse_given(arguments, ("failed", "path", "new_path"), "is for 'armor topo draw'; leave it out")
    if arguments.action == "list":
        if arguments.topology is not None:
            raise BadInputError(
                f"'armor topo list' takes no topology; for {arguments.topology!r} use 'armor topo show'"
            )
        return _list(arguments)
    if arguments.topology is None:
        raise BadInputError(f"'armor topo {arguments.action}' needs a topology; 'armor topo list' shows the names")
    topology = load_topology(arguments.topology)
    return (_show if arguments.action == "show" else _draw)(arguments, topology)


def _list(arguments: argparse.Namespace) -> int:
    from mininet_topos.catalogue import list_topologies
    from mininet_topos.describe import list_text

    rows = list_topologies()
    value = [
        {"name": row.name, "kind": row.kind, "nodes": row.nodes, "links": row.links, "about": row.about} for row in rows
    ]
    emit(arguments, {"topologies": value}, list_text(rows))
    return 0


def _show(arguments: argparse.Namespace, topology: Topology) -> int:
    from mininet_topos.describe import describe, describe_text

    emit(arguments, describe(topology), describe_text(topology))
    return 0


def _draw(arguments: argparse.Namespace, topology: Topology) -> int:
    from mininet_topos.draw import FORMATS, DrawSpec, draw_topology

    name = arguments.out or f"{topology.name}.png"
    if Path(name).suffix.lower() not in FORMATS:
        raise BadInputError(f"--out {name!r} is no picture; end it in {', '.join(FORMATS)}")
    failed = tuple(topology.parse_link(link) for link in arguments.failed)
    primary, new_path = (
        _path(topology, option, text)
        for option, text in (("--path", arguments.path), ("--new-path", arguments.new_path))
    )
    ends = (primary[0].src, primary[-1].dst) if primary else ()
    spec = DrawSpec(failed=failed, primary=primary, new_path=new_path, ends=ends)
    draw_topology(topology, writable(name), spec)
    arguments.out = None
    emit(arguments, {"topology": topology.name, "picture": name}, f"written: {name}")
    return 0


def _path(topology: Topology, option: str, text: str | None) -> tuple[Direction, ...]:
    """Directions of a path that is given as nodes."""
    from mininet_topos.draw import directions_of

    if text is None:
        return ()
    nodes = [part.strip() for part in text.split(",")]
    for node in nodes:
        if node not in topology.index_of:
            raise BadInputError(
                f"{option} names {node!r}, no node of {topology.name!r}; {suggest(node, topology.node_names)}"
            )
    joined = {(link.src, link.dst) for link in topology.links}
    for src, dst in itertools.pairwise(nodes):
        if (src, dst) not in joined:
            raise BadInputError(f"{option} goes from {src} to {dst}, which are not joined; name each node passed")
    return directions_of(topology, nodes)
