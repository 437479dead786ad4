"""How a real Open vSwitch splits flows over the tunnels of a pair: frames into a private switch, captures out.

Each flow is one packet. Only the ingress switch of the pair is real: it alone decides. What it sends is read from the
captures that its dummy ports write, so the tunnel of every single flow is known, before and after a tunnel failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from random import Random

from experiments.analysis.frames import FILE_HEADER_BYTES
from experiments.verify.against_ovs.decide.split import (
    PROTOCOLS,
    FlowPorts,
    Moves,
    Split,
    labelled_flows,
    moves_of,
    split_of,
)
from experiments.verify.against_ovs.dummy_ovs import DummyOvs, dummy_ovs, port_name
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.ids import KIND_MASK, Kind, cookie
from ryu_apps.plan.kuijia.commodities import label_key
from ryu_apps.plan.kuijia.ingress import IngressEntry, select_group
from ryu_apps.plan.kuijia.plan import TunnelPlanner

_FIRST_PORT, _LAST_PORT = 1024, 65535
MAX_FLOWS = 1_000_000
_ROUNDS = 50  # a new port drops frames until the switch has looked at it for the first time


@dataclass(frozen=True, slots=True)
class Spread:
    """What became of the flows of one pair, of one protocol.

    Attributes
    ----------
    split
        While all tunnels live.
    failures
        For each tunnel that fails while the others live, where the scheme recovers.
    unrepaired
        Flows that are elsewhere than at first once every failure has been repaired.
    """

    split: Split
    failures: tuple[Moves, ...] = ()
    unrepaired: int = 0


def draw_flows(count: int, seed: int) -> tuple[FlowPorts, ...]:
    """Different flows with both ports drawn at random.

    Raises
    ------
    BadInputError
        Too many flows, or none.
    """
    if not 0 < count <= MAX_FLOWS:
        raise BadInputError(f"{count} flows cannot be drawn; give 1 to {MAX_FLOWS:,}")
    random = Random(seed)
    found: dict[FlowPorts, None] = {}
    while len(found) < count:
        found[FlowPorts(random.randint(_FIRST_PORT, _LAST_PORT), random.randint(_FIRST_PORT, _LAST_PORT))] = None
    return tuple(found)


def measure_spread(
    planner: TunnelPlanner, ingress_entry: IngressEntry, protocol: str, flows: Sequence[FlowPorts]
) -> Spread:
    """Send flows of a pair through its real ingress switch: as planned, after each tunnel failed, and after its repair.

    Parameters
    ----------
    ingress_entry : Ingress entry
        The pair as its ingress switch sees it.
    protocol : {"tcp", "udp"}

    Raises
    ------
    MissingRequirementError
        Open vSwitch is not installed.
    ArmorError
        The switch lost packets again and again.
    """
    weights = ingress_entry.commodity.weights
    with _ingress(planner, ingress_entry, protocol) as ingress:
        before = ingress.send(flows)
        failures = []
        for down in range(len(weights)) if planner.failover.recovers and len(weights) > 1 else ():
            with ingress.failed_tunnel(down):
                failures.append(moves_of(before, ingress.send(flows), down, weights))
        repaired = ingress.send(flows) if failures else before
    unrepaired = sum(repaired[flow] != tunnel for flow, tunnel in before.items())
    return Spread(split_of(before, weights), tuple(failures), unrepaired)


@contextmanager
def _ingress(planner: TunnelPlanner, ingress_entry: IngressEntry, protocol: str) -> Iterator[_Ingress]:
    node = ingress_entry.commodity.src
    dpid = dpid_of(planner.topology, node)
    ports = planner.wiring.ports.port_of
    links = [ports[direction] for direction in ports if direction.src == node]
    with dummy_ovs() as switch:
        captures = {port_no: switch.directory / f"{port_no}.pcap" for port_no in links}
        switch.add_bridges({dpid: [HOST_PORT, *links]})
        switch.capture({(dpid, port_no): path for port_no, path in captures.items()})
        switch.install(planner.plans()[dpid])
        yield _Ingress(switch, dpid, planner, ingress_entry, protocol, tuple(captures.values()))


@dataclass(frozen=True)
class _Ingress:
    """The real switch where a pair's traffic enters."""

    switch: DummyOvs
    dpid: int
    planner: TunnelPlanner
    ingress_entry: IngressEntry
    protocol: str
    captures: tuple[Path, ...]

    def send(self, flows: Sequence[FlowPorts]) -> dict[FlowPorts, int]:
        """The tunnel that each flow takes; one packet each, again for those that were lost at the switch's door."""
        paths = self.ingress_entry.commodity.paths
        tunnel_of = {self.planner.labels[label_key(path)]: number for number, path in enumerate(paths)}
        read = [path.stat().st_size if path.exists() else 0 for path in self.captures]
        seen: dict[FlowPorts, int] = {}
        for _ in range(_ROUNDS):
            missing = [flow for flow in flows if flow not in seen]
            if not missing:
                return seen
            for flow in missing:
                self.switch.control.run("netdev-dummy/receive", port_name(self.dpid, HOST_PORT), self._frame(flow))
            self.switch.control.settle()
            seen |= {flow: tunnel_of[label] for flow, label in self._sent_since(read)}
        raise ArmorError(f"{len(flows) - len(seen)} of {len(flows)} flows never left the switch; measure fewer")

    def _sent_since(self, read: Sequence[int]) -> Iterator[tuple[FlowPorts, int]]:
        """What the captures hold behind these offsets."""
        for path, known in zip(self.captures, read, strict=True):
            data = path.read_bytes()
            header = data[:FILE_HEADER_BYTES]
            yield from labelled_flows(header + data[max(known, FILE_HEADER_BYTES) :])

    @contextmanager
    def failed_tunnel(self, down: int) -> Iterator[None]:
        """Rows (or the group) as they are while one tunnel is down; as before at the end."""
        if self.planner.options.split == "select":
            whole, rest = (
                select_group(self.ingress_entry, self.planner.wiring, gone) for gone in (frozenset(), frozenset({down}))
            )
            self.switch.modify_group(self.dpid, rest)
            self.switch.revalidate()
            yield
            self.switch.modify_group(self.dpid, whole)
        else:
            owner = self.planner.owner
            self.switch.add_flows(
                self.dpid, self.planner.ingress_entry_rows(self.ingress_entry, [frozenset({down})], Kind.AGENT)
            )
            self.switch.revalidate()
            yield
            self.switch.delete_flows(self.dpid, f"cookie={cookie(owner, Kind.AGENT):#x}/{KIND_MASK:#x}")
        self.switch.revalidate()

    def _frame(self, flow: FlowPorts) -> str:
        """In the syntax of `netdev-dummy/receive`."""
        source = self.planner.prefixes[self.ingress_entry.commodity.src][0].ipv4
        target = self.ingress_entry.prefixes[0].ipv4
        return (
            "in_port(1),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800),"
            f"ipv4(src={IPv4Address(source)},dst={IPv4Address(target)},proto={PROTOCOLS[self.protocol]},"
            f"tos={(self.ingress_entry.traffic.dscp or 0) << 2},ttl=64,frag=no),"
            f"{self.protocol}(src={flow.source},dst={flow.destination})"
        )
