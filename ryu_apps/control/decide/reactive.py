"""Paths of single flows, asked for by their first packets: PSO's "rules of the later switches are known" (D2).

The first packet of a flow makes its ingress switch ask. The controller knows the topology, so it can give every later
switch its rule at once (Kasabai et al., KSII TIIS 13(2), 2019, section 5.1: the time to acquire rules is then no part
of a later hop's delay D2). Otherwise each switch on the way asks by itself: H packet-ins for H switches instead of one.

Laws, each held by a test: a switch gets the very rule that it would have got by asking; later switches come first;
a flow that has asked is not answered with rules again while the first answer is on its way.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field

from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.ids import Kind, Owner, Priority, Table, cookie
from ryu_apps.plan.recovery_rows import ETH_TYPE_IPV4
from ryu_apps.plan.rows import FlowRow, Match, Output
from ryu_apps.pmt.frame import frame_fields
from te_solver.routes import NO_LINK, ResidualRoutes

# Both are known of every unfragmented packet, so that a Policy Map Table gives rule and packet-in the same class.
_FLOW_FIELDS = ("eth_type", "ip_proto", "ipv4_dst", "ipv4_src", "tcp_dst", "tcp_src", "udp_dst", "udp_src")
SETTLE_S = 0.5  # packets that were under way when the rules left need no rules of their own
LONGEST_WAIT_S = 2.0  # a switch that has not confirmed by then holds up no packet any more
MAX_HELD, MAX_WAITING = 16, 4096


@dataclass(frozen=True, slots=True)
class Hop:
    """One switch of a path, and the port by which it sends on."""

    dpid: int
    port_no: int


@dataclass(frozen=True, slots=True)
class Install:
    """Give a switch a rule."""

    dpid: int
    row: FlowRow


@dataclass(frozen=True, slots=True)
class Release:
    """Let a switch send a packet on."""

    dpid: int
    in_port: int
    port_no: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Confirm:
    """Ask a switch to say when its rules hold; `PathSetup.confirmed` takes the answer."""

    dpid: int
    flow: Match
    asked_by: int


Action = Install | Release | Confirm


class Routes:
    """Next hops towards every host of a topology.

    Parameters
    ----------
    metric : {"hops", "delay"}
    """

    def __init__(self, topology: Topology, metric: str = "hops") -> None:
        self._residual = ResidualRoutes(topology, "spt", metric)
        self._port_of = assign_ports(topology).port_of
        self._position = {host.ipv4: at for at, host in enumerate(hosts_of(topology).values())}
        self._dpids = [dpid_of(topology, node) for node in topology.node_names]
        self._place_of = {dpid: at for at, dpid in enumerate(self._dpids)}
        self._index_of = topology.index_of

    def path(self, dpid: int, destination: int, failed: frozenset[LinkId] = frozenset()) -> tuple[Hop, ...]:
        """Switches from one that asks to the one at the destination; empty when there is no such way.

        Parameters
        ----------
        destination
            IPv4 address.
        """
        at, target = self._place_of.get(dpid), self._position.get(destination)
        if at is None or target is None:
            return ()
        table, hops = self._residual.next_links(failed), []
        while at != target:
            number = int(table[at, target])
            if number == NO_LINK:
                return ()
            link = self._residual.links[number]
            hops.append(Hop(self._dpids[at], self._port_of[link.direction]))
            at = self._index_of[link.dst]
        return (*hops, Hop(self._dpids[target], HOST_PORT))


def flow_of(frame: bytes) -> Match | None:
    """What tells a packet's flow from others: addresses, protocol, ports; None for anything but IPv4."""
    fields = frame_fields(frame)
    if fields.get("eth_type") != ETH_TYPE_IPV4 or "ipv4_dst" not in fields or fields["vlan_vid"]:
        return None
    return tuple((name, fields[name], None) for name in _FLOW_FIELDS if name in fields)


def rule(flow: Match, port_no: int) -> FlowRow:
    """The rule by which a switch sends a flow on."""
    owner = cookie(Owner.REACTIVE, Kind.PLANNED, 0, _destination(flow))
    return FlowRow(Table.CLASSIFY, Priority.PRIMARY, flow, (Output(port_no),), cookie=owner)


def _destination(flow: Match) -> int:
    return next(value for name, value, _ in flow if name == "ipv4_dst")


@dataclass(frozen=True, slots=True)
class Options:
    """How paths are set up.

    Attributes
    ----------
    whole_path
        Later switches get their rules with the first packet-in; False: every switch asks.
    confirm
        The first switch gets its rule when the later ones have said that theirs hold; False: right behind theirs.
    """

    whole_path: bool = True
    confirm: bool = False


@dataclass(slots=True)
class _Waiting:
    """A flow whose later switches have not all confirmed: for whom it waits, and its packets."""

    hop: Hop
    since_s: float
    missing: set[int]
    held: list[tuple[int, bytes]] = field(default_factory=list)


