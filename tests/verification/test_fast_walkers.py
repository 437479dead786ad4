"""The compiled walkers against the readable ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from experiments.verification.compiled import CompiledSwitches
from experiments.verification.dynamics import dynamics_of
from experiments.verification.interpreted import InterpretedSwitches
from experiments.verification.possibilities import Possibilities
from experiments.verification.senders import LOOPED, Senders
from experiments.verification.visits import DELIVERED, LOST, Visits
from experiments.verification.wiring import Wiring
from ryu_apps.plan.registry import find_scheme
from tests.verification.networks import by_node, cases, mode_of, network_of, numbers_of, send

OUTCOMES = {DELIVERED: "delivered", LOST: "dropped", LOOPED: "looped"}
N_PACKETS = 4


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
    assert sender_walks(CompiledSwitches, case) == oracle_walks(case)


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
    for make in (CompiledSwitches, InterpretedSwitches):
        switches = make(wiring, by_node(topology, plans), dynamics_of(mode_of(scheme, options), plans))
        visits = Visits(switches, wiring)
        source, target = np.nonzero(~np.eye(len(topology.nodes), dtype=bool))
        start = visits.states(switches.start(source, target))
        possible = Possibilities(visits, wiring.contexts([numbers_of(topology, failed)]))
        worst.append(possible.worst(np.zeros_like(start), start).tolist())
    assert worst[0] == worst[1]
