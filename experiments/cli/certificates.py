"""Make a test authority and certificates of a controller and of switches, for TLS on OpenFlow and OVSDB.

  armor certificates tls --nodes darkstrand       # tls/authority.pem, tls/controller.key and .pem, tls/s1.key, ...
  armor certificates tls --nodes darkstrand --days 30

What is there already is kept; remove a node's two files to replace them. docs/security.md says who gets which files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.cli.parser import whole_number
from experiments.terminal.inputs import load_topology
from experiments.terminal.output import emit
from mininet_topos.wording import counted

CONTROLLER = "controller"
_MOST_DAYS = 36_500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor certificates`."""
    parser.add_argument("folder", metavar="DIR", help="where the files go; only you can read it")
    parser.add_argument("--nodes", metavar="TOPO", required=True, help="topology whose switches get certificates")
    parser.add_argument(
        "--days", type=whole_number("--days", 1, _MOST_DAYS), default=365, metavar="N", help="default: 365"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor certificates`."""
    from machine.authority import make_certificates

    topology = load_topology(arguments.nodes)
    folder = Path(arguments.folder)
    done = make_certificates(folder, (CONTROLLER, *topology.node_names), arguments.days)
    value = {"folder": str(folder), "made": list(done.made), "kept": list(done.kept), "days": arguments.days}
    lines = [f"{folder}: {counted(len(done.made), 'certificate')} made, {len(done.kept)} kept"]
    lines += [f"  ryu-manager --ctl-privkey {folder}/controller.key --ctl-cert {folder}/controller.pem"]
    lines += [f"              --ca-certs {folder}/authority.pem ryu_apps/sdfast.py"]
    node = topology.node_names[0]
    lines += [f"  ovs-vsctl set-ssl {folder}/{node}.key {folder}/{node}.pem {folder}/authority.pem"]
    lines += [f"  ovs-vsctl set-controller {node} ssl:CONTROLLER:6653"]
    emit(arguments, value, "\n".join(lines))
    return 0
