"""In-band rows for people: as one bundle that ovs-ofctl takes, and the commands that set up a plain switch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address

from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import CONTROL_BITS, control_ipv4, dpid_of, local_ipv4, local_mac
from ryu_apps.plan.ids import OFPP_LOCAL
from ryu_apps.plan.in_band.values import Channel, InBandPlan
from ryu_apps.plan.row_text import flow_text, group_text, value_text
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.text import Names, names_of


def bundle_text(plan: RulePlan) -> str:
    """What `ovs-ofctl -O OpenFlow13 bundle SWITCH -` reads; given again it changes nothing."""
    groups = (f"group add_or_mod {group_text(row)}\n" for row in plan.groups)
    return "".join((*groups, *(f"flow add {flow_text(row)}\n" for row in plan.flows)))


def control_names(topology: Topology, node: str, channel: Channel) -> Names:
    """Names of one switch's ports and of all ends of the control network."""
    names = names_of(topology, node)
    ports = {**names.ports, OFPP_LOCAL: "the switch itself"}
    if node == channel.controller_at:
        ports[channel.controller_port] = "the controller"
    ends = {control_ipv4(dpid_of(topology, each)): f"switch {each}" for each in topology.node_names}
    return replace(names, ports=ports, hosts={**names.hosts, **ends, channel.controller_ipv4: "the controller"})


def script_text(topology: Topology, channel: Channel, plan: InBandPlan, nodes: Sequence[str]) -> str:
    """Shell commands for some switches of a plan, best in the order in which they can be reached over the network.

    Bridges are called like the switches of the topology; the controller has to be set before the rows, since Open
    vSwitch empties a bridge that gets its first one.
    """
    controller = (
        f"# the controller: behind port {channel.controller_port} of {channel.controller_at}, with address "
        f"{IPv4Address(channel.controller_ipv4)}/{CONTROL_BITS} and MAC {value_text('eth_dst', channel.controller_mac)}"
    )
    lines = (line for node in nodes for line in _commands(topology, channel, plan, node))
    return "\n".join((controller, *lines))


def _commands(topology: Topology, channel: Channel, plan: InBandPlan, node: str) -> Iterator[str]:
    number = dpid_of(topology, node)
    rows = plan.plans[number]
    target = f"tcp:{IPv4Address(channel.controller_ipv4)}:{channel.services[0].tcp_port}"
    yield f"# {node}: {plan.order.index(node) + 1} of {len(plan.order)}, on the switch itself"
    yield (
        f"ovs-vsctl set bridge {node} fail_mode=secure protocols=OpenFlow13 other_config:disable-in-band=true "
        f"other_config:hwaddr={local_mac(number)}"
    )
    yield f"ovs-vsctl set-controller {node} {target} -- set controller {node} connection_mode=out-of-band"
    yield f"ip address replace {local_ipv4(number)} dev {node}"
    yield f"ip link set {node} up"
    yield f"ovs-ofctl -O OpenFlow13 bundle {node} - <<'ROWS'"
    yield bundle_text(rows).rstrip("\n")
    yield "ROWS"
