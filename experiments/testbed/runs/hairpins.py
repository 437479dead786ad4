"""1+1 protection in an emulated network: a hairpin port beside every bridge, and the service that keeps its program."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dataplane.devices import add_virtual_port
from dataplane.loader import find_program_object
from emulation.bridge_ports import add_bridge_port
from emulation.decide.switch import PROTECT_SERVICE, identity_words
from emulation.decide.wiring import NODE_SERVICE_PORT
from emulation.running import NetworkPart, RunningNetwork
from mininet_topos.errors import ArmorError
from ryu_apps.control.decide.protection import address_of
from ryu_apps.plan.ids import PROTECT_PORT

SERVICE_S = 20.0
NODES_SETTING = f"{{control_ip}}:{NODE_SERVICE_PORT}"
TLS_NODES_SETTING = f"ssl:{NODES_SETTING}"
_POLL_S = 0.05


class HairpinError(ArmorError):
    """The packet program of a switch is not there in time."""


def hairpin_names(node_short: str) -> tuple[str, str]:
    """Interfaces of a switch's hairpin port: the bridge's, and the one under the packet program."""
    return f"{node_short}-pp", f"{node_short}-ppx"


def hairpins(nodes: Sequence[str] | None = None) -> NetworkPart:
    """Part of a network (`EmulatedNetwork(parts=...)`): hairpin ports at these switches, default all.

    Raises
    ------
    MissingRequirementError
        The packet program was not built.
    CommandError, ProcessError, HairpinError
        A port or service cannot be made.
    """

    @contextmanager
    def part(network: RunningNetwork) -> Iterator[None]:
        find_program_object("protect")
        for node in network.sites if nodes is None else nodes:
            site = network.sites[node]
            outer, inner = hairpin_names(site.bridge)
            add_virtual_port(network.shell_pid(node), outer, inner, network.options.mtu_bytes)
            add_bridge_port(network, node, outer, PROTECT_PORT)
            network.start_helper(PROTECT_SERVICE, node, service_command(network, node))
        yield

    return part


def service_command(network: RunningNetwork, node: str) -> tuple[str, ...]:
    """Command line of the service that keeps a switch's packet program."""
    site, tls_dir = network.sites[node], network.tls_dir
    address = f"{site.control_ip}:{NODE_SERVICE_PORT}"
    if tls_dir is None:
        listening = ["--listen", address, "--clear"]
    else:
        listening = ["--listen", f"ssl:{address}", *identity_words(tls_dir, site.folder.name)]
    return (
        *(sys.executable, "-m", "dataplane.protect_service"),
        *("--address", address_of(network.topology, node), "--device", hairpin_names(site.bridge)[1]),
        *listening,
    )


def wait_attached(network: RunningNetwork, nodes: Sequence[str], timeout_s: float = SERVICE_S) -> None:
    """Wait until the packet programs of switches are attached, which the controller brings about.

    Raises
    ------
    HairpinError
        One is not in time; the message has its last words.
    """
    deadline = time.monotonic() + timeout_s
    for node in nodes:
        site = network.sites[node]
        log = site.folder / f"{PROTECT_SERVICE}-{site.bridge}.log"
        while not _is_attached(log):
            if time.monotonic() > deadline:
                said = log.read_text(encoding="utf-8", errors="replace").strip() if log.exists() else ""
                raise HairpinError(
                    f"the packet program of {node} is not attached after {timeout_s:g} s; its service says: "
                    + (said.rpartition("\n")[2] or "nothing")
                )
            time.sleep(_POLL_S)


def _is_attached(log: Path) -> bool:
    if not log.exists():
        return False
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("{") and json.loads(line).get("event") == "attached":
            return True
    return False
