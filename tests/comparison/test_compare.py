"""A comparison says what `armor verify` says, and what slow walks find."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from itertools import combinations, pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.comparison.compare import compare_scheme, modes_of, schemes_named
from experiments.comparison.decide.row import FIRST, HEADER, SETTLED, UPDATING, by_scheme, cells, csv_text, percent
from experiments.verify.cases import failure_masks
from experiments.verify.verify import Request, verify_scheme
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import route_schemes
from tests.examples import examples
from tests.verify.brute_force import BruteForce
from tests.verify.networks import case_of, connected, send

SCHEMES = [scheme.name for scheme in schemes_named(())]


def masks_of(topology, *counts):
    return {count: failure_masks(len(topology.link_ids), count, None, 1) for count in counts}


def compared(topology, scheme, *counts, **options):
    request = Request(topology, scheme, PlanOptions(**options))
    return compare_scheme(request, masks_of(topology, *counts), 1, lambda _done, _every: None)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_numbers_are_those_of_verify(scheme: str) -> None:
    topology = load_topology("figure2")
    (one,) = schemes_named((scheme,))
    for request in modes_of(one, Request(topology, "", PlanOptions()), None):
        rows = compared(topology, scheme, 1, 2, mode=request.options.mode).rows
        for stages, count in zip(by_scheme(rows), (1, 2), strict=True):
            verified = verify_scheme(Request(topology, scheme, request.options, count), jobs=1).to_json()
            assert_equal(stages, verified)


def assert_equal(stages, verified) -> None:
    named = {FIRST: "transient", UPDATING: "updating", SETTLED: "converged"}
    assert set(stages) == {stage for stage, name in named.items() if verified[name] is not None}
    for stage, row in stages.items():
        fates = {name: getattr(row, name) for name in ("delivered", "looped", "dropped")}
        assert fates == {name: verified[named[stage]][name] for name in fates}
        same = ("scheme", "mode", "failures", "cases", "first_stretch", "mean_stretch", "longest_crankback")
        assert {name: getattr(row, name) for name in same} == {name: verified[name] for name in same}
        assert row.micro_loops == (verified["micro_loops"] if UPDATING in stages else None)
        assert (row.flows_most, row.flows_mean) == tuple(verified["flows"].values())
        assert (row.groups_most, row.groups_mean) == tuple(verified["groups"].values())


@examples(25)
@given(connected(max_nodes=5, max_extra=3), st.sampled_from(["ffg", "shortest", "sdfast"]), st.data())
def test_the_numbers_are_those_of_walks_one_by_one(topology, scheme, data) -> None:
    count = data.draw(st.integers(1, min(2, len(topology.link_ids))))
    row = by_scheme(compared(topology, scheme, count, max_failures=2).rows)[0][FIRST]
    healthy = case_of(scheme, topology, PlanOptions(max_failures=2), ()).network()
    fates, stretches = [], []
    for failed in map(frozenset, combinations(topology.link_ids, count)):
        case = case_of(scheme, topology, PlanOptions(max_failures=2), failed)
        brute = BruteForce(case.network())
        brute.close(case.pairs)
        for pair in case.pairs:
            if not failed & crossed(healthy, *pair):
                continue
            fewest, walk = fewest_hops(topology, failed, *pair), send(case.network(), *pair)
            fates.append(brute.worst(*pair) if fewest else "no path")
            if walk.outcome == "delivered":
                stretches.append((len(walk.path) - 1) / fewest)
    counted = tuple(fates.count(each) for each in ("no path", "delivered", "looped", "dropped"))
    assert (row.cases, row.parted, row.delivered, row.looped, row.dropped) == (len(fates), *counted)
    assert row.first_stretch == (pytest.approx(fmean(stretches), abs=1e-4) if stretches else None)


def crossed(network, source: int, target: int):
    """Links of the way of an untagged packet."""
    hops = send(network, source, target).hops
    return {
        network.topology.link_id(direction)
        for hop, after in pairwise(hops)
        for (node, port), direction in network.ports.direction_at.items()
        if node == hop.node and network.arrival(node, port) == (after.node, after.in_port)
    }


def fewest_hops(topology, failed, source: int, target: int) -> int:
    """Links of a shortest path without the failed ones; 0 if there is none."""
    names, reached, hops = topology.node_names, {topology.node_names[source]}, 0
    while names[target] not in reached:
        links = [link for node in reached for link in topology.links_from[node]]
        found = {link.dst for link in links if topology.link_id(link.direction) not in failed} - reached
        if not found:
            return 0
        reached |= found
        hops += 1
    return hops


def test_all_that_can_be_compared_is_what_serves_pairs() -> None:
    left_out = set(route_schemes()) - set(SCHEMES)
    assert left_out == {name for name, each in route_schemes().items() if each.protects or each.buffers}
    for name in left_out:
        with pytest.raises(BadInputError, match=f"armor verify {name}"):
            schemes_named((name,))
    with pytest.raises(BadInputError, match="twice"):
        schemes_named(("ffg", "cb", "ffg"))
    with pytest.raises(BadInputError, match="did you mean 'sdfast'"):
        schemes_named(("sdfats",))


def test_a_mode_that_is_asked_for_leaves_schemes_without_modes_alone() -> None:
    request = Request(load_topology("square"), "", PlanOptions(mode="agent"))
    asked = {each.name: modes_of(each, request, "agent") for each in schemes_named(("sdfast", "ffg"))}
    assert {name: len(each) for name, each in asked.items()} == {"sdfast": 1, "ffg": 1}
    (sdfast,) = schemes_named(("sdfast",))
    assert [each.options.mode for each in modes_of(sdfast, request, None)] == ["learned", "agent"]


def test_the_csv_has_every_row_and_every_key() -> None:
    rows = compared(load_topology("square"), "ffg_restoration", 1, 2).rows
    read = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert read == [{name: "" if value is None else str(value) for name, value in asdict(row).items()} for row in rows]


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_only_all_are_a_hundred_percent(part: int, whole: int) -> None:
    part = min(part, whole)
    assert (percent(part, whole) == "100") == (part == whole)
    assert float(percent(part, whole)) == pytest.approx(100 * part / whole, abs=0.011)


def test_a_line_has_a_dash_for_what_does_not_apply() -> None:
    (line,) = by_scheme(compared(load_topology("square"), "shortest", 1).rows)
    shown = dict(zip(HEADER, cells(line), strict=True))
    assert {name for name, cell in shown.items() if cell == "-"} == {
        "updating %", "micro-loops", "first stretch", "settled stretch",
    }  # fmt: skip
