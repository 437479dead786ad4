"""Mininet's classes, bent to our needs: quick to start, private to a run, nothing in the root namespace.

The result is an ordinary `mininet.net.Mininet` (its CLI, `pingAll`, `node.cmd` work), whose namespaces
are made in parallel and whose cables are made by one `ip -batch`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mininet.link import Intf
from mininet.net import Mininet
from mininet.node import Node, Switch

from emulation.decide.wiring import Cable, End, Wiring
from ryu_apps.plan.addressing import Host

_PARALLEL = 8


class Place(Node):  # type: ignore[misc]
    """A namespace with a shell in it; the shell carries the mark of the run."""

    def __init__(self, name: str, run_environment: Mapping[str, str], **parameters: Any) -> None:
        self._run_environment = run_environment
        super().__init__(name, **parameters)

    def _popen(self, cmd: list[str], **parameters: Any) -> subprocess.Popen[bytes]:
        if cmd[0] == "mnexec" and "env" in cmd:  # the shell: `mnexec -cdn env PS1=... bash ...`
            after = cmd.index("env") + 1
            marks = [f"{name}={value}" for name, value in self._run_environment.items()]
            # Away from the terminal (-d) from its first moment: a shell that Ctrl-C ends is waited for without end.
            cmd = ["mnexec", cmd[1].replace("d", ""), *cmd[2:after], *marks, *cmd[after:]]
            parameters["start_new_session"] = True
        shell: subprocess.Popen[bytes] = super()._popen(cmd, **parameters)
        return shell


class SwitchPlace(Place, Switch):  # type: ignore[misc]
    """A switch for Mininet's eyes; Armor starts and watches its daemons."""

    def __init__(self, name: str, run_environment: Mapping[str, str], dpid: int) -> None:
        super().__init__(name, run_environment, dpid=f"{dpid:016x}", inNamespace=True)

    def start(self, controllers: list[Node]) -> None:
        """Nothing: the daemons were started before Mininet knew of the switch."""

    def stop(self, deleteIntfs: bool = True) -> None:  # noqa: ARG002, N803 - Mininet's signature
        """End the shell; interfaces go with the namespace."""
        self.terminate()


class ReadyIntf(Intf):  # type: ignore[misc]
    """An interface that already stands in its namespace with its addresses."""

    def __init__(self, end: End, node: Node, port: int, ip: str | None, prefix_length: int | None) -> None:
        super().__init__(end.interface, node=node, port=port, mac=end.mac, moveIntfFn=lambda *_: None)
        self.ip, self.prefixLen = ip, prefix_length

    def config(self, **_parameters: Any) -> dict[str, Any]:
        """Nothing is left to configure."""
        return {}


class ReadyLink:
    """A cable that is in place already, as Mininet sees links."""

    def __init__(self, first: ReadyIntf, second: ReadyIntf) -> None:
        self.intf1, self.intf2 = first, second
        first.link = second.link = self

    def status(self) -> str:
        """Mininet's word for a link in order."""
        return "OK"

    def stop(self) -> None:
        """Nothing: cables go with the namespaces."""

    def __str__(self) -> str:
        return f"{self.intf1}<->{self.intf2}"


class QuietMininet(Mininet):  # type: ignore[misc]
    """Mininet that leaves the machine's limits and sysctls as they are."""

    @classmethod
    def init(cls) -> None:
        """Skip `fixLimits`, which changes sysctls of the whole machine and never puts them back."""
        cls.inited = True


def make_places(
    hosts: list[str], switches: Mapping[str, int], others: list[str], run_environment: Mapping[str, str]
) -> dict[str, Place]:
    """Namespaces with their shells, made in parallel; those made are ended again when one fails.

    Parameters
    ----------
    hosts, others
        Names of places that are no switch.
    switches : mapping of name to datapath id
    run_environment
        Marks that every process of the run carries.
    """
    made: dict[str, Place] = {}

    def make(name: str) -> None:
        dpid = switches.get(name)
        made[name] = Place(name, run_environment) if dpid is None else SwitchPlace(name, run_environment, dpid)

    try:
        with ThreadPoolExecutor(_PARALLEL) as pool:
            list(pool.map(make, [*hosts, *switches, *others]))
    except BaseException:
        end_places(made)
        raise
    return {name: made[name] for name in (*hosts, *switches, *others)}


def end_places(places: Mapping[str, Place]) -> None:
    """End the shells; a namespace goes when its last process ends."""
    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(lambda place: place.terminate(), places.values()))


def as_mininet(places: Mapping[str, Place], wiring: Wiring, hosts: Mapping[str, Host]) -> QuietMininet:
    """The finished network as a Mininet object, for its CLI and for scripts that know Mininet."""
    net = QuietMininet(topo=None, build=False, controller=None)
    by_name = {host.name: host for host in hosts.values()}
    for name, place in places.items():
        net.nameToNode[name] = place
        if isinstance(place, SwitchPlace):
            net.switches.append(place)
        elif name in by_name:
            net.hosts.append(place)
    port_of = {interface: port for (_, port), interface in wiring.interface_of.items()}
    for cable in wiring.cables:
        net.links.append(_link(cable, places, port_of, by_name))
    net.built = True
    return net


def _link(
    cable: Cable, places: Mapping[str, Place], port_of: Mapping[str, int], hosts: Mapping[str, Host]
) -> ReadyLink:
    def interface(end: End) -> ReadyIntf:
        node = places[end.place]
        host = hosts.get(end.place)
        # Control links have no OpenFlow port; Mininet wants some number that no other interface of the node has.
        port = 0 if host else port_of.get(end.interface, -1 - len(node.intfs))
        return ReadyIntf(end, node, port, host.address if host else None, 16 if host else None)

    return ReadyLink(interface(cable.a), interface(cable.b))
