"""What a module needs that describes a scheme of one's own: `examples/own_scheme` uses it (docs/schemes.md)."""

from __future__ import annotations

from mininet_topos.ports import HOST_PORT, PortMap, assign_ports
from mininet_topos.topology import Direction, Link, LinkId, Node, Topology
from ryu_apps.plan import rows
from ryu_apps.plan.addressing import Host, dpid_of, hosts_of
from ryu_apps.plan.guarantees import Promise
from ryu_apps.plan.ids import VLAN_PRESENT, Kind, Priority, Table, cookie, pair_group, port_group, ports_group
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import ANY_TAG, ETH_TYPE_IPV4, FORGET_IN_PORT, UNTAGGED
from ryu_apps.plan.restoration import Restoration
from ryu_apps.plan.scheme import Scheme

__all__ = [
    "ANY_TAG",
    "ETH_TYPE_IPV4",
    "FORGET_IN_PORT",
    "HOST_PORT",
    "UNTAGGED",
    "VLAN_PRESENT",
    "Direction",
    "Host",
    "Kind",
    "Link",
    "LinkId",
    "Node",
    "PlanOptions",
    "PortMap",
    "Priority",
    "Promise",
    "Restoration",
    "Scheme",
    "Table",
    "Topology",
    "assign_ports",
    "cookie",
    "dpid_of",
    "hosts_of",
    "pair_group",
    "port_group",
    "ports_group",
    "rows",
]
