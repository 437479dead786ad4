"""Controllers that rewrite routes: the settled network, and every order in which switches get their rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.verify import Request, verify_scheme
from experiments.verify import verify as verify_module
from experiments.verify.compiled.matches import NotCompilableError
from experiments.verify.compiled.switches import CompiledSwitches
from experiments.verify.streams.packet_stream import LOOPED, PacketStream, put_all
from experiments.verify.walk.interpreted import InterpretedSwitches
from experiments.verify.walk.possibilities import Possibilities
from experiments.verify.walk.rewritten import rewritten_rows
from experiments.verify.walk.transitions import DELIVERED, LOST
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import PlanError
from mininet_topos.toy import TOYS
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import commodity_match
from ryu_apps.plan.restoration import replanned
from ryu_apps.plan.rows import FlowRow
from ryu_apps.schemes import find_scheme, route_schemes
from tests.examples import examples
from tests.verify.mutants import (
    CorruptedRestoration,
    forget_one_switch,
    go_on_tagging,
    hear_of_nothing,
    lead_one_row_elsewhere,
    miss_a_link,
)
from tests.verify.networks import case_of, connected, numbers_of, send

RESTORING = tuple(name for name, scheme in route_schemes().items() if scheme.restoration is not None)
OUTCOMES = {DELIVERED: "delivered", LOST: "dropped", LOOPED: "looped"}
WORST = ("delivered", "dropped", "looped")
KINDS = (CompiledSwitches, InterpretedSwitches)


@st.composite
def restored_cases(draw, max_nodes):
    """Cases of a scheme whose controller rewrites routes."""
    topology = draw(connected(max_nodes=max_nodes, max_extra=3))
    failed = draw(st.sets(st.sampled_from(topology.link_ids), min_size=1, max_size=3))
    options = draw(
        st.builds(
            PlanOptions,
            planner=st.sampled_from(["tree", "pair", "tunnels"]),
            routes=st.sampled_from(["spt", "mst"]),
            max_failures=st.integers(1, 2),
        )
    )
    return case_of(draw(st.sampled_from(RESTORING)), topology, options, failed)


def restoration_of(case):
    return find_scheme(case.scheme).restoration(case.topology, case.options)


def by_every_order(case, failed):
    """Worst outcome of each pair over every set of switches that may have got their rows already."""
    rows = restoration_of(case).rows(case.failed)
    worst = dict.fromkeys(case.pairs, 0)
    for written in chain.from_iterable(combinations(rows, size) for size in range(len(rows) + 1)):
        network = replaced(case, {dpid: rows[dpid] for dpid in written}, failed).network()
        for pair in case.pairs:
            worst[pair] = max(worst[pair], WORST.index(send(network, *pair).outcome))
    return {pair: WORST[each] for pair, each in worst.items()}


def replaced(case, rows, failed):
    return case._replace(plans=replanned(case.plans, rows), failed=failed)


def interpreted_if_need_be(case, make):
    """What `armor verify` does with plans that have no compiled form."""
    return make if case.scheme in COMPILED else InterpretedSwitches


def compiles(scheme):
    try:
        case_of(scheme, TOYS["square"](), PlanOptions(), set()).switches(CompiledSwitches)
    except NotCompilableError:
        return False
    return True


COMPILED = frozenset(name for name in RESTORING if compiles(name))


def test_label_stacks_alone_have_no_compiled_form():
    assert set(RESTORING) - COMPILED == {"ti_lfa_restoration"}


def walkers(case, make, failed):
    """What the fast walkers need, with the given links failed and the rows for the case's own failures numbered."""
    switches, transitions, contexts = case._replace(failed=failed).switches(interpreted_if_need_be(case, make))
    start = transitions.states(switches.start(*np.array(case.pairs).T))
    numbers = [numbers_of(case.topology, case.failed)]
    return transitions, contexts, start, rewritten_rows(case.topology, transitions, restoration_of(case), numbers)


def possible(case, make, failed):
    """The same as `by_every_order`, by the fast exploration."""
    transitions, contexts, start, rewritten = walkers(case, make, failed)
    found = Possibilities(transitions, contexts, rewritten).worst(np.zeros_like(start), start)
    return dict(zip(case.pairs, (WORST[worst] for worst in found.tolist()), strict=True))


