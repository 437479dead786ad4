"""Ask the interpreter and a real Open vSwitch the same, hop by hop, and count where they differ."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from experiments.verify.against_ovs.datapath_actions import (
    Forwarding,
    Labels,
    expected_forwarding,
    flow_of,
    parse_trace,
)
from experiments.verify.against_ovs.dummy_ovs import DummyOvs, dummy_ovs
from experiments.verify.against_ovs.samples import Injection, Scene, SceneMaker
from mininet_topos.ports import HOST_PORT, PortMap, assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.ids import KIND_MASK, Kind, cookie
from ryu_apps.plan.interpret import SwitchModel, interpret_switch
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.order import flow_order
from ryu_apps.plan.row_text import flow_text
from ryu_apps.plan.rows import FlowRow, RulePlan
from ryu_apps.schemes import plan_network

MAX_HOPS = 40  # a wrong plan may loop; what matters has been compared long before
_AGENT_ROWS = f"cookie={cookie(0, Kind.AGENT):#x}/{KIND_MASK:#x}"
_LEARNED_ROWS = f"cookie={cookie(0, Kind.LEARNED):#x}/{KIND_MASK:#x}"  # by packets, and by notifications
_COUNTED = ("packets", "hops", "learned_rows", "differences", "seconds")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of a comparison.

    Attributes
    ----------
    packets
        Packets injected.
    hops
        Traces, one for each switch that a packet went through.
    learned_rows
        Rows that `learn` made on the switch and that were compared with the interpreter's.
    differences
        Hops, or switches' learned rows, on which the two disagree.
    first_difference
        The first of them, with all that is needed to ask again.
    """

    packets: int = 0
    hops: int = 0
    learned_rows: int = 0
    differences: int = 0
    first_difference: str | None = None
    seconds: float = 0.0

    def to_json(self) -> dict[str, object]:
        """Fields by name."""
        return asdict(self)

    def plus(self, **counts: int) -> Comparison:
        """The same with some counts increased."""
        return replace(self, **{name: getattr(self, name) + count for name, count in counts.items()})

    def together(self, other: Comparison) -> Comparison:
        """Both comparisons, this one first."""
        counts = {name: getattr(self, name) + getattr(other, name) for name in _COUNTED}
        return replace(self, first_difference=self.first_difference or other.first_difference, **counts)

    def differing(self, what: str) -> Comparison:
        """The same with one more difference."""
        return replace(self, differences=self.differences + 1, first_difference=self.first_difference or what)


def compare_with_ovs(
    topology: Topology,
    scheme: str,
    options: PlanOptions,
    *,
    samples: int,
    seed: int,
    progress: Callable[[int], object] = lambda _: None,
) -> Comparison:
    """Send random packets through the plans of a scheme, in the interpreter and in a real Open vSwitch.

    Parameters
    ----------
    scheme
        Name in the registry.
    samples
        Packets to inject; each is followed through the network and compared at every switch.
    seed
        Chooses packets and failures.
    progress
        Called with the number of packets done since the last call.

    Raises
    ------
    MissingRequirementError
        Open vSwitch is not installed.
    BadInputError
        Unknown scheme.
    """
    plans = plan_network(scheme, topology, options)
    return compare_plans(topology, plans, plans, samples=samples, seed=seed, progress=progress)


def compare_plans(
    topology: Topology,
    installed: dict[int, RulePlan],
    interpreted: dict[int, RulePlan],
    *,
    samples: int,
    seed: int,
    progress: Callable[[int], object] = lambda _: None,
) -> Comparison:
    """The same for given plans by datapath id: `installed` goes to the switch, `interpreted` to the interpreter.

    They are one and the same, except when a test asks whether a difference would be seen.
    """
    started = time.monotonic()
    outcome = Comparison()
    with dummy_ovs() as switch:
        network = _Network(topology, installed, interpreted, switch)
        for scene in SceneMaker(topology, network.plans, seed).scenes(samples):
            outcome = network.play(scene, outcome)
            progress(len(scene.injections))
    return replace(outcome, seconds=round(time.monotonic() - started, 3))


