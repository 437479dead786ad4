"""The controller of 1+1 protection: rows in the switches, connections in the nodes beside them, both kept right."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Collection
from typing import Any

from eventlet.green import socket
from ryu.lib import hub

from dataplane.model.node_lines import NodeError, NodeState, read_state
from machine.tls import handshake_error, tls_context
from mininet_topos.endpoints import host_and_port
from ryu_apps.control.catching_up import catch_up
from ryu_apps.control.controller import Controller
from ryu_apps.control.decide.protection import Json, are_served, protection_to_json, request_for
from ryu_apps.control.decide.protection_resource import read_change
from ryu_apps.control.switch import Switch
from ryu_apps.plan.protect.document import load_flows
from ryu_apps.plan.protect.plan import Paths, paths_of, plans_of
from ryu_apps.plan.protection import Connection, ProtectedFlow, Protection, protection_of, with_flow, without_flow
from ryu_apps.plan.rows import RulePlan

TEND_S = 0.5
ANSWER_S = 2.0
# The state of a node at which 4,094 connections begin (all slots) and as many end has 1.35 MB. Reading 2 MiB takes a
# quarter of a second at most, in which no other greenlet runs.
ANSWER_BYTES = 1 << 21
DRAIN_S = 0.3  # what is under way in tunnels that are to go
CONFIGURE_S = 10.0
_READ_BYTES = 1 << 16
_POLL_S = 0.05
_HOLD_POLL_S = 0.01


class ProtectController(Controller):
    """A controller whose protected flows may change (parameters as those of `Controller`)."""

    def _first_plans(self) -> dict[int, RulePlan]:
        self.protection = protection_of(self.topology, self._flows_of_file())
        self._connections = self.protection.connections
        self._nodes: dict[str, NodeState | None] = {}
        self._changing = hub.Semaphore()
        return self._plans(self.protection)

    def _flows_of_file(self) -> tuple[ProtectedFlow, ...]:
        path = self.settings.protect
        return load_flows(path, f"setting protect = {path!r}", self.topology) if path else ()

    def _plans(self, protection: Protection) -> dict[int, RulePlan]:
        options = self.settings.options
        paths: Paths = paths_of(self.topology, protection, options.metric)
        return plans_of(self.topology, options, protection, paths)

    def start(self) -> None:
        """Start what happens by itself."""
        super().start()
        if self.settings.protect_nodes:
            hub.spawn(self.repeat, TEND_S, "protection", self._tend)

    # ---- nodes
    def _states(self) -> dict[str, NodeState]:
        """How the nodes of connections are, those that answer; asking changes nothing there."""
        nodes = dict.fromkeys(node for each in self._connections for node in (each.ingress, each.egress))
        nodes |= dict.fromkeys(self._nodes)
        states: dict[str, NodeState] = {}
        hub.joinall([hub.spawn(self._ask, node, {}, states) for node in nodes])
        return {node: states[node] for node in nodes if node in states}

    def _tend(self) -> dict[str, NodeState]:
        """Have the nodes that need it serve their connections; how those that answer are afterwards."""
        states = self._states()
        for node in tuple(states):
            request = request_for(node, self._connections, states, self.topology)
            if request is not None:
                restarted = not states[node].configured
                self._ask(node, request, states)
                if node in states:
                    self.events.write("protect", node=node, connections=len(request["connections"]), new=restarted)
        return states

    def _ask(self, node: str, request: Json, states: dict[str, NodeState]) -> None:
        """Put a request to a node; its state afterwards, or no state when it does not answer."""
        states.pop(node, None)
        switch = self.switches.get(node)
        if switch is None:
            return
        with self.faults.surfaced("protection", node):
            try:
                answer = exchange(self.settings.protect_nodes.format(node=node, control_ip=switch.control_ip), request)
            except PermissionError:
                raise  # its socket is another user's, which waiting does not change
            except OSError:
                self._nodes[node] = None  # it has not started yet, or not again
                return
            states[node] = self._nodes[node] = read_state(answer)

    # ---- changes
    def protection_state(self) -> Json:
        """Flows, connections and counters."""
        if self.settings.protect_nodes:
            self._states()
        return protection_to_json(self.protection, self.topology, self._nodes)

    def change_protection(self, body: str) -> Json:
        """Protect more flows (`add`), or no longer (`remove`); the state once it is in force.

        Nodes learn of connections first, then switches get the tunnels, then the flows; the other way round when
        flows go. A flow that is not protected any more is plain at once.

        Raises
        ------
        BadInputError
            The text is no request, or the flows cannot be used; nothing has changed.
        NodeError
            A node or a switch does not confirm in time; flows are protected as before.
        """
        added, removed = read_change(body, self.topology)
        with self._changing:
            old = new = self.protection
            for flow in removed:
                new = without_flow(new, flow, self.topology)
            for flow in added:
                new = with_flow(new, flow, self.topology)
            both = tuple(dict.fromkeys((*old.connections, *new.connections)))
            self._plans(Protection(new.flows, both))  # refuses what cannot be done before anything is
            self._serve(both, set(both) - set(old.connections))
            try:
                self._hold(Protection(old.flows, both))
                self._hold(Protection(new.flows, both))
            except NodeError:
                self._use(old)
                self._connections = old.connections
                raise
            self.protection = new
            if both != new.connections:
                hub.sleep(DRAIN_S)
                with self.faults.surfaced("protection"):  # the change is in force, even if a switch keeps an old tunnel
                    self._hold(new)
                self._serve(new.connections)
            self.events.write("protected", flows=len(new.flows), connections=len(new.connections))
        return self.protection_state()

    def _serve(self, connections: tuple[Connection, ...], awaited: Collection[Connection] = ()) -> None:
        """Have the nodes serve these connections; both ends of those that are awaited must have taken them over."""
        before, self._connections = self._connections, connections
        if not self.settings.protect_nodes:
            return
        # No `hub.Timeout`: it could end a question to a node, and be reported as that node's error only.
        deadline_s = time.monotonic() + CONFIGURE_S
        states = self._tend()
        while not are_served(awaited, states, self.topology):
            if time.monotonic() > deadline_s:
                self._connections = before
                raise NodeError("a node of 1+1 protection does not answer; is its service running?")
            hub.sleep(_POLL_S)
            states = self._tend()

    def _hold(self, protection: Protection) -> None:
        """Have the switches hold the plans of a protection.

        Raises
        ------
        NodeError
            A switch does not confirm its plan in time; it is still asked to, like the others.
        """
        changed = self._use(protection)
        deadline_s = time.monotonic() + CONFIGURE_S
        while waiting := [each.node for each in changed if not (each.routes.holds_plan() or each.channel.closed)]:
            if time.monotonic() > deadline_s:
                raise NodeError(f"no confirmation within {CONFIGURE_S:g} s from {', '.join(waiting)}")
            hub.sleep(_HOLD_POLL_S)

    def _use(self, protection: Protection) -> list[Switch]:
        """Have the switches go over to the plans of a protection; the switches whose plan is another one."""
        plans = self._plans(protection)
        changed = [switch for switch in self.switches.values() if plans[switch.dpid] != self.plans[switch.dpid]]
        self.plans = plans
        for switch in changed:
            switch.routes.use(plans[switch.dpid], ())
            hub.spawn(catch_up, switch, "protection", self.faults)
        return changed


def _connected(address: str) -> Any:
    """A connection to a node, that gives up after ANSWER_S."""
    if address.startswith("unix:"):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(ANSWER_S)
        try:
            connection.connect(address.removeprefix("unix:"))
        except OSError:
            connection.close()
            raise
        return connection
    place = host_and_port(address.removeprefix("ssl:"), "a node's address")
    connection = socket.create_connection(place, timeout=ANSWER_S)
    if not address.startswith("ssl:"):
        return connection
    try:
        return tls_context(address).wrap_socket(connection)
    except ssl.SSLError as error:
        connection.close()
        raise NodeError(f"no TLS with {address}: {handshake_error(error)}") from error


def exchange(address: str, request: Json) -> Json:
    """Put one request to a node at unix:PATH, ssl:HOST:PORT or HOST:PORT.

    Raises
    ------
    OSError
        Nobody answers there in time.
    NodeError
        The answer is no JSON or too long, or the two ends do not accept each other's certificates.
    """
    with _connected(address) as connection:
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = _line_of(connection, address)
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise NodeError(f"the node at {address} said {line[:80]!r}, which is no JSON") from error


def _line_of(connection: Any, address: str) -> bytes:
    """The first line that a node sends, or all before it hangs up; it has ANSWER_S for the whole line."""
    deadline_s, line = time.monotonic() + ANSWER_S, bytearray()
    while b"\n" not in line[-_READ_BYTES:]:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"{address} has sent no whole line within {ANSWER_S:g} s")
        connection.settimeout(left_s)
        data = connection.recv(_READ_BYTES)
        if not data:
            break
        line += data
        if len(line) > ANSWER_BYTES:
            raise NodeError(f"the node at {address} sends a line of more than {ANSWER_BYTES:,} bytes")
        hub.sleep(0)  # a node that sends without pause keeps nobody waiting
    return bytes(line.partition(b"\n")[0])
