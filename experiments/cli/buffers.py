"""--replayed and --marked: which links and which packets a scheme keeps that buffers packets (docs/sqr.md)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from dataplane.model.marking import parse_marking
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from mininet_topos.topology import Topology
    from ryu_apps.plan.options import PlanOptions
    from ryu_apps.plan.scheme import Scheme

ALL_LINKS = "all"


def add_marked_argument(parser: argparse.ArgumentParser) -> None:
    """--marked."""
    parser.add_argument(
        "--marked",
        metavar="MARKS",
        default="",
        help="schemes that buffer packets: which, as dscp=46,tcp=443,vlan=7 (default: all)",
    )


def add_buffer_arguments(parser: argparse.ArgumentParser) -> None:
    """--replayed and --marked."""
    parser.add_argument(
        "--replayed",
        metavar="LINKS",
        default="",
        help=f"schemes that buffer packets: of which links, as s1-s2,s3-s4, or {ALL_LINKS!r} (default: none)",
    )
    add_marked_argument(parser)


def buffered(
    arguments: argparse.Namespace, scheme: Scheme | None, topology: Topology, options: PlanOptions
) -> PlanOptions:
    """Plan options with what --replayed and --marked say.

    Raises
    ------
    BadInputError
        The scheme buffers nothing, or packets are marked while no link is buffered.
    """
    replayed = getattr(arguments, "replayed", ALL_LINKS)
    for name in ("replayed", "marked"):
        if name in arguments.given and not (scheme and scheme.buffers):
            raise BadInputError(f"--{name} is for schemes that buffer packets, not for {arguments.scheme!r}")
    if arguments.marked and not replayed:
        raise BadInputError(f"--marked {arguments.marked} keeps nothing without links; add --replayed {ALL_LINKS}")
    links = topology.link_ids if replayed == ALL_LINKS else filter(None, (n.strip() for n in replayed.split(",")))
    names = tuple(map(str, links)) if scheme and scheme.buffers else ()
    return replace(options, replayed=names, marked=parse_marking("--marked", arguments.marked))
