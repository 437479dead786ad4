"""Break things on purpose and put them right again: links silent, one-way, lossy, carriers, nodes, control links."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from types import TracebackType

from emulation.decide.failure_injection import InjectionStamp, PortKey, link_senders, node_senders, sender
from emulation.decide.nft import loss_rule, rate_rule
from emulation.decide.switch import AGENT, OVSDB_SERVER, VSWITCHD
from emulation.decide.wiring import CONTROLLER
from emulation.drop_filters import CLSACT, NFT, DropFilters
from emulation.features import kernel_features
from emulation.running import RunningNetwork
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, LinkId

Place = tuple[str, str]  # (place, interface)


class FailureInjection:
    """Everything that is broken now; leaving it (or `restore_all`) repairs it.

    Overlapping failures add up: an interface sends again when the last failure on it is repaired.
    """

    def __init__(self, network: RunningNetwork) -> None:
        self._network = network
        by_program = network.drop_program is not None
        mechanism = NFT if kernel_features().nft_egress and not by_program else CLSACT
        self._filters = DropFilters(network.shell_pid, mechanism, network.drop_program)
        # What is broken, by (kind, target), and what it shut: interfaces, carriers, processes.
        self._shut: dict[tuple[str, str], frozenset[Place]] = {}
        self._thinned: dict[str, tuple[str, tuple[Place, ...]]] = {}
        self._carriers: dict[str, Place] = {}
        self._held: dict[str, tuple[str, ...]] = {}

    def __enter__(self) -> FailureInjection:
        """Nothing is broken yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Repair everything."""
        self.close()

    def close(self) -> None:
        """Repair everything and close the sockets."""
        try:
            self.restore_all()
        finally:
            self._filters.close()

    # ---- what can be broken

    def prepare(self, links: Iterable[LinkId] | None = None) -> None:
        """Prepare silent failures of links (all when left out), so that the failure itself is one system call."""
        network = self._network
        wanted = network.topology.link_ids if links is None else links
        self._prepare(
            port for link in wanted for port in link_senders(network.ports, network.topology, self._known(link))
        )

    def silent(self, link: LinkId) -> InjectionStamp:
        """Drop everything both ends send on a link; carriers stay, so only BFD can notice."""
        ports = link_senders(self._network.ports, self._network.topology, self._known(link))
        return self._drop_at("silent", str(link), self._places(ports))

    def one_way(self, direction: Direction) -> InjectionStamp:
        """Drop everything sent in one direction of a link.

        Raises
        ------
        BadInputError
            The topology has no such link.
        """
        if direction not in self._network.topology.link_at:
            raise BadInputError(
                f"topology {self._network.topology.name!r} has no link {direction}; nothing was changed"
            )
        ports = (sender(self._network.ports, direction),)
        return self._drop_at("one-way", str(direction), self._places(ports))

    def carrier(self, link: LinkId) -> InjectionStamp:
        """Take a link down so that both ends lose the carrier."""
        target = str(self._known(link))
        first, _ = link_senders(self._network.ports, self._network.topology, link)
        end = self._places([first])[0]
        if target not in self._carriers:
            self._carriers[target] = end
        return self._stamp("carrier", target, self._filters.set_carrier(*end, up=False), live=False)

    def node(self, name: str, *, kill: bool = False) -> InjectionStamp:
        """Silence every link of a switch; with `kill`, its daemons and agent are killed instead and stay stopped.

        Raises
        ------
        BadInputError
            The network has no such switch, or its daemons are not its own.
        """
        if name not in self._network.sites:
            raise BadInputError(f"no switch {name!r} in this network; nothing was changed")
        if not kill:
            ports = node_senders(self._network.ports, self._network.topology, name)
            return self._drop_at("node", name, self._places(ports))
        if self._network.options.shared_ovs:
            raise BadInputError(f"{name} shares its daemons with all switches (shared_ovs); fail it without kill")
        running = tuple(
            process for process in (AGENT, VSWITCHD, OVSDB_SERVER) if self._network.is_running(process, name)
        )
        before = time.monotonic()
        self._held[name] = (*self._held.get(name, ()), *running)
        for process in running:
            self._network.hold(process, name)
        return self._stamp("node", name, (before, time.monotonic()), live=False)

    def controller(self, node: str | None = None) -> InjectionStamp:
        """Fail the control link of a switch, or all control links, silently and in both directions.

        With in-band control that of one switch fails at its own end alone: it hears, but nobody hears it.

        Raises
        ------
        BadInputError
            The network has no such switch.
        """
        nodes = self._network.sites if node is None else (node,)
        return self._drop_at("controller", node or CONTROLLER, self._control_ends(nodes, is_whole=node is None))

    def partition(self, nodes: Sequence[str]) -> InjectionStamp:
        """Fail the control links of some switches together; the target is their names, joined by "+".

        Raises
        ------
        BadInputError
            The network has no such switch.
        """
        return self._drop_at("partition", "+".join(nodes), self._control_ends(nodes))

    @property
    def drops_a_part(self) -> bool:
        """Whether links can be lossy and control links slow here."""
        return self._filters.drops_a_part

    def lossy(self, link: LinkId, percent: float) -> InjectionStamp:
        """Drop a share of what both ends send on a link, drawn packet by packet.

        Raises
        ------
        DropFilterError
            This kernel cannot (`drops_a_part`).
        """
        ports = link_senders(self._network.ports, self._network.topology, self._known(link))
        return self._thin("lossy", str(link), self._places(ports), loss_rule(percent))

    def slow_controller(self, node: str, kbytes_per_s: int) -> InjectionStamp:
        """Let the control link of a switch carry little: what exceeds the rate is dropped, in both directions.

        Raises
        ------
        BadInputError
            The network has no such switch.
        DropFilterError
            This kernel cannot (`drops_a_part`).
        """
        return self._thin("slow-controller", node, self._control_ends((node,)), rate_rule(kbytes_per_s))

    def kill(self, process: str, node: str | None = None) -> InjectionStamp:
        """SIGKILL a process, which its supervisor starts again."""
        return self._network.kill(process, node)

    # ---- repair

    def restore(self, target: LinkId | Direction | str) -> InjectionStamp:
        """Repair every failure of a link, a direction, a switch, or "controller".

        Raises
        ------
        BadInputError
            Nothing of that name is broken.
        """
        name = str(target)
        keys = [key for key in self._shut if key[1] == name]
        before = after = None
        kind = ""
        for key in keys:
            kind = key[0]
            opened = self._open(key)
            before, after = before or opened[0], opened[1]
        if name in self._thinned:
            kind, ends = self._thinned.pop(name)
            opened = self._filters.set_rule(ends, None)
            before, after = before or opened[0], opened[1]
        if name in self._carriers:
            kind, end = "carrier", self._carriers.pop(name)
            raised = self._filters.set_carrier(*end, up=True)
            before, after = before or raised[0], raised[1]
        if name in self._held:
            kind = "node"
            before = before or time.monotonic()
            for process in reversed(self._held.pop(name)):
                self._network.release(process, name)
            after = time.monotonic()
        if before is None or after is None:
            broken = ", ".join(sorted(self.broken())) or "nothing"
            raise BadInputError(f"{name!r} is not broken, so it cannot be repaired; broken now: {broken}")
        return self._stamp(kind, name, (before, after), live=True)

    def broken(self) -> frozenset[str]:
        """Names of everything that is broken now."""
        return frozenset({target for _, target in self._shut} | {*self._thinned, *self._carriers, *self._held})

    def restore_all(self) -> tuple[InjectionStamp, ...]:
        """Repair everything that is broken."""
        return tuple(self.restore(name) for name in sorted(self.broken()))

    # ---- how

    def _known(self, link: LinkId) -> LinkId:
        if link not in self._network.topology.link_ids:
            raise BadInputError(f"topology {self._network.topology.name!r} has no link {link}; nothing was changed")
        return link

    def _places(self, ports: Iterable[PortKey]) -> tuple[Place, ...]:
        network = self._network
        return tuple((network.wiring.place_of[node], network.interface(node, port)) for node, port in ports)

    def _control_ends(self, nodes: Iterable[str], *, is_whole: bool = False) -> tuple[Place, ...]:
        """Interfaces of the control links of switches; with in-band control their own ends, unless all are meant."""
        wiring, nodes = self._network.wiring, tuple(nodes)
        unknown = [node for node in nodes if node not in self._network.sites]
        if unknown:
            raise BadInputError(f"no switch {unknown[0]!r} in this network; nothing was changed")
        places = {wiring.place_of[node] for node in nodes}
        ends = [(place, wiring.control_interface_of[place]) for place in sorted(places)]
        if is_whole or not wiring.in_band:
            ends += [(CONTROLLER, name) for at, name in wiring.controller_interface_of.items() if at in places]
        return tuple(ends)

    def _thin(self, kind: str, target: str, ends: tuple[Place, ...], rule: str) -> InjectionStamp:
        self._prepare_ends(ends)
        times = self._filters.set_rule(ends, rule)
        self._thinned[target] = kind, ends
        return self._stamp(kind, target, times, live=False)

    def _prepare(self, ports: Iterable[PortKey]) -> None:
        self._prepare_ends(self._places(ports))

    def _prepare_ends(self, ends: Iterable[Place]) -> None:
        by_place: dict[str, list[str]] = {}
        for place, interface in ends:
            by_place.setdefault(place, []).append(interface)
        for place, interfaces in by_place.items():
            self._filters.prepare(place, interfaces)

    def _drop_at(self, kind: str, target: str, ends: tuple[Place, ...]) -> InjectionStamp:
        self._prepare_ends(ends)
        self._shut[kind, target] = frozenset(ends)
        return self._stamp(kind, target, self._filters.switch(dict.fromkeys(ends, False)), live=False)

    def _open(self, key: tuple[str, str]) -> tuple[float, float]:
        """Switch off the drop filters that no other failure needs."""
        ends = self._shut.pop(key)
        still = frozenset().union(*self._shut.values()) if self._shut else frozenset()
        return self._filters.switch(dict.fromkeys(ends - still, True))

    def _stamp(self, kind: str, target: str, times: tuple[float, float], *, live: bool) -> InjectionStamp:
        return self._network.note_injection(kind, target, times[0], times[1], live=live)