class PathSetup:
    """Which switch gets what when a switch asks."""

    def __init__(self, routes: Routes, options: Options) -> None:
        self._routes, self._options = routes, options
        self._waiting: dict[tuple[int, Match], _Waiting] = {}
        self._answered: OrderedDict[tuple[int, Match], float] = OrderedDict()
        self._failed: frozenset[LinkId] = frozenset()

    def asked(
        self, dpid: int, in_port: int, frame: bytes, connected: Collection[int], now_s: float
    ) -> tuple[Action, ...]:
        """What to do when a switch has sent a packet to the controller, in order.

        Parameters
        ----------
        dpid, in_port
            Where the packet came in.
        connected
            Connected switches.
        now_s
            Any clock that does not go back.
        """
        flow = flow_of(frame)
        path = () if flow is None else self._routes.path(dpid, _destination(flow), self._failed)
        overdue = self._overdue(now_s)
        if flow is None or not path:
            return overdue
        waiting = self._waiting.get((dpid, flow))
        if waiting is not None:
            if len(waiting.held) < MAX_HELD:
                waiting.held.append((in_port, frame))
            return overdue
        self._forget_settled(now_s)
        if (dpid, flow) in self._answered:
            return (*overdue, Release(dpid, in_port, path[0].port_no, frame))
        return (*overdue, *self._answer(flow, path, (in_port, frame), connected, now_s))

    def _answer(
        self, flow: Match, path: tuple[Hop, ...], packet: tuple[int, bytes], connected: Collection[int], now_s: float
    ) -> tuple[Action, ...]:
        first, later = path[0], path[1:] if self._options.whole_path else ()
        reached = [hop for hop in reversed(later) if hop.dpid in connected]
        for hop in reached:
            self._remember((hop.dpid, flow), now_s)
        rules: tuple[Action, ...] = tuple(Install(hop.dpid, rule(flow, hop.port_no)) for hop in reached)
        waiting = _Waiting(first, now_s, {hop.dpid for hop in reached}, [packet])
        if not reached or not self._options.confirm or len(self._waiting) >= MAX_WAITING:
            return (*rules, *self._open(flow, waiting, now_s))
        self._waiting[first.dpid, flow] = waiting
        return (*rules, *(Confirm(hop.dpid, flow, first.dpid) for hop in reached))

    def confirmed(self, confirm: Confirm, now_s: float) -> tuple[Action, ...]:
        """What to do when a switch has said that the rules before a `Confirm` hold."""
        waiting = self._waiting.get((confirm.asked_by, confirm.flow))
        if waiting is None:
            return ()
        waiting.missing.discard(confirm.dpid)
        return () if waiting.missing else self._finish((confirm.asked_by, confirm.flow), now_s)

    def switch_gone(self, dpid: int, now_s: float) -> tuple[Action, ...]:
        """What to do when a switch has gone: nobody waits for it, and its own rules are forgotten."""
        for key in [key for key in (*self._waiting, *self._answered) if key[0] == dpid]:
            self._waiting.pop(key, None)
            self._answered.pop(key, None)
        found: list[Action] = []
        for key, waiting in tuple(self._waiting.items()):
            waiting.missing.discard(dpid)
            if not waiting.missing:
                found += self._finish(key, now_s)
        return tuple(found)

    def links_failed(self, failed: frozenset[LinkId]) -> bool:
        """Route around these links from now on; whether that differs from before, so that all rules have to go."""
        if failed == self._failed:
            return False
        self._failed = failed
        self._answered.clear()
        self._waiting.clear()  # the packets were to go by a way that is no more: their senders retransmit
        return True

    def _finish(self, key: tuple[int, Match], now_s: float) -> tuple[Action, ...]:
        return self._open(key[1], self._waiting.pop(key), now_s)

    def _open(self, flow: Match, waiting: _Waiting, now_s: float) -> tuple[Action, ...]:
        """The first switch's rule, then the packets that made it ask."""
        hop = waiting.hop
        self._remember((hop.dpid, flow), now_s)
        packets = (Release(hop.dpid, in_port, hop.port_no, frame) for in_port, frame in waiting.held)
        return (Install(hop.dpid, rule(flow, hop.port_no)), *packets)

    def _overdue(self, now_s: float) -> tuple[Action, ...]:
        """Flows whose later switches stay silent; they are in the order of their asking."""
        found: list[Action] = []
        while self._waiting:
            key, waiting = next(iter(self._waiting.items()))
            if now_s - waiting.since_s < LONGEST_WAIT_S:
                break
            found += self._finish(key, now_s)
        return tuple(found)

    def _remember(self, key: tuple[int, Match], now_s: float) -> None:
        self._answered[key] = now_s
        self._answered.move_to_end(key)

    def _forget_settled(self, now_s: float) -> None:
        while self._answered and now_s - next(iter(self._answered.values())) >= SETTLE_S:
            self._answered.popitem(last=False)
