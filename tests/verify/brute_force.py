"""Every subset of the rows that a failure can bring, tried one by one: the slow truth about partly updated networks."""

from __future__ import annotations

from itertools import chain, combinations

from experiments.verify.walk.dynamics import AgentDynamics
from mininet_topos.ports import HOST_PORT
from ovsdb_backup.decide.agent import step
from ovsdb_backup.decide.agent_types import AgentState, PacketIn, PlanLoaded, PortStatus, SwitchRead
from ovsdb_backup.decide.backup_index import BackupIndex
from ovsdb_backup.decide.packet import notification_frame, read_packet
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.ids import Table
from ryu_apps.plan.interpret import Packet, interpret_switch
from ryu_apps.plan.notification import is_notification
from ryu_apps.plan.walk import Hop, Network, is_delivery
from tests.verify.networks import numbers_of

ENDS = ("delivered", "dropped")


class BruteForce:
    """What can follow each hop of a packet while any subset of the rows of its switch is in place.

    Parameters
    ----------
    network
        With the failed links; nothing has been sent yet.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.rows: dict[str, set] = {node: set() for node in network.topology.node_names}
        self._notified: set = set()
        self._hosts = list(hosts_of(network.topology).values())
        if isinstance(network.dynamics, AgentDynamics):
            self._let_agents_hear()

    def worst(self, source: int, target: int) -> str:
        """`looped` if some choice of rows loops, else `dropped` if some loses the packet, else `delivered`.

        Rows count once any packet to any destination can bring them; so ask again until nothing changes.
        """
        start = Hop(self._hosts[source].node, HOST_PORT, Packet(self._hosts[source].ipv4, self._hosts[target].ipv4))
        return self._worst(start, (), {})

    def close(self, pairs) -> None:
        """Find all rows that packets of these pairs can bring."""
        known = -1
        while known != (known := sum(map(len, self.rows.values()))):
            for source, target in pairs:
                self.worst(source, target)

    def _let_agents_hear(self) -> None:
        """Agents notify of each failed link: rows of agents that heard of any of these, one after the other."""
        failed = numbers_of(self.network.topology, self.network.failed)
        for node, model in self.network.models.items():
            down = self.network.failed_ports(node)
            for heard in chain.from_iterable(combinations(failed, size) for size in range(1, len(failed) + 1)):
                rules = agent_after(model.plan, down, heard).rules.values()
                self.rows[node].update(row for rows in rules for row in rows.values() if row.table_id == Table.CLASSIFY)

    def _worst(self, hop, passed, decided):
        if hop in passed:
            return "looped"
        if hop not in decided:
            fates = {
                following if following in ENDS else self._worst(following, (*passed, hop), decided)
                for following in self._following(hop)
            }
            decided[hop] = next(fate for fate in ("looped", "dropped", "delivered") if fate in fates)
        return decided[hop]

    def _following(self, hop):
        """All that may come next: for every subset of the rows beside the standing ones."""
        network = self.network
        down, dpid = network.failed_ports(hop.node), dpid_of(network.topology, hop.node)
        live = {port for (node, port) in network.ports.direction_at if node == hop.node} | {HOST_PORT}
        standing = tuple(network.rows[hop.node].values())
        found = set()
        plan = network.models[hop.node].plan
        for chosen in subsets([row for row in self.rows[hop.node] if _serves(row, hop.packet)]):
            result = interpret_switch(
                network.models[hop.node], hop.packet, hop.in_port, frozenset(live - down), (*chosen, *standing)
            )
            rows, released = network.dynamics.react(dpid, down, result)
            self.rows[hop.node].update(row for row in rows if row.table_id != Table.NOTIFY)
            leaving = [(port, packet) for port, packet, _ in result.outputs] + list(released)
            notifications = [each for each in leaving if is_notification(each[1].vlan_tci)]
            self._spread(hop.node, notifications)
            leaving = [each for each in leaving if each not in notifications]
            if not leaving:
                found.add("dropped")
            for port, packet in leaving:
                if port == HOST_PORT and is_delivery(plan, packet):
                    found.add("delivered")
                else:
                    arrival = network.arrival(hop.node, port)
                    found.add("dropped" if arrival is None else Hop(*arrival, packet))
        return found

    def _spread(self, node, leaving):
        """Let notifications go through the network and teach every switch that they reach, once."""
        network = self.network
        for port, packet in leaving:
            arrival = network.arrival(node, port)
            if arrival is None or (arrival, packet.vlan_tci) in self._notified:
                continue
            self._notified.add((arrival, packet.vlan_tci))
            result = network.interpret(Hop(*arrival, packet))
            self.rows[arrival[0]].update(row for row in result.learned if row.table_id != Table.NOTIFY)
            self._spread(arrival[0], [(out, frame) for out, frame, _ in result.outputs])


def agent_after(plan, down, heard) -> AgentState:
    """An agent whose ports are down, and that then hears of failed links (numbers), one by one."""
    state, index = AgentState(), BackupIndex.from_plan(plan)
    ports = {row.out_port for row in plan.backups} | {row.port_no for row in plan.extensions}
    events = [PlanLoaded(index), SwitchRead(dict.fromkeys(ports | down, True), plan.flows)]
    events += [PortStatus(port, live=False) for port in sorted(down)]
    tags = [index.sets.tag_id_of[1 << number] for number in heard if index.crossing and index.sets.max_failures]
    for event in [*events, *(PacketIn(read_packet(notification_frame(tag_id))) for tag_id in tags)]:
        state, _ = step(state, event, 0.0)
    return state


def _serves(row, packet):
    """Whether a row is for this packet's commodity, whatever tag it carries or gets on its way through the switch."""
    ends = {"ipv4_dst": packet.ipv4_dst, "ipv4_src": packet.ipv4_src}
    return all(ends.get(name, value) == value for name, value, _ in row.match)


def subsets(rows):
    """All subsets without two rows of one key (a switch holds one of them)."""
    for chosen in chain.from_iterable(combinations(rows, size) for size in range(len(rows) + 1)):
        if len({row.key for row in chosen}) == len(chosen):
            yield chosen
