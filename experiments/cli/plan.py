"""Print what a scheme puts into the switches: rules, groups, and backup rows.

armor plan sdfast darkstrand --switch s4
armor plan sdfast darkstrand --mode agent --json --out plan.json
armor plan protect darkstrand --protect flows.yaml --switch s4
armor plan sqr darkstrand --replayed all --marked dscp=46 --switch s4
armor plan kuijia gscale --demands random:5:900 --failed s1-s3 --switch s1
armor plan kuijia gscale --demands random:5:900 --priorities four --shape decomposed --count
armor plan kuijia gscale --demands random:5:900 --notified-by agent --agent-configurations configurations
armor plan in-band darkstrand --controller-at s4 --pmt examples/pmt/in_band.yaml --format ovs-ofctl
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from experiments.cli.buffers import add_buffer_arguments, buffered
from experiments.cli.in_band import IN_BAND, add_in_band_arguments, refuse_in_band_arguments, run_in_band
from experiments.cli.memory import add_memory_argument, memory_for
from experiments.cli.not_covered import not_covered_json
from experiments.cli.parser import (
    PLAN_OPTIONS,
    add_plan_arguments,
    add_protect_argument,
    plan_options,
    read_protected_flows,
    refuse_plan_options,
)
from experiments.cli.shapes import check_shape, show
from experiments.cli.tunnels import add_tunnel_arguments, plan_tunnels, refuse_tunnel_arguments, tunnel_planner
from experiments.scenario.suggest import suggest
from experiments.terminal.inputs import load_topology
from machine.collector import collector_paused
from mininet_topos.errors import BadInputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor plan`."""
    add_plan_arguments(parser)
    parser.add_argument("--switch", metavar="NODE", action="append", help="only this switch (may be given again)")
    parser.add_argument(
        "--failed",
        metavar="LINK",
        action="append",
        default=[],
        help="schemes of tunnels: a link that has failed (may be given again, in order)",
    )
    parser.add_argument(
        "--agent-configurations",
        metavar="FOLDER",
        help="with --notified-by agent: write what every switch's agent has to know",
    )
    parser.add_argument("--count", action="store_true", help="rows and fields of each switch, and what a shape saves")
    add_protect_argument(parser, "nothing is protected")
    add_buffer_arguments(parser)
    add_tunnel_arguments(parser)
    add_in_band_arguments(parser)
    add_memory_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `armor plan`."""
    from mininet_topos.connectivity import require_connected
    from ryu_apps.plan.protection import protection_of
    from ryu_apps.schemes import find_scheme

    scheme = None if arguments.scheme == IN_BAND else find_scheme(arguments.scheme)
    options = plan_options(arguments)
    topology = load_topology(arguments.topology)
    require_connected(topology)
    for node in arguments.switch or ():
        if node not in topology.index_of:
            raise BadInputError(
                f"--switch {node!r} is no node of {topology.name!r}; {suggest(node, topology.node_names)}"
            )
    options = buffered(arguments, scheme, topology, options)
    flows = read_protected_flows(arguments, topology, protects=scheme is not None and scheme.protects)
    if scheme is None:
        refuse_tunnel_arguments(arguments)
        refuse_plan_options(arguments, (*PLAN_OPTIONS, "metric"))
        return run_in_band(arguments, topology)
    refuse_in_band_arguments(arguments)
    planner = scheme.plan if scheme.tunnels is None else tunnel_planner(arguments)
    with collector_paused(), memory_for(arguments, topology, options, planner, notifies=bool(scheme.modes)):
        if scheme.tunnels is not None:
            return plan_tunnels(arguments, topology)
        refuse_tunnel_arguments(arguments)
        if flows is not None:
            options = replace(options, protection=protection_of(topology, flows))
        plans = scheme.plan(topology, options)
        check_shape(arguments, scheme, plans)
        value: dict[str, Any] = {
            "topology": topology.name,
            "scheme": scheme.name,
            "mode": scheme.mode_of(options),
            "planner": options.planner,
            "routes": options.routes,
            **not_covered_json(scheme, topology, options, arguments.switch or ()),
        }
        return show(arguments, topology, value, plans)