@pytest.mark.parametrize("make", KINDS)
def test_old_or_new_row_at_each_visit_covers_every_set_of_switches_that_have_been_written(make):
    @examples(60)
    @given(restored_cases(max_nodes=5))
    def check(case):
        assert possible(case, make, case.failed) == by_every_order(case, case.failed)
        assert possible(case, make, frozenset()) == by_every_order(case, frozenset())

    check()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["figure2", "square", "ladder", "parallel", "one-way"])
@pytest.mark.parametrize("scheme", RESTORING)
def test_so_it_does_on_the_small_networks_that_everybody_knows(name, scheme):
    topology = TOYS[name]()
    for link in topology.link_ids[:4]:
        case = case_of(scheme, topology, PlanOptions(), {link})
        assert possible(case, CompiledSwitches, case.failed) == by_every_order(case, case.failed)


@pytest.mark.parametrize("make", KINDS)
def test_settled_packets_go_as_in_the_readable_network_with_the_new_plans(make):
    @examples(60)
    @given(restored_cases(max_nodes=6))
    def check(case):
        transitions, contexts, start, rewritten = walkers(case, make, case.failed)
        nobody, everyone = np.zeros_like(start), np.arange(len(start))
        stream = PacketStream(transitions, contexts, nobody)
        put_all(stream, transitions, rewritten, nobody, start)
        walks, names = stream.send(everyone, start), np.array(case.topology.node_names)
        network = replaced(case, restoration_of(case).rows(case.failed), case.failed).network()
        tagged = stream.is_tagged(walks)
        for index, pair in enumerate(case.pairs):
            oracle = send(network, *pair)
            path = walks.path[index][walks.path[index] >= 0]
            assert OUTCOMES[int(walks.outcome[index])] == oracle.outcome
            assert tuple(names[transitions.node_of[path]]) == oracle.path
            assert bool(tagged[index]) == any(hop.packet.vlan_tci for hop in oracle.hops)

    check()


def verify(topology, scheme, failures=1, sample=None, **options):
    return verify_scheme(Request(topology, scheme, PlanOptions(**options), failures, sample), 1)


@examples(60)
@given(
    connected(max_nodes=7), st.sampled_from(RESTORING), st.sampled_from(["tree", "pair", "tunnels"]), st.integers(1, 4)
)
def test_each_connected_pair_is_delivered_by_shortest_paths_without_a_tag_however_many_links_fail(
    topology, scheme, planner, failures
):
    failures = min(failures, len(topology.link_ids))
    result = verify(topology, scheme, failures, planner=planner, max_failures=1)
    tally = result.tally
    assert result.holds, tally.examples
    assert tally.converged.delivered == tally.cases - tally.converged.disconnected == tally.promised
    assert (tally.converged.looped, tally.converged.dropped) == (0, 0)
    assert (tally.backtracking_after_convergence, tally.tagged_after_convergence) == (0, 0)
    assert result.mean_stretch in (None, 1.0)


@examples(40)
@given(connected(), st.sampled_from(["tree", "pair", "tunnels"]), st.integers(1, 3))
def test_crankback_delivers_as_planned_and_backtracks_for_ever_without_breaking_a_promise(topology, planner, failures):
    failures = min(failures, len(topology.link_ids))
    result = verify(topology, "cb", failures, planner=planner, max_failures=2)
    tally = result.tally
    assert result.holds, tally.examples
    assert tally.looped == 0
    assert failures > 2 or tally.delivered == tally.promised == tally.cases - tally.disconnected
    assert (result.mean_stretch, tally.transient) == (result.first_stretch, tally.converged)


@pytest.mark.slow
def test_crankback_on_darkstrand_never_stops_where_it_began_to_backtrack():
    tally = verify(load_topology("darkstrand"), "cb").tally
    assert tally.backtracking_after_convergence == tally.crankback_cases == 2145
    assert tally.broken == 0


@pytest.mark.parametrize("scheme", RESTORING)
def test_a_stage_says_of_every_case_what_becomes_of_it(scheme):
    tally = verify(load_topology("gscale"), scheme, 2, 40).tally
    for stage in (tally.transient, tally.updating, tally.converged, tally.returning):
        assert sum(vars(stage).values()) == tally.cases
    assert tally.returning.disconnected == 0
    assert tally.micro_loops <= tally.updating.looped
    assert tally.updating.delivered <= min(tally.transient.delivered, tally.converged.delivered)