class _Network:
    """The same network twice: as models, and as bridges of a private switch."""

    def __init__(
        self,
        topology: Topology,
        installed: dict[int, RulePlan],
        interpreted: dict[int, RulePlan],
        switch: DummyOvs,
    ) -> None:
        self.ports: PortMap = assign_ports(topology)
        self.plans = {plan.node: plan for plan in installed.values()}
        self.switch = switch
        self.models = {plan.node: SwitchModel(plan) for plan in interpreted.values()}
        self.port_nos = {node: {HOST_PORT} for node in self.plans}
        for node, port_no in self.ports.direction_at:
            self.port_nos[node].add(port_no)
        switch.add_bridges({self.plans[node].dpid: sorted(numbers) for node, numbers in self.port_nos.items()})
        for plan in installed.values():
            switch.install(plan)

    def play(self, scene: Scene, outcome: Comparison) -> Comparison:
        """Bring both networks into the scene's state, send its packets, and clear up."""
        self.switch.set_failed_ports((self.plans[node].dpid, port_no) for node, port_no in scene.failed_ports)
        for node, rows in scene.agent_rows.items():
            self.switch.add_flows(self.plans[node].dpid, rows)
        walk = _Walk(self, scene, outcome)
        for injection in scene.injections:
            walk.follow(injection)
        walk.compare_learned()
        for node in scene.agent_rows:
            self.switch.delete_flows(self.plans[node].dpid, _AGENT_ROWS)
        return walk.outcome


class _Walk:
    """The packets of one scene on their way; keeps what each switch has learned."""

    def __init__(self, network: _Network, scene: Scene, outcome: Comparison) -> None:
        self.network = network
        self.scene = scene
        self.outcome = outcome
        self.learned: dict[str, dict[object, FlowRow]] = {}

    def follow(self, injection: Injection) -> None:
        """Follow a packet and its copies until nothing is under way, or the two networks disagree."""
        self.outcome = self.outcome.plus(packets=1)
        under_way = [injection]
        for _ in range(MAX_HOPS):
            if not under_way:
                return
            here = under_way.pop()
            forwarding = self._hop(here)
            if forwarding is None:
                return
            arrivals = (self._arrival(here, *sent) for sent in forwarding.outputs)
            under_way += [arrival for arrival in arrivals if arrival is not None]

    def _arrival(self, here: Injection, port_no: int, vlan_tci: int, labels: Labels) -> Injection | None:
        """Where a sent packet comes in next; None at a host, or where the link fails."""
        ports, down = self.network.ports, self.scene.failed_ports
        direction = ports.direction_at.get((here.node, port_no))
        if direction is None or (here.node, port_no) in down:
            return None
        back = ports.port_of[type(direction)(direction.dst, direction.src, direction.key)]
        return Injection(direction.dst, back, replace(here.packet, vlan_tci=vlan_tci, mpls=labels))

    def _hop(self, here: Injection) -> Forwarding | None:
        """What both switches do with a packet; None when they disagree."""
        network, node = self.network, here.node
        down = {port_no for name, port_no in self.scene.failed_ports if name == node}
        rows = (*self.scene.agent_rows.get(node, ()), *self.learned.get(node, {}).values())
        live = frozenset(network.port_nos[node] - down)
        result = interpret_switch(network.models[node], here.packet, here.in_port, live, rows)
        flow = flow_of(here.packet, here.in_port)
        text = network.switch.trace(network.plans[node].dpid, flow, generate=self.scene.learning)
        expected = expected_forwarding(result, learning=self.scene.learning)
        observed = parse_trace(text, here.packet.vlan_tci, here.packet.mpls)
        self.outcome = self.outcome.plus(hops=1)
        if expected.learned:
            self.learned.setdefault(node, {}).update({row.key: row for row in expected.learned})
        if expected == observed:
            return observed
        where = f"{node}, failed ports {sorted(down)}, {len(rows)} learned or agent rows, {flow}"
        self.outcome = self.outcome.differing(f"{where}: expected {expected}; Open vSwitch says {observed}")
        return None

    def compare_learned(self) -> None:
        """Compare the rows that each switch holds after all packets with what it has learned, then make it forget."""
        for node, rows in self.learned.items():
            dpid = self.network.plans[node].dpid
            expected, held = set(rows.values()), set(self.network.switch.flows(dpid, _LEARNED_ROWS))
            self.outcome = self.outcome.plus(learned_rows=len(held))
            if expected != held:
                lost = [flow_text(row) for row in sorted(expected - held, key=flow_order)]
                unexpected = [flow_text(row) for row in sorted(held - expected, key=flow_order)]
                self.outcome = self.outcome.differing(
                    f"{node} should have learned {lost}, and has learned {unexpected}"
                )
            self.network.switch.delete_flows(dpid, _LEARNED_ROWS)
