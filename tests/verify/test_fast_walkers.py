"""The compiled walkers against the readable ones, on sound and on corrupted plans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from experiments.verify.compiled.switches import CompiledSwitches
from experiments.verify.streams.packet_stream import LOOPED, PacketStream
from experiments.verify.walk.interpreted import InterpretedSwitches
from experiments.verify.walk.possibilities import Possibilities
from experiments.verify.walk.transitions import DELIVERED, LOST
from mininet_topos.errors import PlanError
from tests.examples import examples
from tests.verify.networks import cases, send

OUTCOMES = {DELIVERED: "delivered", LOST: "dropped", LOOPED: "looped"}
N_PACKETS = 4
"""Packets of each pair, one after another."""
KINDS = (CompiledSwitches, InterpretedSwitches)


def sender_walks(make, case):
    """Outcome and switches of the packets of every pair, by the fast walkers."""
    switches, transitions, contexts = case.switches(make)
    start = transitions.states(switches.start(*np.array(case.pairs).T))
    stream = PacketStream(transitions, contexts, np.zeros(len(start), dtype=np.int64))
    packets = [stream.send(np.arange(len(start)), start) for _ in range(N_PACKETS)]
    names = np.array(case.topology.node_names)
    return {
        pair: until_loop(
            (
                OUTCOMES[int(walk.outcome[index])],
                names[transitions.node_of[walk.path[index][walk.path[index] >= 0]]].tolist(),
            )
            for walk in packets
        )
        for index, pair in enumerate(case.pairs)
    }


def oracle_walks(case):
    """The same by the readable network."""
    found = {}
    for pair in case.pairs:
        network = case.network()
        walks = [send(network, *pair) for _ in range(N_PACKETS)]
        found[pair] = until_loop((walk.outcome, list(walk.path)) for walk in walks)
    return found


def worst_of(make, case):
    """The worst that can happen to packets of every pair."""
    switches, transitions, contexts = case.switches(make)
    start = transitions.states(switches.start(*np.array(case.pairs).T))
    return Possibilities(transitions, contexts).worst(np.zeros_like(start), start).tolist()


def unless_too_deep(walk, *arguments):
    """What a walker finds; corrupted plans may extend the failed set for ever inside one switch, which both refuse."""
    try:
        return walk(*arguments)
    except PlanError:
        return "nested too deep"


def until_loop(walks):
    """Walks up to the first that loops, which only says so: what it does once it came round is not defined."""
    found = []
    for outcome, path in walks:
        if outcome == "looped":
            return [*found, outcome]
        found.append((outcome, path))
    return found


@pytest.mark.parametrize("make", KINDS)
def test_every_packet_goes_as_in_the_readable_network(make):
    @examples(60)
    @given(cases())
    def check(case):
        assert unless_too_deep(sender_walks, make, case) == unless_too_deep(oracle_walks, case)

    check()


@examples(40)
@given(cases())
def test_both_kinds_of_switches_have_the_same_possibilities(case):
    compiled, interpreted = (unless_too_deep(worst_of, make, case) for make in KINDS)
    assert compiled == interpreted
