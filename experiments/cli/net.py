"""Keep an emulated network up for a controller of one's own, until Ctrl-C (needs root).

  sudo armor net darkstrand                                # its switches connect to 127.0.0.1:6653 of this machine
  sudo armor net usnet --controller 127.0.0.1:6633 --json

Start any controller at that address, before or after the network: the switches try again every second. To them it is
at 10.255.255.254; all of them come from 127.0.0.1, over a relay. The output names a process of each host and switch, in
whose place a command runs: sudo mnexec -a PID ping 10.0.0.5
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import sys
from typing import TYPE_CHECKING

from experiments.cli.parser import whole_number
from experiments.terminal.inputs import load_topology
from experiments.terminal.output import emit, note, release_notes
from mininet_topos.connectivity import require_connected
from mininet_topos.endpoints import host_and_port

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

RYU_PORT = 6653  # where an app listens by default
DEFAULT_CONTROLLER = f"127.0.0.1:{RYU_PORT}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor net`."""
    parser.add_argument("topology", metavar="TOPO", help="topology")
    parser.add_argument(
        "--controller",
        metavar="HOST:PORT",
        default=DEFAULT_CONTROLLER,
        help=f"where your controller listens (default: {DEFAULT_CONTROLLER})",
    )
    parser.add_argument(
        "--bfd-interval-ms", type=whole_number("--bfd-interval-ms", 1, 10_000), default=100, help="default: 100"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor net`."""
    topology = load_topology(arguments.topology)
    require_connected(topology)
    target = host_and_port(arguments.controller, "--controller")
    from emulation.decide.options import EmulationOptions
    from emulation.decide.wiring import CONTROLLER, CONTROLLER_IPV4, OPENFLOW_PORT
    from emulation.network import EmulatedNetwork
    from emulation.requirements import require_emulation
    from machine.places import call_inside
    from machine.relay import Relay

    require_emulation()
    release_notes()
    options = EmulationOptions(bfd_interval_ms=arguments.bfd_interval_ms)
    note("building the network")
    with EmulatedNetwork(topology, options, command=f"armor net {arguments.topology}") as network:
        listener = call_inside(
            network.shell_pid(CONTROLLER), lambda: socket.create_server((CONTROLLER_IPV4, OPENFLOW_PORT))
        )
        with Relay(listener, target):
            value = description(network, arguments.controller)
            if arguments.json and arguments.out is None:
                print(json.dumps(value))  # one line: the end of the output comes only with Ctrl-C
            else:
                emit(arguments, value, text(value))
            sys.stdout.flush()
            signal.pause()
    return 0


def description(network: EmulatedNetwork, controller: str) -> dict[str, object]:
    """What one needs to use a network: its hosts and switches, and where they are."""
    return {
        "topology": network.topology.name,
        "controller": controller,
        "run_folder": str(network.run_dir),
        "hosts": [
            {"host": host.name, "node": node, "address": host.address, "pid": network.shell_pid(host.name)}
            for node, host in network.hosts.items()
        ],
        "switches": [
            {"node": node, "dpid": site.dpid, "management": str(site.mgmt_socket), "pid": network.shell_pid(node)}
            for node, site in network.sites.items()
        ],
    }


def text(value: dict[str, object]) -> str:
    """The same for people."""
    hosts, switches = value["hosts"], value["switches"]
    assert isinstance(hosts, list)
    assert isinstance(switches, list)
    first, last, switch = hosts[0], hosts[-1], switches[0]
    _address, port = host_and_port(str(value["controller"]), "--controller")
    app = f".venv/bin/armor controller sdfast {value['topology']}"
    app += "" if port == RYU_PORT else f" -- --ofp-tcp-listen-port {port}"
    return "\n".join(
        [
            f"{value['topology']}: {len(switches)} switches connect to {value['controller']}; Ctrl-C ends the network",
            f"  a controller:    {app}",
            f"  from {first['host']} to {last['host']}:   sudo mnexec -a {first['pid']} ping {last['address']}",
            f"  rows of {switch['node']}:      sudo ovs-ofctl -OOpenFlow13 dump-flows unix:{switch['management']}",
            "  all hosts and switches: --json",
        ]
    )
