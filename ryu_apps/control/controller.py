"""The controller of a scheme: topology control, route configuration, statistics collection, edge and return.

This class joins them; what to do is decided in the `decide/` modules, and Ryu is met in `app.py` and
`channel.py` alone.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from ryu.lib import hub

from machine.collector import collector_paused
from mininet_topos.catalogue import load_topology
from mininet_topos.connectivity import require_connected
from mininet_topos.topology import LinkId
from ryu_apps.control.asking import Asking
from ryu_apps.control.backup_filler import BackupFiller
from ryu_apps.control.channel import SwitchChannel, SwitchClosedError
from ryu_apps.control.controller_events import ControllerEvents
from ryu_apps.control.datapath import REFUSED_SWITCH
from ryu_apps.control.decide.frames import read_arp, read_lldp_probe
from ryu_apps.control.decide.held_back import held_back, in_order
from ryu_apps.control.decide.knowledge import Known, knowledge
from ryu_apps.control.decide.live_topology import LiveTopology, Mismatch
from ryu_apps.control.decide.peers import why_refused
from ryu_apps.control.decide.returning import ReturnState, is_awaited
from ryu_apps.control.decide.settings import Settings
from ryu_apps.control.decide.statistics import FlowSample, PortSample
from ryu_apps.control.edge_service import EdgeService
from ryu_apps.control.faults import Faults
from ryu_apps.control.knowledge_reader import KnowledgeReader
from ryu_apps.control.listening import listen_address
from ryu_apps.control.queue_keeper import QueueKeeper
from ryu_apps.control.restorer import Restorer, RouteRewriting
from ryu_apps.control.retrying import until_done
from ryu_apps.control.return_coordinator import ReturnCoordinator
from ryu_apps.control.route_configuration import SwitchRoutes, owner_of
from ryu_apps.control.settings import load_allow_list
from ryu_apps.control.statistics_collection import StatisticsCollection
from ryu_apps.control.switch import Switch
from ryu_apps.control.topology_control import TopologyControl
from ryu_apps.openflow import encode
from ryu_apps.openflow.messages import ErrorMessage, PacketIn, PortDesc, PortStatus, Received
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.edge_rows import with_edge_rows
from ryu_apps.plan.restoration import with_rows
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.scheme import Scheme

RETURN_POLL_S = 0.25
LONELY_S = 10.0  # switches try again every few seconds
KNOWLEDGE_POLL_S = 10.0  # unless counters are polled
BACKUP_POLL_S = 10.0
KNOWLEDGE_DELAY_S = 0.5  # after a failure; by then notifications have reached every switch


class Controller:
    """What a Ryu app of ours consists of.

    Raises
    ------
    BadInputError
        The topology or an option cannot be used.
    """

    def __init__(self, scheme: Scheme, settings: Settings, logger: logging.Logger) -> None:
        self.scheme, self.settings = scheme, settings
        self.topology = load_topology(settings.topology)
        require_connected(self.topology)
        with collector_paused():
            self.plans = self._first_plans()
        self.events = ControllerEvents("controller", logger)
        self.faults = Faults(self.events, logger)
        self.switches: dict[str, Switch] = {}
        self.started_at_s = time.monotonic()
        self.topology_control = TopologyControl(self.topology, self.events, settings.discovery_interval_s)
        self.statistics = StatisticsCollection(owner_of(next(iter(self.plans.values()))))
        self.coordinator = self._coordinator()
        self.edge = EdgeService(hosts_of(self.topology), lambda: self.switches, self.events, self.faults)
        self.knowledge_reader = KnowledgeReader(self.topology, self.events)
        self._reading = Asking(self._installed, self._read_knowledge)
        self._reads_soon = False
        self._allow_list = load_allow_list(settings.allowed_switches)
        self.backups = BackupFiller(self.faults, self.events)
        self.queues = QueueKeeper(self.faults, self.events)
        self._seen: set[str] = set()
        # Plans are a million small values that stay: without them a collection takes no time from a failure's.
        gc.collect()
        gc.freeze()

    def _first_plans(self) -> dict[int, RulePlan]:
        """What the switches have to hold when the controller starts, by datapath id."""
        return self.scheme.plan(self.topology, self.settings.options)

    def _return_state(self) -> ReturnState:
        damping = Damping.of_wait(self.settings.wait_to_restore_s)
        return ReturnState(self.topology_control.expected.link_ends, damping)

    def _coordinator(self) -> ReturnCoordinator | Restorer:
        """Who acts when a link has failed, and when it is back."""
        state = self._return_state()
        prepare = self.scheme.restoration
        if prepare is None:
            by_node = {plan.node: plan for plan in self.plans.values()}
            return ReturnCoordinator(self.topology, by_node, state, self.events, self._installed_routes)
        rewriting = RouteRewriting(prepare(self.topology, self.settings.options))
        return Restorer(rewriting, state, self.events, self.faults, self._routes)

    def start(self) -> None:
        """Start what happens by itself."""
        hub.spawn_after(LONELY_S, self._say_if_lonely)
        hub.spawn(self.repeat, RETURN_POLL_S, "return", self.coordinator.run_due)
        hub.spawn(self.repeat, self.settings.stats_interval_s or KNOWLEDGE_POLL_S, "knowledge", self._reading.everyone)
        hub.spawn(self.repeat, BACKUP_POLL_S, "backup database", Asking(self._installed, self._fill_if_lost).everyone)
        if self.settings.stats_interval_s:
            polling = Asking(self._installed, self._poll_switch)
            hub.spawn(self.repeat, self.settings.stats_interval_s, "statistics", polling.everyone)
        if self.settings.discovery_interval_s:
            hub.spawn(self.repeat, self.settings.discovery_interval_s, "discovery", self._discover)

    def _say_if_lonely(self) -> None:
        if not self._seen:
            host, port = listen_address()
            self.events.write("no_switch", seconds=LONELY_S, address=f"{host}:{port}")

    def switch_connected(self, datapath: Any) -> None:
        """A switch has said who it is."""
        node = self.topology_control.node_of(datapath.id)
        if node is None:
            return
        present = self.switches[node].channel.datapath if node in self.switches else None
        refused = why_refused(datapath.id, datapath.peer, present and present.peer, self._allow_list)
        if refused is not None:
            self.topology_control.switch_refused(node, refused)
            hub.spawn(
                datapath.close_refused
            )  # it waits while the app's queue of events is full; this greenlet empties it
            return
        if present is not None:
            self.switch_gone(present)
        channel = SwitchChannel(datapath)
        routes = SwitchRoutes(
            self.plans[datapath.id],
            channel,
            self.events,
            self.settings.edge,
            bool(self.settings.discovery_interval_s),
            self.coordinator.rows_at(datapath.id),
        )
        switch = self.switches[node] = Switch(node, datapath.id, channel, routes)
        self.events.write("reconnect" if node in self._seen else "connect", node=node, dpid=datapath.id)
        self._seen.add(node)
        hub.spawn(self._bring_up, switch)
        remote, plan = self.settings.queue_remote(node, switch.control_ip), self.plans[datapath.id]
        if remote and plan.queues:
            hub.spawn(self.queues.keep, remote, plan, lambda: self.switches.get(node) is switch)

    def switch_gone(self, datapath: Any) -> None:
        """The connection to a switch is gone."""
        for switch in self._behind(datapath):
            switch.channel.close()
            del self.switches[switch.node]
            self.topology_control.switch_gone(switch.node)
            self.coordinator.switch_gone(switch.node)
            self.statistics.forget(switch.node)
            self.knowledge_reader.forget(switch.node)
            self.events.write("disconnect", node=switch.node)

    def message_received(self, datapath: Any, received: Received) -> None:
        """A switch has sent something."""
        for switch in self._behind(datapath):
            if isinstance(received.value, PortStatus):
                self._port_status(switch, received.value)
            elif isinstance(received.value, PacketIn):
                self._packet_in(switch, received.value)
            elif not switch.channel.on_message(received) and isinstance(received.value, ErrorMessage):
                self.faults.report("switch", str(received.value), switch.node)

    def message_refused(self, datapath: Any, what: str, text: str) -> None:
        """A switch has sent what cannot be used; it may not have said yet who it is."""
        plan = self.plans.get(datapath.id)
        if what == REFUSED_SWITCH and plan is not None:
            self.topology_control.switch_refused(plan.node, text)
            return
        self.faults.report(what, f"from {datapath.address[0]}: {text}", plan.node if plan else "")

    def _behind(self, datapath: Any) -> list[Switch]:
        return [switch for switch in self.switches.values() if switch.channel.datapath is datapath]

    def _port_status(self, switch: Switch, status: PortStatus) -> None:
        if switch.held_back is not None:
            port_nos = self.topology_control.expected.port_nos[switch.node]
            switch.held_back = held_back(switch.held_back, status, port_nos)
            return
        changed = self.topology_control.port_changed(switch.node, status)
        if changed is not None:
            self.coordinator.ports_known(dict([changed]))
            if not changed[1] and not self._reads_soon:
                self._reads_soon = True
                hub.spawn_after(KNOWLEDGE_DELAY_S, self._read_soon)

    def _packet_in(self, switch: Switch, packet: PacketIn) -> None:
        lldp_probe = read_lldp_probe(packet.data)
        arp = read_arp(packet.data)
        if lldp_probe is not None:
            if not self.topology_control.lldp_probe_heard(switch.node, packet.in_port, lldp_probe):
                text = f"too many discovery frames come, now to port {packet.in_port}; this one is left out"
                self.faults.report("discovery flood", text, switch.node)
        elif arp is not None and self.settings.edge:
            self.edge.arp_received(switch.node, packet.in_port, arp)

    def _bring_up(self, switch: Switch) -> None:
        """Describe the ports, install the plan, fill the backup database; again until it is done."""

        def install() -> None:
            with suppress(SwitchClosedError):
                self._install(switch)

        until_done(install, lambda: not switch.channel.closed, self.faults, "install", switch.node)

    def _install(self, switch: Switch) -> None:
        self._learn_ports(switch)
        missed = self.coordinator.state.returning_links()
        found = switch.routes.synchronise()
        for conflict in found.conflicts:
            self.faults.report("install", f"{conflict} belonged to somebody else and was replaced", switch.node)
        missed |= self.coordinator.state.returning_links()
        self.coordinator.plan_installed(switch.routes, found.recovery_tag_ids, missed)
        if self.settings.edge:
            self.edge.macs_found(switch.node, switch.routes.macs)
        if self.settings.stats_interval_s:
            hub.spawn(self._poll_switch, switch)
        self.fill_backup(switch)

    def _learn_ports(self, switch: Switch) -> None:
        switch.held_back = switch.held_back or {}
        ports = switch.channel.dump(encode.port_desc_request, PortDesc)
        self.coordinator.ports_known(self.topology_control.ports_described(switch.node, ports))
        held, switch.held_back = switch.held_back, None
        for status in in_order(held):
            self._port_status(switch, status)

    def fill_backup(self, switch: Switch) -> None:
        """Write the plan of a switch to its backup database, if it has one, while everything else goes on."""
        remote = self.settings.backup_remote(switch.node, switch.control_ip)
        if remote:
            ports = self.topology_control.expected.links_at(switch.node)
            hub.spawn(
                self.backups.fill,
                remote,
                switch.node,
                lambda: self._with_edge(switch.routes.plan),
                ports,
                lambda: self.switches.get(switch.node) is switch,
            )

    def _fill_if_lost(self, switch: Switch) -> None:
        """Fill a backup database that was emptied or made anew since, without waiting for its switch to connect."""
        remote = self.settings.backup_remote(switch.node, switch.control_ip)
        with self.faults.surfaced("backup database", switch.node):
            if remote and self.backups.has_lost(remote, switch.node):
                self.faults.report("backup database", "its plan is gone; it is filled again", switch.node)
                self.fill_backup(switch)

    def repeat(self, pause_s: float, what: str, act: Callable[[], None]) -> None:
        """Act, again and again, with a pause (s) after each time; errors are reported as those of `what`."""
        while True:
            with self.faults.surfaced(what):
                act()
            hub.sleep(pause_s)

    def _poll_switch(self, switch: Switch) -> None:
        with self.faults.surfaced("statistics", switch.node), suppress(SwitchClosedError):
            self.statistics.poll(switch.node, switch.channel)

    def _read_soon(self) -> None:
        self._reads_soon = False
        self._reading.everyone()

    def _read_knowledge(self, switch: Switch) -> None:
        coordinator = self.coordinator
        if not coordinator.switches_learn:
            return
        awaited = {link for link in coordinator.state.ends if is_awaited(coordinator.state, link)}
        with self.faults.surfaced("knowledge", switch.node), suppress(SwitchClosedError):
            self.knowledge_reader.read(switch.node, switch.routes)
            known = {one.link for one in self.knowledge_reader.known.get(switch.node, ())}
            # Not what was awaited before the switch was asked: it may have been forgotten meanwhile.
            coordinator.rows_found(known - awaited)

    def _discover(self) -> None:
        for switch in self._installed():
            for lldp_probe in self.topology_control.lldp_probes_for(switch.node, switch.dpid):
                switch.channel.post(lldp_probe)
        if self.settings.edge:
            self.edge.probe_unconfirmed()
        self.topology_control.name_mismatches()

    def _installed(self) -> list[Switch]:
        return [switch for switch in self.switches.values() if switch.routes.status.state == "installed"]

    def _routes(self) -> Mapping[str, SwitchRoutes]:
        return {switch.node: switch.routes for switch in self.switches.values()}

    def _installed_routes(self) -> Mapping[str, SwitchRoutes]:
        return {switch.node: switch.routes for switch in self._installed()}

    def live_topology(self) -> LiveTopology:
        """Ports and liveness (for REST and for planners)."""
        return self.topology_control.live

    def failed_links(self) -> frozenset[LinkId]:
        """Links with a failed end."""
        return self.coordinator.state.failed_links()

    def port_samples(self) -> Mapping[str, Mapping[int, PortSample]]:
        """Port counters by switch and port."""
        return self.statistics.ports

    def flow_samples(self) -> Mapping[str, Mapping[int, FlowSample]]:
        """Traffic by switch and destination."""
        return self.statistics.flows

    def knowledge(self) -> tuple[Known, ...]:
        """Which switch knows of which failed link, as its rows said when they were read last."""
        return knowledge(self.coordinator.state, self.knowledge_reader.known)

    def wanted_plan(self, dpid: int) -> RulePlan | None:
        """What a switch should hold; None for an unknown datapath id."""
        plan = self.plans.get(dpid)
        if plan is None:
            return None
        switch = self.switches.get(plan.node)
        if switch is not None:
            return switch.routes.wanted()
        return self._with_edge(with_rows(plan, self.coordinator.rows_at(dpid)))

    def _with_edge(self, plan: RulePlan) -> RulePlan:
        return with_edge_rows(plan, {}, self.settings.edge, bool(self.settings.discovery_interval_s))

    def mismatches(self) -> tuple[Mismatch, ...]:
        """Differences between the topology and the network."""
        hosts = (Mismatch("unexpected host", one.node, one.text) for one in self.edge.state.unexpected)
        return (*self.topology_control.mismatches(), *self.queues.mismatches(), *sorted(hosts))

    def state(self) -> dict[str, Any]:
        """State of the controller, its switches, and its errors."""
        switches = {
            node: {"dpid": number, **(self.switches[node].state() if node in self.switches else _AWAY)}
            for number, node in enumerate(self.topology.node_names, start=1)
        }
        installed = sum(1 for one in switches.values() if one["state"] == "installed")
        return {
            "scheme": self.scheme.name,
            "topology": self.topology.name,
            "options": asdict(self.settings.options),
            "uptime_s": time.monotonic() - self.started_at_s,
            "ready": installed == len(switches) and self._backups_filled(),
            "switches_installed": installed,
            "switches": switches,
            "backup_generations": self.backups.generation,
            "backups_unacknowledged": sorted(self.backups.unacknowledged),
            "failed_links": sorted(str(link) for link in self.failed_links()),
            "returning_links": sorted(
                str(link) for link, one in self.coordinator.state.links.items() if one.returning or one.remembered
            ),
            "errors": self.faults.count,
            "recent_errors": [asdict(fault) for fault in self.faults.recent],
        }

    def _backups_filled(self) -> bool:
        if not self.settings.backup_db:
            return True
        return not self.backups.unacknowledged and self.backups.generation.keys() == self.topology.index_of.keys()


_AWAY = {"state": "not connected"}
