"""Ports that a running bridge gets beside those of its links: virtual ones, behind which packet programs stand."""

from __future__ import annotations

from emulation.running import RunningNetwork
from machine.places import inside, run_program


def add_bridge_port(network: RunningNetwork, node: str, interface: str, port_no: int) -> None:
    """Make an interface of a switch's namespace a port of its bridge, with a fixed OpenFlow number.

    Parameters
    ----------
    interface
        There already; with the namespace it goes.

    Raises
    ------
    CommandError
        Open vSwitch refuses, or does not take the port in time.
    """
    site = network.sites[node]
    words = ["ovs-vsctl", f"--db=unix:{site.db_socket}", "--timeout=10", "add-port", site.bridge, interface]
    words += ["--", "set", "Interface", interface, f"ofport_request={port_no}"]
    run_program(inside(network.shell_pid(node), words))
