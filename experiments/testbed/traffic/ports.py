"""Source ports that put flows into their tunnels, found by asking the ingress switches: hashes are their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address
from random import Random
from typing import TYPE_CHECKING

from experiments.analysis.flows.placing import Failures, dscp_of, find_ingress_entry, place, wanted_slots
from experiments.scenario.flow_values import FIRST_PORT, Flow, Placed
from machine.unixctl import UnixCtl
from mininet_topos.errors import ArmorError
from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.addressing import Host
from ryu_apps.plan.kuijia.plan import TunnelPlanner

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

# Below the ports of servers, and below those that the kernel gives out, which may be taken by iperf3's own connections.
SOURCE_PORTS = range(3_000, FIRST_PORT)
# A range of one slot in 1,024 is missed by so many tries once in e^8 times.
MOST_TRIES = 8192
_SLOT = re.compile(r"^Final flow:.*?\breg0=0x([0-9a-f]+)", re.MULTILINE)
_DSCP_SHIFT = 2


class NoPortError(ArmorError):
    """No source port puts a flow into its tunnel."""


def place_flows(
    network: EmulatedNetwork, planner: TunnelPlanner, flows: Iterable[Flow], failures: Failures, seed: int
) -> tuple[Placed, ...]:
    """Source ports of all flows, asked of the switches that hold the planner's rows.

    Parameters
    ----------
    network
        Running, with its plans installed and nothing broken.
    failures : sequence of frozenset of LinkId
        What is going to fail, one set for each moment.
    seed
        Of the order in which ports are tried.

    Raises
    ------
    BadInputError
        A flow asks for what the scheme never does.
    NoPortError
        Thousands of ports have been tried.
    """
    flows = tuple(flows)
    control_of = {site.name: group.vswitchd_control for group in network.groups for site in group.sites}
    taken: set[tuple[str, int]] = set()
    found: dict[str, Placed] = {}
    for node in dict.fromkeys(flow.source for flow in flows):
        with UnixCtl(control_of[node]) as control:
            for flow in (flow for flow in flows if flow.source == node):
                placed = _find(
                    control,
                    network.sites[node].bridge,
                    network.hosts,
                    planner,
                    flow,
                    failures=failures,
                    seed=seed,
                    taken=taken,
                )
                taken.add((node, placed.source_port))
                found[flow.name] = placed
    return tuple(found[flow.name] for flow in flows)


def unplaced(flows: Sequence[Flow]) -> tuple[Placed, ...]:
    """Flows of a scheme without tunnels: any port does."""
    return tuple(Placed(flow, SOURCE_PORTS[number]) for number, flow in enumerate(flows))


def _find(
    control: UnixCtl,
    bridge: str,
    hosts: Mapping[str, Host],
    planner: TunnelPlanner,
    flow: Flow,
    *,
    failures: Failures,
    seed: int,
    taken: set[tuple[str, int]],
) -> Placed:
    wanted = frozenset(wanted_slots(planner, flow, failures))
    dscp = dscp_of(find_ingress_entry(planner, flow))
    for port in _ports(flow, seed):
        if (flow.source, port) in taken:
            continue
        slot = slot_of(control.run("ofproto/trace", bridge, packet_of(hosts, flow, port, dscp)))
        if slot in wanted:
            return place(planner, flow, slot, port, failures)
    raise NoPortError(
        f"{MOST_TRIES} source ports were tried and none puts flow {flow.name!r} into tunnel {flow.tunnel}; it holds "
        f"{len(wanted)} of the slots, so give its tunnel a larger weight"
    )


def _ports(flow: Flow, seed: int) -> Iterator[int]:
    random = Random(f"{seed} {flow.name}")
    return iter(random.sample(SOURCE_PORTS, MOST_TRIES))


def packet_of(hosts: Mapping[str, Host], flow: Flow, source_port: int, dscp: int) -> str:
    """A packet of a flow in the syntax of `ofproto/trace`."""
    source, destination = (IPv4Address(hosts[node].ipv4) for node in (flow.source, flow.destination))
    return (
        f"in_port={HOST_PORT},{flow.transport},nw_src={source},nw_dst={destination},nw_ttl=64,"
        f"nw_tos={dscp << _DSCP_SHIFT},{flow.transport}_src={source_port},{flow.transport}_dst={flow.port}"
    )


def slot_of(traced: str) -> int:
    """The slot that `ofproto/trace` found (register 0 in the end; one that is 0 is not printed).

    Raises
    ------
    ArmorError
        The output has no final flow: the switch said something else.
    """
    if "Final flow:" not in traced:
        raise ArmorError(f"the switch traces no flow; it says: {' '.join(traced.split())[:200] or 'nothing'}")
    found = _SLOT.search(traced)
    return int(found[1], 16) if found else 0
