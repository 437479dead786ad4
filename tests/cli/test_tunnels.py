"""`armor plan` and `armor verify` for schemes of tunnels."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from experiments.cli import hash_split, tunnels
from experiments.cli.main import main
from experiments.verify.against_ovs.decide.split import Moves, Split
from experiments.verify.against_ovs.split import Spread
from mininet_topos.catalogue import load_topology
from ovsdb_backup.tunnel_agent import read_configuration
from ryu_apps.plan.choices import PRIORITIES
from ryu_apps.plan.kuijia.priorities import PRIORITY_SETUPS
from ryu_apps.plan.serial import plan_from_json

GSCALE = load_topology("gscale")


def json_of(argv: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> dict:  # type: ignore[type-arg]
    assert main([*argv, "--json"]) == code
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_the_choices_are_those_of_the_planner() -> None:
    assert tuple(PRIORITY_SETUPS) == PRIORITIES


@pytest.mark.slow
def test_a_plan_is_printed_after_the_failures_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    whole = json_of(["plan", "kuijia", "gscale"], capsys)
    failed = json_of(["plan", "kuijia", "gscale", "--failed", "s1-s2", "--failed", "s3-s1"], capsys)
    assert failed["failed"] == ["s1-s2", "s1-s3"]
    assert [switch["node"] for switch in whole["switches"]] == list(GSCALE.node_names)
    sizes = [sum(len(switch["flows"]) for switch in value["switches"]) for value in (whole, failed)]
    assert sizes[0] < sizes[1]
    assert [plan_from_json(switch).dpid for switch in whole["switches"]] == list(range(1, 13))


def test_demands_prefixes_and_classes_shape_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demands = tmp_path / "demands.csv"
    demands.write_text("src,dst,demand_mbps\ns1,s9,900\n", encoding="utf-8")
    options = ["--demands", str(demands), "--low-to-high", "10", "--priorities", "eight", "--prefix", "s9=10.9.0.0/16"]
    assert main(["plan", "kuijia", "gscale", "--switch", "s1", *options]) == 0
    said = capsys.readouterr().out
    assert "ip_dscp=26" in said
    assert "nw_dst=10.9.0.0/255.255.0.0" in said
    assert "queue 6" in said
    assert "# Switch s2" not in said


def test_a_select_group_can_be_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    value = json_of(["plan", "te", "figure2", "--split", "select", "--switch", "s1"], capsys)
    assert {group["group_type"] for group in value["switches"][0]["groups"]} == {"select"}


@pytest.mark.slow
def test_a_promise_that_holds_is_said_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    value = json_of(["verify", "kuijia", "theta", "--failures", "1"], capsys)
    assert value["holds"] is True
    assert (value["histories"], value["commodities"], value["cases"]) == (9, 56, 9 * 56)
    assert value["delivered"] == value["slots"] == 1024 * value["cases"]
    assert main(["verify", "te", "theta", "--failures", "2", "--sample", "2"]) == 0
    said = capsys.readouterr().out
    assert "4 histories" in said
    assert "the promise holds" in said


def test_a_broken_promise_is_said_and_the_exit_code_is_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ryu_apps.plan.kuijia.plan.TunnelPlanner.failure_rows", lambda *_: {})
    assert main(["verify", "kuijia", "square"]) == 1
    said = capsys.readouterr().out
    assert "BROKEN: s1 to s2, slot " in said
    assert "THE PROMISE IS BROKEN" in said


def test_agent_configurations_are_written_for_agents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "agent_configurations"
    argv = ["plan", "kuijia", "square", "--notified-by", "agent", "--agent-configurations", str(folder), "--count"]
    assert main(argv) == 0
    assert "written: 4 agent configurations" in capsys.readouterr().err
    assert {file.name for file in folder.iterdir()} == {f"s{number}.json" for number in range(1, 5)}
    assert read_configuration(folder / "s2.json").node == "s2"


def test_tunnels_in_the_dscp_are_planned_counted_and_verified(capsys: pytest.CaptureFixture[str]) -> None:
    in_dscp = ["kuijia", "square", "--tunnel-field", "dscp"]
    labels, dscps = (json_of(["plan", *words, "--count"], capsys) for words in (["kuijia", "square"], in_dscp))
    assert (labels["tunnel_field"], dscps["tunnel_field"]) == ("mpls", "dscp")
    assert dscps["total"]["fields"] > labels["total"]["fields"]
    assert main(["plan", *in_dscp, "--count"]) == 0
    assert capsys.readouterr().out.startswith("kuijia on square, tunnels in the DSCP, replicated: ")
    value = json_of(["verify", *in_dscp], capsys)
    assert (value["holds"], value["tunnel_field"]) == (True, "dscp")
    assert value["delivered"] == value["slots"]


@pytest.mark.parametrize("words", [["--priorities", "eight"], ["--notified-by", "agent"]])
def test_what_tunnels_in_the_dscp_cannot_have_is_refused_in_one_sentence(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "kuijia", "square", "--tunnel-field", "dscp", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "tunnel_field mpls" in said


@pytest.mark.ovs
def test_plans_are_compared_with_open_vswitch(capsys: pytest.CaptureFixture[str]) -> None:
    argv = [
        "verify",
        "kuijia",
        "square",
        "--against-ovs",
        "--samples",
        "50",
        "--notified-by",
        "agent",
        "--failures",
        "2",
    ]
    value = json_of(argv, capsys)
    assert (value["packets"], value["differences"], value["notified_by"]) == (50, 0, "agent")
    assert len(set(value["failed"])) == 2


@pytest.mark.ovs
def test_flows_are_split_by_hash_and_the_result_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["verify", "kuijia", "square", "--hash-split", "100", "--pair", "h1,h3", "--weights", "3,1"]
    value = json_of(argv, capsys)
    assert (value["src"], value["dst"], value["weights"], value["slots"]) == ("s1", "s3", [0.75, 0.25], [768, 256])
    by_ranges = [each for each in value["spreads"] if each["split"] == "hash ranges"]
    assert [each["protocol"] for each in by_ranges] == ["tcp", "udp"]
    assert all(sum(each["flows"]) == 100 and each["holds"] and not each["unrepaired"] for each in by_ranges)
    assert [failure["moved"] for each in by_ranges for failure in each["failures"]] == [0] * 4
    said = hash_split.hash_split_text(value)
    assert "the hash ranges keep the promise" in said
    assert "1  s1-s2-s3" in said


def test_a_split_that_does_not_keep_its_weights_breaks_the_promise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skewed = Spread(Split((0.5, 0.5), (300, 100)))
    monkeypatch.setattr("experiments.verify.against_ovs.split.measure_spread", lambda *_: skewed)
    assert main(["verify", "te", "square", "--hash-split", "400"]) == 1
    assert "THE HASH RANGES BREAK THE PROMISE" in capsys.readouterr().out


def test_flows_that_move_break_what_kuijia_promises_and_rescaling_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fair = Split((0.5, 0.5), (200, 200))
    moved = Spread(fair, (Moves(0, Split((0, 1), (0, 200)), Split((0, 1), (0, 400)), 200, 5),))
    monkeypatch.setattr("experiments.verify.against_ovs.split.measure_spread", lambda *_: moved)
    codes = [main(["verify", scheme, "square", "--hash-split", "400"]) for scheme in ("kuijia", "rescaling")]
    capsys.readouterr()
    assert codes == [1, 0]


def test_histories_are_all_sets_at_once_and_then_one_by_one() -> None:
    links = GSCALE.link_ids
    total, single = tunnels.draw_histories(links, 1, None, 1)
    assert [list(history) for history in single] == [[frozenset({link})] for link in links]
    assert total == len(links)
    total, double = tunnels.draw_histories(links, 2, None, 1)
    found = list(double)
    assert total == len(found) == 19 * 18
    assert [len(history) for history in islice(found, 4)] == [1, 2, 1, 2]
    assert all(
        frozenset().union(*first) == frozenset().union(*second)
        for first, second in zip(found[::2], found[1::2], strict=True)
    )


def test_sampled_histories_follow_the_seed() -> None:
    one, again, other = (list(tunnels.draw_histories(GSCALE.link_ids, 3, 5, seed)[1]) for seed in (1, 1, 2))
    assert one == again != other
    assert len(one) == 10
    assert tunnels.draw_histories(GSCALE.link_ids, 1, 50, 1)[0] == 19


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["plan", "kuijai", "gscale"], "did you mean 'kuijia'?"),
        (["plan", "kuijia", "gscale", "--prefix", "10.0.0.0/8"], "names no switch; write NODE=PREFIX"),
        (["plan", "kuijia", "gscale", "--prefix", "s1=10.0.0.0/40"], "is no IPv4 prefix"),
        (["plan", "kuijia", "gscale", "--prefix", "s99=10.1.0.0/16"], "'s99', which is no node of 'gscale'"),
        (["plan", "kuijia", "gscale", "--failed", "s1-s9"], "has no link 's1-s9'"),
        (["plan", "kuijia", "gscale", "--switch", "s99"], "--switch 's99' is no node"),
        (["plan", "kuijia", "gscale", "--split", "select"], "cannot tag victims"),
        (["plan", "kuijia", "gscale", "--low-to-high", "10"], "--low-to-high splits demands; give --demands too"),
        (["plan", "kuijia", "usnet", "--demands", "random:5:9"], "--default-capacity-mbps"),
        (["plan", "kuijia", "gscale", "--priorities", "nine"], "priorities 'nine' is not known"),
        (["plan", "sdfast", "gscale", "--failed", "s1-s2"], "--failed is for schemes of tunnels, not for 'sdfast'"),
        (["verify", "ffg", "gscale", "--demands", "random:5:9"], "--demands is for schemes of tunnels"),
        (["verify", "te", "gscale", "--split", "select"], "--split select cannot be verified"),
        (["verify", "te", "gscale", "--split", "select", "--against-ovs"], "use --split ranges"),
        (["verify", "te", "pair", "--failures", "2"], "--failures is 2, and the topology has 1 links"),
        (["verify", "kuijia", "square", "--hash-split", "0"], "--hash-split is '0'; give a whole number"),
        (["verify", "sdfast", "square", "--hash-split", "9"], "--hash-split is for schemes of tunnels"),
        (["verify", "kuijia", "square", "--hash-split", "9", "--pair", "s1"], "names one host; write two"),
        (["verify", "kuijia", "square", "--hash-split", "9", "--pair", "h1,h9"], "is no host of 'square'"),
        (["verify", "kuijia", "square", "--hash-split", "9", "--weights", "1,x"], "give 2 numbers with commas"),
        (["verify", "te", "square", "--hash-split", "9", "--weights", "0,0"], "not all 0"),
        (["verify", "te", "square", "--hash-split", "9", "--split", "select"], "is what --hash-split compares with"),
        (["verify", "te", "pair", "--against-ovs", "--failures", "2"], "--failures is 2, and 1 links have tunnels"),
        (
            ["plan", "te", "square", "--split", "select", "--notified-by", "agent"],
            "agents change hash ranges, not groups",
        ),
        (
            ["plan", "kuijia", "square", "--agent-configurations", "there"],
            "--agent-configurations are for agents; add --notified-by agent",
        ),
        (
            ["plan", "sdfast", "square", "--agent-configurations", "there"],
            "--agent-configurations is for schemes of tunnels, not for 'sdfast'",
        ),
        (["verify", "te", "square", "--weights", "1,2"], "--weights is for --hash-split"),
        (["demo", "--scheme", "kuijia"], "'kuijia' needs tunnels and weights"),
    ],
)
def test_bad_input_is_one_line_with_the_repair(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert words in said.err
