"""The compiled walkers against the readable ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from experiments.verification.compiled import CompiledSwitches
from experiments.verification.dynamics import dynamics_of
from experiments.verification.interpreted import InterpretedSwitches
from experiments.verification.matches import NotCompilableError
from experiments.verification.possibilities import Possibilities
from experiments.verification.senders import LOOPED, Senders
from experiments.verification.verifier import make_switches
from experiments.verification.visits import DELIVERED, LOST, Visits
from experiments.verification.wiring import Wiring
from ryu_apps.plan.registry import find_scheme
from ryu_apps.plan.rows import FlowRow, Multipath, Output, RulePlan, match
from ryu_apps.plan.walk import Learning
from tests.verification.networks import by_node, cases, mode_of, network_of, numbers_of, send, topology_of

OUTCOMES = {DELIVERED: "delivered", LOST: "dropped", LOOPED: "looped"}
N_PACKETS = 4


def compiled(wiring, plans, dynamics):
    return CompiledSwitches(wiring, plans, dynamics, names_source=True)


def sender_walks(make, case):
    """Outcome and switches of `N_PACKETS` packets of every pair, by the fast walkers."""
    scheme, topology, options, failed = case
    plans = find_scheme(scheme).plan(topology, options)
    wiring = Wiring(topology)
    switches = make(wiring, by_node(topology, plans), dynamics_of(mode_of(scheme, options), plans))
    visits = Visits(switches, wiring)
    source, target = np.nonzero(~np.eye(len(topology.nodes), dtype=bool))
    start = visits.states(switches.start(source, target))
    senders = Senders(visits, wiring.contexts([numbers_of(topology, failed)]), np.zeros(len(start), dtype=np.int64))
    packets = [senders.send(np.arange(len(start)), start) for _ in range(N_PACKETS)]
    names = np.array(topology.node_names)
    return {
        (int(source[index]), int(target[index])): [
            (OUTCOMES[int(walk.outcome[index])], tuple(names[visits.node_of[walk.path[index][walk.path[index] >= 0]]]))
            for walk in packets
        ]
        for index in range(len(start))
    }


def oracle_walks(case):
    scheme, topology, options, failed = case
    plans = find_scheme(scheme).plan(topology, options)
    found = {}
    for source in range(len(topology.nodes)):
        for target in range(len(topology.nodes)):
            if source != target:
                network = network_of(scheme, topology, options, failed, plans)
                walks = [send(network, source, target) for _ in range(N_PACKETS)]
                found[source, target] = [(walk.outcome, walk.path) for walk in walks]
    return found


@settings(max_examples=60, deadline=None)
@given(cases())
def test_compiled_switches_walk_every_packet_as_the_readable_network_does(case):
    assert sender_walks(compiled, case) == oracle_walks(case)


@settings(max_examples=25, deadline=None)
@given(cases())
def test_interpreted_switches_walk_every_packet_as_the_readable_network_does(case):
    assert sender_walks(InterpretedSwitches, case) == oracle_walks(case)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_both_kinds_of_switches_have_the_same_possibilities(case):
    scheme, topology, options, failed = case
    plans = find_scheme(scheme).plan(topology, options)
    wiring = Wiring(topology)
    worst = []
    for make in (compiled, InterpretedSwitches):
        switches = make(wiring, by_node(topology, plans), dynamics_of(mode_of(scheme, options), plans))
        visits = Visits(switches, wiring)
        source, target = np.nonzero(~np.eye(len(topology.nodes), dtype=bool))
        start = visits.states(switches.start(source, target))
        possible = Possibilities(visits, wiring.contexts([numbers_of(topology, failed)]))
        worst.append(possible.worst(np.zeros_like(start), start).tolist())
    assert worst[0] == worst[1]


def test_plans_that_hash_are_left_to_the_interpreter():
    topology = topology_of([(1, 2)])
    spread = (Multipath("symmetric_l3l4+udp", 1, "modulo_n", 4, "reg0"), Output(2))
    plans = [RulePlan(number, f"s{number}", flows=(FlowRow(0, 1, match(), spread),)) for number in (1, 2)]
    wiring = Wiring(topology)
    assert isinstance(make_switches(wiring, plans, Learning(), names_source=False), InterpretedSwitches)
    with pytest.raises(NotCompilableError, match="Multipath"):
        CompiledSwitches(wiring, plans, Learning(), names_source=False)
