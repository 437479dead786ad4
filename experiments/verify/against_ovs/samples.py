"""Random packets and failures by seed: what the interpreter and the switch are both asked.

A scene is a state of the network (failed ports, rows that a failure put there) and the packets injected into
it. Half of the packets of a scene with failures start beside a failure, or few would meet it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from mininet_topos.ports import HOST_PORT, PortMap, assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import host_ipv4, hosts_of
from ryu_apps.plan.failure_sets import MAX_TAG_ID, NO_TAG
from ryu_apps.plan.fields import ETH_ARP, ETH_IPV6, IP_ICMP, IP_TCP, IP_UDP
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.notification import AFRESH
from ryu_apps.plan.recovery_rows import PCP_BITS, deliver_seen_row, rows_on_punt, tag_tci, untagged_row
from ryu_apps.plan.rows import BackupRow, FlowRow, RulePlan

PACKETS_PER_SCENE = 25
_FAILURES = ("none", "one link", "two links", "three links", "one port")
_FAILURE_WEIGHTS = (20, 35, 30, 5, 10)
_ENTRIES = ("host", "transit", "tagged host", "untagged transit", "foreign")
_ENTRY_WEIGHTS = (50, 30, 8, 6, 6)
_AGENT_ROWS_PER_NODE = 4

PortAt = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Injection:
    """A packet that comes into a switch by a port."""

    node: str
    in_port: int
    packet: Packet


@dataclass(frozen=True)
class Scene:
    """A state of the network and the packets that are sent into it, in order.

    `learning`: packets act on `learn` rows, so that each meets what those before it left behind.
    """

    failed_ports: frozenset[PortAt]
    agent_rows: dict[str, tuple[FlowRow, ...]]
    learning: bool
    injections: tuple[Injection, ...]


class SceneMaker:
    """Random scenes of one planned network; the same seed gives the same scenes.

    Parameters
    ----------
    plans
        Plan of every switch, by node name.
    """

    def __init__(self, topology: Topology, plans: dict[str, RulePlan], seed: int) -> None:
        self.topology = topology
        self.ports: PortMap = assign_ports(topology)
        self.plans = plans
        self.random = Random(seed)
        self.addresses = [host.ipv4 for host in hosts_of(topology).values()]
        self.backups = {node: [row for row in plan.backups if row.tag_id] for node, plan in plans.items()}
        self.link_ports = sorted(self.ports.direction_at)

    def scenes(self, n_packets: int) -> Iterator[Scene]:
        """Scenes with `n_packets` packets in all."""
        for start in range(0, n_packets, PACKETS_PER_SCENE):
            yield self.scene(min(PACKETS_PER_SCENE, n_packets - start))

    def scene(self, n_packets: int) -> Scene:
        """One scene."""
        down = self._failed_ports()
        beside = sorted({node for node, _ in down}) or list(self.topology.node_names)
        places = [
            self.random.choice(beside if self.random.random() < 0.5 else self.topology.node_names)
            for _ in range(n_packets)
        ]
        return Scene(
            down,
            self._agent_rows() if self.random.random() < 0.5 else {},
            self.random.random() < 0.5,
            tuple(self._injection(node) for node in places),
        )

    def _failed_ports(self) -> frozenset[PortAt]:
        kind = self.random.choices(_FAILURES, _FAILURE_WEIGHTS)[0]
        if kind == "none" or not self.link_ports:
            return frozenset()
        if kind == "one port":
            return frozenset([self.random.choice(self.link_ports)])
        wanted = _FAILURES.index(kind)
        links = self.random.sample(self.topology.link_ids, min(wanted, len(self.topology.link_ids)))
        ends = [direction for link in links for direction in self.topology.directions(link)]
        return frozenset((end.src, self.ports.port_of[end]) for end in ends)

    def _agent_rows(self) -> dict[str, tuple[FlowRow, ...]]:
        """Rows that the agents of a few switches may have put there (none in plans without backup rows)."""
        chosen = self.random.sample(self.topology.node_names, min(5, len(self.topology.node_names)))
        return {node: rows for node in chosen if (rows := self._rows_of_agent(self.plans[node]))}

    def _rows_of_agent(self, plan: RulePlan) -> tuple[FlowRow, ...]:
        backups = self.backups[plan.node]
        if not backups or plan.groups:  # groups: learned mode, where no agent acts
            return ()
        rows: dict[object, FlowRow] = {}
        for backup in self.random.choices(backups, k=_AGENT_ROWS_PER_NODE):
            made = [*rows_on_punt(backup), untagged_row(backup)]
            made.append(deliver_seen_row(backup.tag_id, self.random.choice(self.addresses), plan.local_ipv4[0]))
            rows |= {row.key: row for row in made}
        return tuple(rows.values())

    def _injection(self, node: str) -> Injection:
        kind = self.random.choices(_ENTRIES, _ENTRY_WEIGHTS)[0]
        link_ports = [port_no for name, port_no in self.link_ports if name == node] or [HOST_PORT]
        if kind == "foreign":
            in_port = self.random.choice([HOST_PORT, *link_ports])
            return Injection(node, in_port, self._foreign(node))
        if kind in ("host", "tagged host"):
            tci = self._tci(self._backup(node)) if kind == "tagged host" else 0
            return Injection(node, HOST_PORT, self._packet(self.plans[node].local_ipv4[0], None, tci))
        backup = self._backup(node)
        tci = self._tci(backup) if kind == "transit" else 0
        return Injection(node, self.random.choice(link_ports), self._packet(None, backup, tci))

    def _foreign(self, node: str) -> Packet:
        """A packet that is not IPv4, with or without a tag."""
        tci = self.random.choice((0, self._tci(self._backup(node))))
        return Packet(eth_type=self.random.choice((ETH_ARP, ETH_IPV6)), vlan_tci=tci, ip_proto=0)

    def _packet(self, source: int | None, backup: BackupRow | None, tci: int) -> Packet:
        """An IPv4 packet: of this source, or one that this backup row is for; sometimes of and to anybody."""
        if backup is not None:
            source = backup.source
        destination = None if backup is None else backup.destination
        nobody = host_ipv4(len(self.addresses) + 1)
        anybody = nobody if self.random.random() < 0.2 else self.random.choice(self.addresses)
        return Packet(
            ipv4_src=anybody if source is None or self.random.random() < 0.1 else source,
            ipv4_dst=self.random.choice([anybody, *self.addresses])
            if destination is None or self.random.random() < 0.1
            else destination,
            ip_proto=self.random.choice((IP_ICMP, IP_TCP, IP_UDP)),
            l4_src=self.random.randrange(1, 1 << 16),
            l4_dst=self.random.randrange(1, 1 << 16),
            vlan_tci=tci,
        )

    def _backup(self, node: str) -> BackupRow | None:
        """A backup row of the switch, if its plan has any."""
        return self.random.choice(self.backups[node]) if self.backups[node] else None

    def _tci(self, backup: BackupRow | None) -> int:
        """TCI of a tag, also of notifications: mostly the row's, sometimes any that 802.1Q allows, vid 0 included."""
        status = self.random.randrange(1 << PCP_BITS)
        if self.random.random() < 0.1:  # of a packet that starts afresh
            return tag_tci(NO_TAG, AFRESH | status)
        if backup is not None and self.random.random() < 0.8:
            return tag_tci(backup.tag_id, status)
        return tag_tci(self.random.randint(0, MAX_TAG_ID + 1), status)
