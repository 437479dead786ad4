"""1+1 protection of one node: its packet program, attached to interfaces of a namespace, and the state of its ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from types import TracebackType

from dataplane.decide.protect import (
    INDEX,
    NodeCounters,
    PortUse,
    ReceivingEnd,
    SendingEnd,
    assign_slots,
    empty_sending,
    pack_flows,
    pack_node,
    pack_port,
    pack_receiving,
    pack_sending,
    sum_counters,
    unpack_receiving,
    unpack_sending,
)
from dataplane.devices import interface_index
from dataplane.loader import LoadedObject, RunTime, attach_ingress, detach_ingress, find_program_object
from dataplane.model.flow_match import FlowMatch
from dataplane.model.protection_node import Connection, to_node
from dataplane.model.sequence import Egress, Ingress
from dataplane.model.tunnel_header import PROTOCOL
from machine.places import CommandError, call_inside
from mininet_topos.errors import BadInputError

PROGRAM_OBJECT = "protect"
_ONLY = INDEX.pack(0)


class ProtectNode:
    """A node of 1+1 protection in a network namespace; its programs go when it is closed, or with the namespace.

    Parameters
    ----------
    pid
        A process in the namespace.
    address
        The node's own address.
    connections
        All connections of the network, or those that begin or end at the node.
    flows : sequence of (FlowMatch, Connection)
        Protected flows that the program is to match by itself; empty where a bridge matches them.
    slots
        VLAN ids by which the bridge names connections; default: the lowest that are free.
    protocol
        The IP protocol number of protected packets.
    fresh
        A receiving end that has received nothing, with its window and history; default: the paper's.

    Raises
    ------
    MissingRequirementError
        The program was not built, or libbpf is not installed.
    PacketProgramError
        The kernel refuses it.
    BadInputError
        A number is used twice at one receiving end, or a flow's connection begins elsewhere.
    """

    def __init__(
        self,
        pid: int,
        address: IPv4Address,
        connections: Iterable[Connection] = (),
        flows: Sequence[tuple[FlowMatch, Connection]] = (),
        *,
        slots: Mapping[Connection, int] | None = None,
        protocol: int = PROTOCOL,
        fresh: Egress | None = None,
    ) -> None:
        self._pid, self.address, self.protocol, self._fresh = pid, address, protocol, fresh or Egress()
        self._slots: dict[Connection, int] = {}
        self._ends: dict[int, Connection] = {}
        self._interfaces: list[int] = []
        self._known: dict[str, int] = {}
        self._table = 0
        self._object = LoadedObject(find_program_object(PROGRAM_OBJECT))
        try:
            self._sends, self._receives = self._object.map("sends"), self._object.map("receives")
            self.update(connections, flows, slots)
        except BaseException:
            self._object.close()
            raise

    # ---- interfaces
    def hairpin(self, device: str) -> None:
        """Serve a bridge through a virtual port, of which `device` is the inner end: all returns by where it came.

        Raises
        ------
        BadInputError
            There is no such interface.
        """
        index = interface_index(self._pid, device)
        self._attach(index, PortUse(plain=index, first=index, tags=True), "protect")

    def between(self, device: str, plain: str, paths: tuple[str, str], program: str = "protect") -> None:
        """Serve an interface without a bridge.

        Parameters
        ----------
        device
            Where packets come in.
        plain
            Where unprotected ones, and those whose protection ends here, go.
        paths : (str, str)
            Where both copies of protected ones go.
        program : {"protect", "forward"}
            `forward` sends everything to `plain`, to compare with.
        """
        index, out, first, second = (interface_index(self._pid, name) for name in (device, plain, *paths))
        self._attach(index, PortUse(out, first, second), program)

    def lead(self, device: str, plain: str | None) -> None:
        """Send unprotected packets of an interface another way from now on; one write into a map, some microseconds.

        Parameters
        ----------
        device
            Served by `between` with program `forward`.
        plain
            Where to; None loses them, so that nobody sees it: the link before `device` is down.
        """
        # No interface has number 0: the kernel throws away what is sent there.
        to = 0 if plain is None else self._index(plain)
        self._object.map("ports").set(INDEX.pack(self._index(device)), pack_port(PortUse(to, to)))

    def _index(self, device: str) -> int:
        if device not in self._known:
            self._known[device] = interface_index(self._pid, device)
        return self._known[device]

    def _attach(self, index: int, use: PortUse, program: str) -> None:
        self._object.map("ports").set(INDEX.pack(index), pack_port(use))
        call_inside(self._pid, lambda: attach_ingress(self._object.program(program), index))
        if index not in self._interfaces:
            self._interfaces.append(index)

    # ---- connections and flows
    def update(
        self,
        connections: Iterable[Connection],
        flows: Sequence[tuple[FlowMatch, Connection]] = (),
        slots: Mapping[Connection, int] | None = None,
    ) -> None:
        """Have these connections, flows and slots from now on; ends of connections that stay keep numbers and counters.

        Raises
        ------
        BadInputError
            A number is used twice at one receiving end, or a flow's connection begins elsewhere; nothing has changed.
        """
        connections = list(dict.fromkeys(connections))
        to_node(self.address, flows, connections, self._fresh)
        chosen = assign_slots(self._slots, (one for one in connections if one.ingress == self.address), slots)
        ends = {one.number: one for one in connections if one.egress == self.address}
        table = pack_flows(flows, chosen)
        for number, one in ends.items():
            if self._ends.get(number) != one:
                self._write_receiving(number, ReceivingEnd(one.ingress, self._fresh))
        sending = self.sending()
        for one, slot in chosen.items():
            if self._slots.get(one) != slot:
                end = sending.get(one, SendingEnd(one.egress, one.number, Ingress()))
                self._sends.set(INDEX.pack(slot), pack_sending(end))
        # Packets look at one table while the other is written.
        self._table = 1 - self._table
        self._object.map("flows").set(INDEX.pack(self._table), table)
        self._object.map("nodes").set(_ONLY, pack_node(self.address, self.protocol, self._table))
        for slot in set(self._slots.values()) - set(chosen.values()):
            self._sends.set(INDEX.pack(slot), empty_sending())
        for number in set(self._ends) - set(ends):
            self._receives.delete(INDEX.pack(number))
        self._slots, self._ends = chosen, ends

    def slot(self, connection: Connection) -> int:
        """VLAN id that stands for a connection on the hairpin.

        Raises
        ------
        BadInputError
            It does not begin at this node.
        """
        if connection not in self._slots:
            raise BadInputError(
                f"connection {connection.number} to {connection.egress} does not begin at {self.address}: "
                f"{len(self._slots)} connections do"
            )
        return self._slots[connection]

    # ---- counters and numbers
    def sending(self) -> dict[Connection, SendingEnd]:
        """Sending ends of this node, as the kernel holds them now."""
        found = {one: unpack_sending(self._sends.get(INDEX.pack(slot)) or b"") for one, slot in self._slots.items()}
        return {one: end for one, end in found.items() if end is not None}

    def receiving(self) -> dict[Connection, ReceivingEnd]:
        """Receiving ends of this node, as the kernel holds them now."""
        found = {one: self._receives.get(INDEX.pack(number), locked=True) for number, one in self._ends.items()}
        return {one: unpack_receiving(data) for one, data in found.items() if data is not None}

    def set_sending(self, connection: Connection, ingress: Ingress) -> None:
        """Set the last number given, for a connection whose other end knows better (`after_ingress_restart`)."""
        slot = self.slot(connection)
        end = replace(self.sending()[connection], ingress=ingress)
        self._sends.set(INDEX.pack(slot), pack_sending(end))

    def set_receiving(self, connection: Connection, egress: Egress) -> None:
        """Set the last number accepted, and the history (`after_egress_restart`); counters stay.

        Raises
        ------
        BadInputError
            The connection does not end at this node.
        """
        before = self.receiving().get(connection)
        if before is None:
            raise BadInputError(f"connection {connection.number} does not end at {self.address}: set it at its end")
        counted = replace(egress, accepted=before.egress.accepted, late=before.egress.late)
        self._write_receiving(connection.number, replace(before, egress=counted))

    def _write_receiving(self, number: int, end: ReceivingEnd) -> None:
        self._receives.set(INDEX.pack(number), pack_receiving(end), locked=True)

    def counters(self) -> NodeCounters:
        """What the node has done with packets since it was made."""
        totals = self._object.map("totals").get(_ONLY)
        return sum_counters(self.sending().values(), self.receiving().values(), totals or b"")

    def run_time(self, program: str = "protect") -> RunTime:
        """How long the program has run on all interfaces, while the kernel counted (`loader.run_time_statistics`)."""
        return self._object.program(program).run_time()

    def close(self) -> None:
        """Take the programs from all interfaces that are still there."""
        interfaces, self._interfaces = self._interfaces, []
        try:
            call_inside(self._pid, lambda: detach_ingress(interfaces))
        except CommandError:
            pass  # the namespace is gone, and its interfaces with it
        finally:
            self._object.close()

    def __enter__(self) -> ProtectNode:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
