"""`armor torture` on a small network: a storm of everything, a calm in which all is right, and what it notices."""

from __future__ import annotations

import json
import os
import urllib.request
from dataclasses import replace
from typing import Any

import pytest

from emulation.decide.wiring import CONTROLLER
from emulation.runfile import list_runs
from experiments.cli.main import main
from experiments.testbed.runs.folder import ResultFolder
from experiments.testbed.runs.run import plan_scenario
from experiments.torture.decide.drills import Outage
from experiments.torture.decide.faults import Fault, Step
from experiments.torture.network import TorturedNetwork
from experiments.torture.scenario import torture_scenario
from machine.places import call_inside
from tests.patience import wait_until
from tests.undisturbed import without_flaps

GIVEN_BACK = {
    f"{node} still gives packets back by {node}-q2: its link does not have its traffic back" for node in ("s1", "s2")
}
pytest.importorskip("ovs")
pytestmark = [pytest.mark.emulation, pytest.mark.ryu]


@pytest.mark.parametrize("mode", ["learned", "agent"])
def test_a_round_of_storm_and_calm_leaves_nothing(mode, tmp_path, capsys):
    words = ["torture", "square", "--mode", mode, "--minutes", "0.01", "--storm-s", "6", "--faults", "8", "--seed", "3"]
    assert main([*words, "--json", "--out", str(tmp_path / "out")]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["rounds"], value["recoveries"], value["violations"]) == (1, 1, [])
    assert value["faults"] >= 4
    assert (value["acknowledged_rows"] > 0, value["lost_rows"]) == (mode == "agent", 0)
    (row,) = (tmp_path / "out" / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(json.loads(row)["faults"]) == value["faults"]
    assert os.getpid() not in [run.owner.pid for run in list_runs()]


def test_what_is_not_right_after_a_calm_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.torture.network._CALM_SLACK_S", 5.0)
    scenario = replace(torture_scenario("square", "sdfast", None, 1, tls=False), wait_to_restore_s=0.5)
    ((variation, planned),) = plan_scenario(scenario).items()
    with TorturedNetwork(scenario, (variation, planned), ResultFolder(tmp_path / "out"), "run") as network:
        assert network.calm()[1] == []
        row = "table=0,priority=77,cookie=0x0301000000000001,ip,nw_dst=10.0.0.99,actions=drop"
        site = network._network.sites["s2"]
        network._network.run("s2", ["ovs-ofctl", "-OOpenFlow13", "add-flow", f"unix:{site.mgmt_socket}", row])
        found = without_flaps(network._network, lambda: network.calm()[1])
        assert [one.partition(", first")[0] for one in found] == ["s2 lacks 0 planned rows and has 1 stale ones"]
        network._network.run(
            "s2", ["ovs-ofctl", "-OOpenFlow13", "del-flows", f"unix:{site.mgmt_socket}", "priority=77"]
        )


def test_clocks_jump_and_a_wrong_topology_is_named_until_it_is_right_again(tmp_path):
    scenario = replace(torture_scenario("square", "sdfast", "agent", 1, tls=False), wait_to_restore_s=0.5)
    ((variation, planned),) = plan_scenario(scenario).items()
    with TorturedNetwork(scenario, (variation, planned), ResultFolder(tmp_path / "out"), "run") as network:
        faults = [Fault(0.0, "clock-ahead", "agent@s1", 2.0), Fault(0.0, "clock-back", "ovs-vswitchd@s2", 2.0)]
        faults += [Fault(0.1, "clock-back", "controller", 2.0), Fault(0.3, "silent", "s1-s2", 1.0)]
        network.storm(faults)
        assert network.calm()[1] == []
        wrong = Step(0.0, True, Fault(0.0, "topology", "s1-s2", 1.0))
        network._breakage.carry_out(wrong)
        pid = network._network.shell_pid(CONTROLLER)
        wait_until(lambda: "s1" in str(call_inside(pid, _mismatches)), "the controller names no mismatch at s1")
        network._breakage.carry_out(replace(wrong, begins=False))
        assert network.calm()[1] == []
        assert call_inside(pid, _mismatches) == []


def _mismatches() -> Any:
    try:
        with urllib.request.urlopen("http://127.0.0.1:8080/armor/mismatches", timeout=10) as answer:
            return json.load(answer)["mismatches"]
    except OSError:
        return None


def drill(*words: str, tmp_path, capsys) -> dict[str, object]:
    """Outcome of a drill on the square, which keeps every promise."""
    assert main(["drill", words[0], "square", *words[1:], "--seed", "3", "--json", "--out", str(tmp_path / "out")]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["violations"] == []
    return value


def test_links_fail_one_at_a_time_and_requests_are_lost_until_then(tmp_path, capsys):
    value = drill("links", "--times", "2", tmp_path=tmp_path, capsys=capsys)
    assert (value["failures"], value["not_recovered"]) == (2, 0)
    rows = [json.loads(line) for line in (tmp_path / "out" / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    counted = [row for row in rows if row["counted"]]  # the others: the machine stood still
    assert all(0 < row["lost"] < row["requests"] and row["recovered_ms"] > 0 for row in counted), rows
    assert len({row["link"] for row in counted}) == 2


def test_a_failure_without_recovery_is_a_violation(tmp_path, capsys, monkeypatch):
    lost = Outage("s1-s2", 330, 300, None)
    monkeypatch.setattr("experiments.torture.drills.network.DrilledNetwork.fail_link", lambda _network, _link: lost)
    assert main(["drill", "links", "square", "--times", "1", "--json", "--out", str(tmp_path / "out")]) == 1
    (violation,) = json.loads(capsys.readouterr().out)["violations"]
    assert "not answered again" in violation


def test_a_failure_while_the_machine_stood_still_is_repeated(tmp_path, capsys, monkeypatch):
    outages = [Outage("s1-s2", 330, 300, None, late_ms=400.0), Outage("s1-s2", 330, 50, 250.0, late_ms=1.0)]
    monkeypatch.setattr(
        "experiments.torture.drills.network.DrilledNetwork.fail_link", lambda _network, _link: outages.pop(0)
    )
    value = drill("links", "--times", "1", tmp_path=tmp_path, capsys=capsys)
    assert (value["rounds"], value["failures"], value["not_counted"], value["within_bound"]) == (2, 1, 1, 1)


def test_a_link_that_flaps_is_left_alone(tmp_path, capsys):
    drill("flap", "--flap-s", "8", tmp_path=tmp_path, capsys=capsys)
    (row,) = (json.loads(line) for line in (tmp_path / "out" / "rows.jsonl").read_text(encoding="utf-8").splitlines())
    assert 0 < row["lost"] < row["requests"]
    assert 0 < sum(row["changes_a_minute"]) <= row["most_changes_a_minute"]


@pytest.mark.parametrize(
    ("words", "run", "has_backup_rows"),
    [(("agent", "--mode", "agent"), "sdfast-agent", True), (("replay_agent", "--scheme", "sqr"), "sqr", False)],
)
def test_processes_are_killed_while_links_fail(words, run, has_backup_rows, tmp_path, capsys):
    value = drill(*words, "--times", "2", tmp_path=tmp_path, capsys=capsys)
    assert (value["run"], value["rounds"], value["recoveries"], value["faults"]) == (run, 2, 2, 4)
    assert (value["acknowledged_rows"] > 0, value["lost_rows"]) == (has_backup_rows, 0)


def test_replay_agents_are_tortured_and_a_link_without_its_traffic_is_seen(tmp_path):
    scenario = replace(torture_scenario("square", "sqr", None, 1, tls=False), wait_to_restore_s=0.5)
    ((variation, planned),) = plan_scenario(scenario).items()
    with TorturedNetwork(scenario, (variation, planned), ResultFolder(tmp_path / "out"), "run") as network:
        agents = [name for name in network.processes if name.startswith("replay_agent@")]
        assert agents == ["replay_agent@s1", "replay_agent@s2"]
        network.storm(
            [
                Fault(0.0, "carrier", "s1-s2", 2.0),
                Fault(0.2, "kill", agents[0], 0.5),
                Fault(0.2, "stop", agents[1], 1.0),
            ]
        )
        assert network.calm()[1] == []
        assert [(each.process, each.place) for each in network._network.restarts] == [("replay_agent", "s1")]
        link = scenario.topology.parse_link("s1-s2")
        network._injection.silent(link)
        wait_until(lambda: set(network._hosts_lack()) >= GIVEN_BACK, "packets are not given back")
        network._injection.restore(link)
        assert network.calm()[1] == []