def test_before_the_controller_acts_plain_routes_drop_all_and_fast_failover_what_has_no_alternate():
    topology = load_topology("darkstrand")
    plain, groups, alone = (verify(topology, name).tally for name in ("restoration", "ffg_restoration", "ffg"))
    assert (plain.transient.delivered, plain.transient.dropped) == (0, plain.cases)
    assert groups.transient == alone.transient == alone.converged
    assert 0 < groups.transient.delivered < groups.cases
    assert plain.delivered == 0
    assert groups.delivered == groups.transient.delivered


def test_two_switches_in_opposite_states_send_crankback_packets_to_and_fro_but_drop_plain_ones():
    """On the square without s1-s2, s4 reaches s2 by s1 until it is notified: s1, notified first, sends there."""
    topology = TOYS["square"]()
    crankback, plain = (
        case_of(name, topology, PlanOptions(), {topology.link_ids[0]}) for name in ("cbc", "restoration")
    )
    assert str(topology.link_ids[0]) == "s1-s2"
    assert possible(crankback, CompiledSwitches, crankback.failed)[0, 1] == "looped"
    assert possible(plain, CompiledSwitches, plain.failed)[0, 1] == "dropped"
    assert verify(topology, "cbc").tally.micro_loops > 0
    assert verify(topology, "restoration").tally.micro_loops == 0


@pytest.mark.slow
def test_micro_loops_happen_exactly_where_there_is_no_loop_free_alternate_on_darkstrand():
    crankback, groups = (verify(load_topology("darkstrand"), name).tally for name in ("cbc", "ffg"))
    assert crankback.micro_loops == crankback.cases - groups.delivered


def test_the_amount_rewritten_is_that_of_the_restoration():
    topology = load_topology("gscale")
    restoration = find_scheme("cbc").restoration(topology, PlanOptions())
    written = [restoration.rows(frozenset({link})) for link in topology.link_ids]
    rewriting = verify(topology, "cbc").tally.rewriting
    rows = [sum(map(len, each.values())) for each in written]
    switches = [len(each) for each in written]
    assert (rewriting.rows, rewriting.most_rows) == (sum(rows), max(rows))
    assert (rewriting.switches, rewriting.most_switches) == (sum(switches), max(switches))


def corrupted_by(corrupt, monkeypatch, scheme, failures=1, sample=None):
    """Result on Gscale when the scheme's controller is corrupted."""
    sound = find_scheme(scheme)

    def restoration(topology, options):
        return CorruptedRestoration(sound.restoration(topology, options), corrupt)

    monkeypatch.setattr(verify_module, "find_route_scheme", lambda _name: replace(sound, restoration=restoration))
    return verify(load_topology("gscale"), scheme, failures, sample)


@pytest.mark.parametrize("scheme", RESTORING)
@pytest.mark.parametrize("corrupt", [hear_of_nothing, forget_one_switch, miss_a_link, lead_one_row_elsewhere])
def test_wrong_rows_of_the_controller_are_seen(corrupt, scheme, monkeypatch):
    result = corrupted_by(corrupt, monkeypatch, scheme, 2, 40)
    assert not result.holds
    assert result.tally.broken > 0
    what = {example["what"] for example in result.tally.examples}
    assert any(word in each for each in what for word in ("after the controller", "after convergence"))


def test_a_controller_that_leaves_tags_on_packets_is_seen(monkeypatch):
    result = corrupted_by(go_on_tagging, monkeypatch, "cbc")
    assert result.tally.tagged_after_convergence > 0
    assert not result.holds


def test_a_controller_that_does_nothing_leaves_crankback_backtracking(monkeypatch):
    result = corrupted_by(hear_of_nothing, monkeypatch, "cbc")
    tally = result.tally
    assert tally.converged.delivered == tally.cases
    assert tally.backtracking_after_convergence > 0
    assert tally.broken == tally.tagged_after_convergence == tally.cases
    assert (tally.micro_loops, tally.rewriting.rows) == (0, 0)


def test_a_restoration_that_touches_tagged_routes_or_unexpected_switches_is_refused(monkeypatch):
    def touch_tags(honest, failed):
        row = FlowRow(1, 20000, commodity_match(0x0A000001, None, 1))
        return {**honest.rows(failed), 1: (row,)}

    with pytest.raises(PlanError, match="only regular routes"):
        corrupted_by(touch_tags, monkeypatch, "cbc")
    with pytest.raises(PlanError, match="switch 99"):
        corrupted_by(lambda _honest, _failed: {99: ()}, monkeypatch, "restoration")
