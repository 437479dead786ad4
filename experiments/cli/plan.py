"""Print what a scheme puts into the switches: rules, groups, and backup rows.

armor plan sdfast darkstrand --switch s4
armor plan sdfast darkstrand --mode agent --json --out plan.json
armor plan kuijia gscale --demands random:5:900 --failed s2-s4 --switch s2
"""

from __future__ import annotations

import argparse

from experiments.cli.output import emit
from experiments.cli.parser import add_plan_arguments, plan_options
from experiments.cli.topo import load
from experiments.cli.tunnels import add_tunnel_arguments, plan_tunnels, refuse_tunnel_arguments
from experiments.scenario.suggest import suggest
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
    add_tunnel_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `armor plan`."""
    from mininet_topos.connectivity import require_connected
    from ryu_apps.plan.registry import TUNNEL_SCHEMES, find_scheme
    from ryu_apps.plan.serial import plan_to_json
    from ryu_apps.plan.text import names_of, plan_text

    scheme = None if arguments.scheme in TUNNEL_SCHEMES else find_scheme(arguments.scheme)
    options = plan_options(arguments)
    topology = load(arguments.topology)
    require_connected(topology)
    for node in arguments.switch or ():
        if node not in topology.index_of:
            raise BadInputError(
                f"--switch {node!r} is no node of {topology.name!r}; {suggest(node, topology.node_names)}"
            )
    if scheme is None:
        return plan_tunnels(arguments, topology)
    refuse_tunnel_arguments(arguments)
    plans = scheme.plan(topology, options)
    wanted = [plan for plan in plans.values() if not arguments.switch or plan.node in arguments.switch]
    value = {
        "topology": topology.name,
        "scheme": scheme.name,
        "mode": options.mode if len(scheme.modes) > 1 else "none",
        "planner": options.planner,
        "routes": options.routes,
        "switches": [plan_to_json(plan) for plan in wanted],
    }
    text = "" if arguments.json else "\n".join(plan_text(plan, names_of(topology, plan.node)) for plan in wanted)
    emit(arguments, value, text.rstrip("\n"))
    return 0
