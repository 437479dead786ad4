"""A plan as text for people: one row per line, canonical, with a comment that says what the row is for.

The rows are those of `row_text`, so flow lines can be fed to `ovs-ofctl add-flows`, comments and all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from mininet_topos.ports import assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.diff import groups_by_id
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.hash_ranges import N_SLOTS
from ryu_apps.plan.ids import ALWAYS_LIVE_GROUP, OFPP_IN_PORT, VLAN_PRESENT, Status, Table, split_cookie
from ryu_apps.plan.notification import cache_row
from ryu_apps.plan.order import canonical
from ryu_apps.plan.recovery_rows import split_tci
from ryu_apps.plan.row_text import flow_text, group_text, value_text
from ryu_apps.plan.rows import (
    Action,
    BackupRow,
    Controller,
    ExtensionRow,
    FlowRow,
    Group,
    GroupRow,
    Learn,
    Load,
    Output,
    Recirculate,
    Resubmit,
    RulePlan,
    SetField,
    SetQueue,
)

__all__ = ["Names", "flow_text", "group_text", "names_of", "plan_text"]

TABLE_PURPOSES: dict[int, str] = {
    Table.CLASSIFY: "guards; where it decides alone: primary routes and delivery",
    Table.ROUTE: "routes by (tag, destination)",
    Table.EXTEND: "a failed port adds its link to the tag, then ROUTE again",
    Table.LEARNED: "filled by learn: what this switch has learned about failures from packets",
    Table.NOTIFY: "notifications: teaches what a failed set asks for here, and sends on; a learned row drops the next",
    Table.TE_INGRESS: "traffic engineering: hashes a flow to a slot",
    Table.TE_HASH: "traffic engineering: slot ranges to tunnels",
    Table.TE_TRANSIT: "traffic engineering: packets in tunnels",
}
_STATUSES = {0: "", **{int(status): f" ({status.name.lower()})" for status in Status}}
_COMMENT_COLUMN = 100
_LAST_SLOT = N_SLOTS - 1


@dataclass(frozen=True)
class Names:
    """What people call the things that a plan numbers; an empty one leaves the numbers.

    Attributes
    ----------
    title
        The switch, for the first line.
    ports
        Port number to what is behind it.
    hosts
        IPv4 address to the host's name and place.
    links
        Link numbers, as failure sets count them, to link names.
    """

    title: str = ""
    ports: dict[int, str] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()


def names_of(topology: Topology, node: str) -> Names:
    """Names as one switch of a topology sees them."""
    places = {
        each.name: each.name if each.label in ("", each.name) else f"{each.name} {each.label}"
        for each in topology.nodes
    }
    hosts = hosts_of(topology)
    ports = {hosts[node].port_no: f"host {hosts[node].name}"}
    for (name, port_no), direction in assign_ports(topology).direction_at.items():
        if name == node:
            ports[port_no] = places[direction.dst] + (f" (link {direction.key})" if direction.key else "")
    return Names(
        places[node],
        ports,
        {host.ipv4: f"{host.name} at {places[host.node]}" for host in hosts.values()},
        tuple(map(str, topology.link_ids)),
    )


def plan_text(plan: RulePlan, names: Names | None = None) -> str:
    """A whole plan, canonical: the same plan gives the same text.

    Parameters
    ----------
    names
        From `names_of`; without it, comments hold numbers.
    """
    writer = _Writer(canonical(plan), names or Names())
    return "\n".join(writer.lines()) + "\n"


class _Writer:
    """The lines of one plan."""

    def __init__(self, plan: RulePlan, names: Names) -> None:
        self.plan = plan
        self.names = names
        self.sets = FailureSets(*plan.tag_space)
        self.groups = groups_by_id(plan)
        self.label = "tunnel" if any(row.table_id == Table.TE_TRANSIT for row in plan.flows) else "label"

    def lines(self) -> Iterator[str]:
        plan = self.plan
        counts = {"flows": plan.flows, "groups": plan.groups, "backup rows": plan.backups}
        held = ", ".join(f"{len(rows)} {name}" for name, rows in counts.items())
        yield f"# Switch {self.names.title or plan.node}, datapath {plan.dpid:016x}: {held}"
        yield from (
            f"#   port {value_text('in_port', port_no)}: {name}" for port_no, name in sorted(self.names.ports.items())
        )
        for table_id, rows in groupby(plan.flows, key=lambda row: row.table_id):
            yield from self._heading(f"Table {table_id} {_table_name(table_id)}", TABLE_PURPOSES.get(table_id, ""))
            yield from (_commented(flow_text(row), self._flow_comment(row)) for row in rows)
        if plan.groups:
            yield from self._heading("Groups", "fast failover (ff): the first bucket that is live")
            yield from (_commented(group_text(row), self._group_comment(row)) for row in plan.groups)
        if plan.backups:
            yield from self._heading("Backup rows", "where packets go that know of failed links; tag 0: primaries")
            yield from (_commented(_backup_line(row), self._backup_comment(row)) for row in plan.backups)
        if plan.extensions:
            yield from self._heading("Extensions", "a packet that meets one more failed port gets a larger tag")
            yield from (_commented(_extension_line(row), self._extension_comment(row)) for row in plan.extensions)
        for queue in plan.queues:
            lowest, highest = ("-" if rate is None else rate for rate in (queue.min_rate_mbps, queue.max_rate_mbps))
            rates = f"min {lowest} Mbit/s, max {highest} Mbit/s"
            yield f"queue port={queue.port_no},id={queue.queue_id}: priority {queue.priority}, {rates}"

    def _heading(self, title: str, purpose: str) -> Iterator[str]:
        yield "#"
        yield f"# {title}: {purpose}" if purpose else f"# {title}"

    def _flow_comment(self, row: FlowRow) -> str:
        exact = {name: value for name, value, mask in row.match if mask is None}
        parts = [f"to {self._host(exact['ipv4_dst'])}"] if "ipv4_dst" in exact else []
        parts += [f"from {self._host(exact['ipv4_src'])}"] if "ipv4_src" in exact else []
        if exact.get("vlan_vid", 0) & VLAN_PRESENT:
            parts.append(f"knows {self._failed(exact['vlan_vid'] & ~VLAN_PRESENT)}")
        parts += [f"meets failed port to {self._port(exact['reg2'])}"] if "reg2" in exact else []
        parts += [f"{self.label} {exact['mpls_label']}"] if "mpls_label" in exact else []
        if row.table_id == Table.TE_TRANSIT and "ip_dscp" in exact:
            parts.append(f"DSCP {exact['ip_dscp']}")
        if row.table_id == Table.TE_HASH:
            parts += self._share_words(row)
        if row.table_id == Table.NOTIFY:
            if row == cache_row(returning=False):
                return "no frame matches; when a link returns, this row discards the cached flows of notifications"
            return "; ".join([f"notification of {self._failed(split_cookie(row.cookie).tag_id)}", *self._notified(row)])
        parts += self._action_words((*row.apply_actions, *row.write_actions))
        if not (row.apply_actions or row.write_actions or row.goto_table is not None):
            parts.append("dropped")
        return "; ".join(parts)

    def _notified(self, row: FlowRow) -> Iterator[str]:
        """What a notification teaches here, and where it goes on."""
        learns = [each for each in row.apply_actions if isinstance(each, Learn) and each.table_id == Table.LEARNED]
        destinations = {split_cookie(each.cookie).destination for each in learns}
        yield f"teaches the tags to {len(destinations)} destinations" if learns else "teaches nothing"
        ports = [self._port(each.port_no) for each in row.apply_actions if isinstance(each, Output)]
        yield f"sent on by {', '.join(ports)}" if ports else "the next row of the set follows"

    def _share_words(self, row: FlowRow) -> list[str]:
        """Whose slots these are, and which."""
        slots = [(value, value | _LAST_SLOT & ~mask) for name, value, mask in row.match if name == "reg0" and mask]
        to_whom = [f"to {self._host(split_cookie(row.cookie).destination)}"]
        return to_whom + [f"slots {first} to {last}" for first, last in slots]

    def _group_comment(self, row: GroupRow) -> str:
        if row.group_id == ALWAYS_LIVE_GROUP:
            return "always live: what the last bucket of the others watches"
        words = [", ".join(self._action_words(bucket.actions)) or "drop" for bucket in row.buckets]
        return (", else " if row.group_type == "ff" else " | ").join(words)

    def _way_out(self, group: GroupRow) -> str:
        """Ports that a group may send by, without what it does when they are down."""
        sending = [bucket for bucket in group.buckets if any(isinstance(action, Output) for action in bucket.actions)]
        return self._group_comment(replace(group, buckets=tuple(sending)))

    def _action_words(self, actions: Iterable[Action]) -> list[str]:
        words = []
        for action in actions:
            if isinstance(action, Output):
                back = action.port_no == OFPP_IN_PORT
                words.append("back where it came from" if back else f"by {self._port(action.port_no)}")
            elif isinstance(action, Group) and action.group_id in self.groups:
                words.append(self._way_out(self.groups[action.group_id]))
            elif isinstance(action, Load) and action.field == "vlan_tci" and action.value & VLAN_PRESENT:
                words.append(f"tagged {self._tag(action.value)}")
            elif isinstance(action, Load) and action.field == "vlan_tci" and action.first_bit > 0:
                words.append(_STATUSES.get(action.value, f"status {action.value}").strip(" ()"))
            elif isinstance(action, SetField):
                name = {"mpls_label": self.label, "ip_dscp": "DSCP"}.get(action.field)
                words.append(f"{name} {action.value}" if name and action.value else "")
            elif isinstance(action, SetQueue):
                words.append(f"queue {action.queue_id}")
            elif isinstance(action, Resubmit):
                words.append(f"ask {_table_name(action.table_id)}")
            elif isinstance(action, Recirculate):
                words.append(f"a copy to {_table_name(action.table_id)}")
            elif isinstance(action, Controller):
                words.append("to the agent")
            elif isinstance(action, Learn):
                words.append("teaches")
        return [word for word in words if word]

    def _backup_comment(self, row: BackupRow) -> str:
        who = f"to {self._host(row.destination)}"
        who += "" if row.source is None else f" from {self._host(row.source)}"
        knows = f"; knows {self._failed(row.tag_id)}" if row.tag_id else ""
        return f"{who}{knows}; by {self._port(row.out_port)}{_STATUSES.get(row.status, '')}"

    def _extension_comment(self, row: ExtensionRow) -> str:
        knows = f"knows {self._failed(row.tag_id)}, " if row.tag_id else ""
        return f"{knows}meets failed port to {self._port(row.port_no)}: {self._failed(row.new_tag_id)}"

    def _host(self, ipv4: int) -> str:
        return self.names.hosts.get(ipv4, value_text("ipv4_dst", ipv4))

    def _port(self, port_no: int) -> str:
        return self.names.ports.get(port_no, f"port {port_no}")

    def _tag(self, tci: int) -> str:
        tag_id, status = split_tci(tci)
        return f"{self._failed(tag_id)}{_STATUSES.get(status, '')}"

    def _failed(self, tag_id: int) -> str:
        """The links of a set, by name where they have one."""
        if tag_id >= len(self.sets.masks):
            return f"tag {tag_id}"
        numbers = self.sets.numbers(tag_id)
        known = all(number < len(self.names.links) for number in numbers)
        return "{" + ", ".join(self.names.links[number] if known else f"link {number}" for number in numbers) + "}"


def _table_name(table_id: int) -> str:
    return Table(table_id).name if table_id in set(Table) else ""


def _commented(line: str, comment: str) -> str:
    return f"{line:{_COMMENT_COLUMN}}  # {comment}" if comment else line


def _backup_line(row: BackupRow) -> str:
    source = "" if row.source is None else f",nw_src={value_text('ipv4_src', row.source)}"
    parts = [f"tag={row.tag_id}", f"status={row.status}", f"out_port={row.out_port}"]
    parts += ["crosses"] if row.crosses else []
    parts += [f"replaces={'+'.join(map(str, row.replaces))}"] if row.replaces else []
    return f"backup nw_dst={value_text('ipv4_dst', row.destination)}{source} {' '.join(parts)}"


def _extension_line(row: ExtensionRow) -> str:
    return f"extension tag={row.tag_id} port={row.port_no} new_tag={row.new_tag_id}"
