"""Possibilities against every subset of rows, and laws of what is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from experiments.verify.compiled.switches import CompiledSwitches
from experiments.verify.walk.dynamics import AgentDynamics
from experiments.verify.walk.heard import HeardRows
from experiments.verify.walk.possibilities import Possibilities
from mininet_topos.errors import PlanError
from mininet_topos.toy import TOYS
from ryu_apps.plan.options import PlanOptions
from tests.examples import examples
from tests.verify.brute_force import BruteForce
from tests.verify.networks import case_of, cases, connected, numbers_of, send

WORST = ("delivered", "dropped", "looped")


def possible(case, pairs=None):
    """Worst outcome of each pair by the fast exploration."""
    pairs = case.pairs if pairs is None else pairs
    switches, transitions, contexts = case.switches(CompiledSwitches)
    start = transitions.states(switches.start(*np.array(pairs).T))
    heard, dynamics = None, switches.dynamics
    if isinstance(dynamics, AgentDynamics):
        rows = HeardRows(switches.wiring, switches, dynamics)
        heard = rows.of_any_subset(contexts, [numbers_of(case.topology, case.failed)])
    found = Possibilities(transitions, contexts, heard).worst(np.zeros_like(start), start)
    return dict(zip(pairs, (WORST[worst] for worst in found.tolist()), strict=True))


def by_brute_force(case):
    """The same by all subsets of rows."""
    brute = BruteForce(case.network())
    brute.close(case.pairs)
    return {pair: brute.worst(*pair) for pair in case.pairs}


@examples(60)
@given(cases(topologies=connected(max_nodes=5, max_extra=3)))
def test_none_or_one_row_at_a_visit_covers_every_subset_of_rows(case):
    try:
        truth = by_brute_force(case)
    except PlanError:  # corrupted plans may extend the failed set in a circle inside one switch
        with pytest.raises(PlanError):
            possible(case)
    else:
        assert possible(case) == truth


@examples(40)
@given(cases(schemes=("sdfast",), topologies=connected(max_nodes=5, max_extra=3)), st.randoms(use_true_random=False))
def test_no_set_of_switches_that_have_learned_does_worse_than_the_possibilities_say(case, random):
    brute = BruteForce(case.network())
    try:
        brute.close(case.pairs)
    except PlanError:
        reject()
    worst = possible(case)
    for pair in case.pairs:
        network = case.network()
        for node, rows in brute.rows.items():
            held = [row for row in sorted(rows, key=repr) if random.random() < 0.5]
            network.rows[node].update({row.key: row for row in held})
        assert WORST.index(send(network, *pair).outcome) <= WORST.index(worst[pair])


def test_a_ring_delivers_whatever_is_known_of_its_failure():
    topology = TOYS["square"]()
    case = case_of("sdfast", topology, PlanOptions(max_failures=1), topology.link_ids[:1])
    assert set(possible(case).values()) == {"delivered"}


def test_without_recovery_the_possibilities_drop_what_crosses_the_failure():
    topology = TOYS["pair"]()
    case = case_of("shortest", topology, PlanOptions(), topology.link_ids)
    assert possible(case) == {(0, 1): "dropped", (1, 0): "dropped"}
