"""How a real Open vSwitch splits flows over tunnels: real frames into a private switch, port counters out.

Each flow is one packet. The network is `fan`: one pair of switches, each tunnel leaves by a port of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from random import Random

from scipy.stats import chi2

from experiments.against_ovs.dummy_ovs import DummyOvs, dummy_ovs, port_name
from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.errors import ArmorError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.fields import IP_TCP, IP_UDP
from ryu_apps.plan.kuijia.commodities import Commodity
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import plan_tunnels

PROTOCOLS = {"tcp": IP_TCP, "udp": IP_UDP}
_PORT_COUNTER = re.compile(r"port +(\d+): rx.*?tx pkts=(\d+)", re.DOTALL)
_FIRST_PORT, _LAST_PORT = 1024, 65535
_BURST, _LOOKS = 64, 50


@dataclass(frozen=True, slots=True)
class Split:
    """How many flows took which tunnel.

    Attributes
    ----------
    weights : tuple of float
        What was asked for; they sum to 1.
    flows : tuple of int
        Flows by tunnel.
    """

    weights: tuple[float, ...]
    flows: tuple[int, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """Fraction of the flows by tunnel."""
        return tuple(count / sum(self.flows) for count in self.flows)

    @property
    def worst_error(self) -> float:
        """Largest distance of a share from its weight."""
        return max(abs(share - weight) for share, weight in zip(self.shares, self.weights, strict=True))

    @property
    def chi_square(self) -> float:
        """Pearson's statistic of the counts against the weights; tunnels of weight 0 do not count."""
        expected = [weight * sum(self.flows) for weight in self.weights]
        return sum((count - mean) ** 2 / mean for count, mean in zip(self.flows, expected, strict=True) if mean)

    @property
    def p_value(self) -> float:
        """Chance of a statistic at least this large, were every flow's slot drawn by lot."""
        return float(chi2.sf(self.chi_square, sum(weight > 0 for weight in self.weights) - 1))


def measure_split(
    weights: Sequence[float], protocol: str, split: str = "ranges", flows: int = 1000, seed: int = 1
) -> Split:
    """Send flows from one host to another, told apart by their ports alone, and count the ports that they leave by.

    Parameters
    ----------
    weights : sequence of float
        One a tunnel.
    protocol : {"tcp", "udp"}
    split : {"ranges", "select"}
        Hash ranges, or a SELECT group.
    flows : int
    seed : int

    Raises
    ------
    MissingRequirementError
        Open vSwitch is not installed.
    ArmorError
        The switch lost packets, so the counts mean nothing.
    """
    topology = _fan(len(weights))
    paths = tuple((Direction("s1", "s2", key),) for key in range(len(weights)))
    commodity = Commodity("s1", "s2", paths, tuple(weights))
    plan = plan_tunnels("te", topology, (commodity,), TunnelOptions(split=split))[1]
    ports = assign_ports(topology).port_of
    with dummy_ovs() as switch:
        switch.add_bridges({1: [HOST_PORT, *(ports[path[0]] for path in paths)]})
        switch.install(plan)
        counts = _send(switch, [ports[path[0]] for path in paths], list(_frames(topology, protocol, flows, seed)))
    if sum(counts) != flows:
        raise ArmorError(f"{flows} flows were sent and {sum(counts)} left the switch; measure again with fewer")
    return Split(tuple(weight / sum(weights) for weight in weights), counts)


def _fan(n_links: int) -> Topology:
    return from_edges("fan", numbered_nodes(["s1", "s2"]), ((1, 2),) * n_links, capacity_mbps=10.0, delay_ms=1.0)


def _frames(topology: Topology, protocol: str, count: int, seed: int) -> Iterator[str]:
    """Frames of different flows in the syntax of `netdev-dummy/receive`."""
    random = Random(seed)
    source, target = (IPv4Address(host.ipv4) for host in hosts_of(topology).values())
    for _ in range(count):
        ports = [random.randint(_FIRST_PORT, _LAST_PORT) for _ in range(2)]
        yield (
            "in_port(1),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800),"
            f"ipv4(src={source},dst={target},proto={PROTOCOLS[protocol]},tos=0,ttl=64,frag=no),"
            f"{protocol}(src={ports[0]},dst={ports[1]})"
        )


def _send(switch: DummyOvs, port_nos: list[int], frames: list[str]) -> tuple[int, ...]:
    """Packets that left by each port because of these frames.

    A new port drops what comes before the switch looks at it for the first time, hence the first frames that do not
    count; it holds 100 frames that have not been looked at, hence bursts, each followed to the counters.
    """
    before: tuple[int, ...] = ()
    for _ in range(_LOOKS):
        switch.control.run("netdev-dummy/receive", port_name(1, HOST_PORT), frames[0])
        before = _sent(switch, port_nos)
        if any(before):
            break
    now = before
    for first in range(0, len(frames), _BURST):
        burst = frames[first : first + _BURST]
        for frame in burst:
            switch.control.run("netdev-dummy/receive", port_name(1, HOST_PORT), frame)
        wanted = sum(now) + len(burst)
        for _ in range(_LOOKS):
            now = _sent(switch, port_nos)
            if sum(now) >= wanted:
                break
    return tuple(after - then for after, then in zip(now, before, strict=True))


def _sent(switch: DummyOvs, port_nos: list[int]) -> tuple[int, ...]:
    """Packets sent so far by each port."""
    switch.control.settle()
    sent = {int(port): int(count) for port, count in _PORT_COUNTER.findall(switch.port_counters(1))}
    return tuple(sent[port_no] for port_no in port_nos)
