"""Rows of in-band control: `armor plan in-band TOPO`, as text, as JSON, or as commands for plain switches."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.cli.parser import add_choices, refuse_given
from experiments.cli.tunnels import refuse_shape
from experiments.terminal.output import emit
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from mininet_topos.topology import Topology
    from ryu_apps.plan.in_band.values import Channel, InBandPlan

IN_BAND = "in-band"
TEXT, COMMANDS = FORMATS = ("text", "ovs-ofctl")
_OPTIONS = ("controller_at", "pmt", "format")


def add_in_band_arguments(parser: argparse.ArgumentParser) -> None:
    """--controller-at, --pmt and --format."""
    group = parser.add_argument_group("in-band (armor plan in-band TOPO)")
    group.add_argument(
        "--controller-at", metavar="NODE", help="switch that the controller is attached to (default the first)"
    )
    group.add_argument(
        "--pmt", metavar="FILE", help="message classes, each a connection with its own mark (docs/pmt.md)"
    )
    add_choices(group, ("format", FORMATS, "rows with comments, or commands that set up each switch, in order"))


def refuse_in_band_arguments(arguments: argparse.Namespace) -> None:
    """Refuse arguments that only in-band control reads.

    Raises
    ------
    BadInputError
        One of them was given.
    """
    refuse_given(arguments, _OPTIONS, f"is for in-band, not for {arguments.scheme!r}; remove it")


def run_in_band(arguments: argparse.Namespace, topology: Topology) -> int:
    """Print the rows of in-band control of the switches that were asked for.

    Raises
    ------
    BadInputError
        No such switch, a table that cannot be used, or an argument that in-band control has no use for.
    """
    refuse_shape(arguments)
    if arguments.count:
        raise BadInputError("--count is for schemes, not for in-band; remove it")
    from emulation.decide.wiring import BACKUP_DATABASE_PORT, NODE_SERVICE_PORT, OPENFLOW_PORT
    from experiments.cli.pmt import read_pmt_file
    from ryu_apps.control.priority.decide.in_band import channel_of
    from ryu_apps.plan.in_band.plan import plan_in_band
    from ryu_apps.plan.serial import plan_to_json

    table = None if arguments.pmt is None else read_pmt_file(arguments.pmt)
    at = arguments.controller_at or topology.node_names[0]
    channel = channel_of(table, at, OPENFLOW_PORT, (BACKUP_DATABASE_PORT, NODE_SERVICE_PORT))
    plan = plan_in_band(topology, channel)
    nodes = [node for node in plan.order if not arguments.switch or node in arguments.switch]
    by_node = {each.node: each for each in plan.plans.values()}
    value = {
        "topology": topology.name,
        "scheme": IN_BAND,
        "controller_at": at,
        "connections": [{"port": each.tcp_port, "dscp": each.dscp} for each in channel.services if each.at_controller],
        "switches": [plan_to_json(by_node[node]) for node in nodes],
    }
    emit(arguments, value, _text(arguments.format, topology, channel, plan, nodes))
    return 0


def _text(wanted: str, topology: Topology, channel: Channel, plan: InBandPlan, nodes: Sequence[str]) -> str:
    from ryu_apps.plan.in_band.text import control_names, script_text
    from ryu_apps.plan.text import plan_text

    if wanted == COMMANDS:
        return script_text(topology, channel, plan, nodes)
    by_node = {each.node: each for each in plan.plans.values()}
    return "\n".join(plan_text(by_node[node], control_names(topology, node, channel)) for node in nodes).rstrip()
