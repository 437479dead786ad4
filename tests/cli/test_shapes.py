"""`armor plan --shape` and `--count`, and `armor verify --against-ovs --shape`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from experiments.cli.main import main
from mininet_topos.catalogue import load_topology
from ryu_apps.openflow.encode import flow_add
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.check import violations
from ryu_apps.plan.choices import SHAPES
from ryu_apps.plan.decompose.count import count_fields
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.serial import plan_from_json
from ryu_apps.plan.walk import Learning, Network
from ryu_apps.schemes import find_scheme

FOUR = ["plan", "kuijia", "gscale", "--demands", "random:2:900", "--low-to-high", "10", "--priorities", "four"]


def json_of(argv: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_counts_are_those_of_the_plan_that_is_printed(shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = [*FOUR, "--shape", shape]
    plans = [plan_from_json(each) for each in json_of(argv, capsys)["switches"]]
    counted = json_of([*argv, "--count"], capsys)
    assert counted["shape"] == shape
    assert [violations(plan) for plan in plans if violations(plan)] == []
    for plan, switch in zip(plans, counted["switches"], strict=True):
        assert (switch["node"], switch["rows"]) == (plan.node, len(plan.flows))
        assert switch["fields"] == count_fields(plan.flows, plan.groups) <= switch["replicated_fields"]
        assert switch["tables"] == len({row.table_id for row in plan.flows})
        lengths = [len(flow_add(row)) for row in plan.flows]
        assert (switch["bytes"], switch["largest_bytes"]) == (sum(lengths), max(lengths))
    total = counted["total"]
    assert total["bytes"] == sum(switch["bytes"] for switch in counted["switches"])
    assert total["largest_bytes"] == max(switch["largest_bytes"] for switch in counted["switches"])
    assert total["fields"] == sum(switch["fields"] for switch in counted["switches"])
    assert total["memory_bits"] == 32 * total["fields"]
    assert total["saved_percent"] == pytest.approx(100 - 100 * total["fields"] / total["replicated_fields"])


def test_every_further_shape_saves_more(capsys: pytest.CaptureFixture[str]) -> None:
    totals = [json_of([*FOUR, "--shape", shape, "--count"], capsys)["total"] for shape in SHAPES]
    assert len({total["replicated_fields"] for total in totals}) == 1
    saved = [total["saved_percent"] for total in totals]
    assert saved[0] == 0 < saved[1] < saved[2]


def test_counts_are_a_table_for_people_with_a_total(capsys: pytest.CaptureFixture[str]) -> None:
    argv = [*FOUR, "--shape", "decomposed", "--count", "--switch", "s1", "--switch", "s2"]
    total = json_of(argv, capsys)["total"]
    assert main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("kuijia on gscale, tunnels in the label, decomposed: tables taken apart")
    named = [line.split() for line in lines if line.startswith("  ") and line.split()]
    assert [words[0] for words in named if words[0] in ("s1", "s2", "s3", "all")] == ["s1", "s2", "all"]
    last = next(words for words in named if words[0] == "all")
    assert last[2] == f"{total['fields']:,}"
    assert last[-1] == f"{total['saved_percent']:.1f}"


def test_buckets_of_a_group_are_counted_in_every_shape(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["plan", "te", "square", "--split", "select", "--switch", "s1"]
    plan = plan_from_json(json_of(argv, capsys)["switches"][0])
    in_buckets = count_fields((), plan.groups)
    assert in_buckets > 0
    for shape in SHAPES:
        made = json_of([*argv, "--shape", shape, "--count"], capsys)["switches"][0]
        rows = plan_from_json(json_of([*argv, "--shape", shape], capsys)["switches"][0]).flows
        assert made["fields"] == count_fields(rows) + in_buckets


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("scheme", ["cb", "ffg", "shortest"])
def test_a_scheme_whose_rows_stay_as_planned_sends_every_packet_the_same_way(scheme: str, shape: str) -> None:
    topology = load_topology("figure2")
    plans = find_scheme(scheme).plan(topology, PlanOptions())
    made = installed_plans(plans, shape)
    assert [violations(plan) for plan in made.values() if violations(plan)] == []
    hosts, backwards = hosts_of(topology), 0
    for gone in (frozenset(), *(frozenset({link}) for link in topology.link_ids)):
        networks = [Network(topology, each, Learning(), gone) for each in (plans, made)]
        for source in topology.node_names:
            for target in topology.node_names:
                packet = Packet(hosts[source].ipv4, hosts[target].ipv4)
                expected, found = (network.send(source, packet) for network in networks)
                assert (found.path, found.outcome) == (expected.path, expected.outcome)
                backwards += len(set(expected.path)) < len(expected.path)
    assert (backwards > 0) == (scheme == "cb")


@pytest.mark.parametrize("shape", SHAPES)
def test_every_slot_of_every_shape_keeps_the_promise(shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    value = json_of(["verify", "kuijia", "square", "--failures", "2", "--shape", shape], capsys)
    assert (value["shape"], value["holds"], value["slots"]) == (shape, True, 1024 * 12 * 12)


@pytest.mark.ovs
@pytest.mark.parametrize("shape", SHAPES[1:])
def test_a_real_switch_in_a_shape_does_what_the_plan_says(shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["verify", "kuijia", "square", "--priorities", "four", "--shape", shape, "--against-ovs", "--samples", "50"]
    value = json_of(argv, capsys)
    assert (value["shape"], value["packets"], value["differences"]) == (shape, 50, 0)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["plan", "kuijia", "gscale", "--shape", "two-tabel"], "did you mean 'two-table'?"),
        (["plan", "sdfast", "square", "--shape", "decomposed"], "not for 'sdfast': its switches learn rows"),
        (["plan", "sdfast", "square", "--mode", "agent", "--shape", "two-table"], "its agent moves rows in"),
        (["plan", "cbc", "square", "--shape", "two-table"], "its controller rewrites single rows"),
        (["verify", "ffg", "square", "--shape", "decomposed"], "--shape is for schemes of tunnels, not for 'ffg'"),
    ],
)
def test_bad_input_is_one_line_with_the_repair(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert words in said.err
