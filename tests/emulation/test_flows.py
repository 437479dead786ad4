"""Flows in tunnels on real switches: a failure moves victims only, and traffic engineering disturbs nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from emulation.runfile import STATE_VARIABLE
from experiments.terminal.inputs import parse
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.parts import emulated_network
from experiments.testbed.runs.readiness import unlike_plan
from experiments.testbed.runs.run import make_ready
from experiments.testbed.runs.tunnels import tunnel_planner, tunnel_plans
from tests.patience import wait_until
from tests.undisturbed import undisturbed_run

pytestmark = pytest.mark.emulation

HEAD = """\
topology: theta
link_delays: false
capacity_mbps: 4
bfd_interval_ms: 100
settle_s: 1
shape: decomposed
"""
# Of theta's three tunnels from s1 to s2 the second one, over s4 and s5, fails.
FAILURE = """\
scheme: kuijia
flows:
  - {name: victim, from: h1, to: h2, kind: udp, mbps: 0.6, tunnel: 1, moves_to: 0}
  - {name: kept, from: h1, to: h2, kind: udp, mbps: 0.6, tunnel: 0}
  - {name: steady, from: h1, to: h2, kind: tcp, mbps: 1, tunnel: 0}
failures:
  - {link: [s4, s5], at_s: 2}
duration_s: 8
"""
RERUN = """\
scheme: kuijia
demands:
  - {src: s1, dst: s2, demand_mbps: 3}
flows:
  - {name: first, from: h1, to: h2, kind: udp, mbps: 0.3, tunnel: 0}
  - {name: second, from: h1, to: h2, kind: udp, mbps: 0.3, tunnel: 1}
reoptimise:
  at_s: 1
  demands:
    - {src: s1, dst: s2, demand_mbps: 3}
    - {src: s3, dst: s4, demand_mbps: 3}
duration_s: 12
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run files of these tests lie apart, so that leftovers of others are not mistaken for theirs."""
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path_factory.mktemp("state")))


def run(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    path = folder / "scenario.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    _, (result,) = undisturbed_run(path, folder / "out", capsys)
    assert "error" not in result, result
    return result


def claim(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next(claim for claim in result["claims"] if claim["name"].startswith(name))


@pytest.mark.parametrize(
    ("notified_by", "tunnel_field"), [("controller", "mpls"), ("agent", "mpls"), ("controller", "dscp")]
)
def test_only_the_victim_moves_and_the_switches_hold_the_rows_for_it_in_the_installed_shape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], notified_by: str, tunnel_field: str
) -> None:
    result = run(f"{FAILURE}notified_by: {notified_by}\ntunnel_field: {tunnel_field}\n", tmp_path, capsys)
    flows = {flow["name"]: flow for flow in result["flows"]}
    assert {name: flow["class"] for name, flow in flows.items()} == {
        "victim": "victim",
        "kept": "direct",
        "steady": "direct",
    }
    assert (flows["victim"]["tunnel"], flows["victim"]["tunnel_after"]) == (1, 0)
    assert claim(result, "rows")["held"], claim(result, "rows")
    # The link has room for all, so the victim gets through too, behind the others.
    for flow in flows.values():
        assert flow["after_mbps"] > 0.5 * flow["offered_mbps"], flow
    queues = result["links"]["s1>s3"]
    assert queues["before"]["2"] == 0.0
    assert queues["after"]["2"] > 0.3, "victims wait in the last queue"
    left = result["links"]["s1>s4"]
    assert left["before"]["1"] > 0.3, "the victim's own tunnel carried it before"
    assert left["after"]["1"] < 0.1 * left["before"]["1"]
    assert (tmp_path / "out" / "figure.png").stat().st_size > 0
    assert result["failures"][0]["stages_ms"]["switch_over"] is not None
    events = (tmp_path / "out" / "events.jsonl").read_text(encoding="utf-8")
    assert ('"agent_install"' in events, '"restoration_done"' in events) == (
        notified_by == "agent",
        notified_by != "agent",
    )


def test_a_network_is_ready_once_its_controller_has_returned_to_links_that_came_up_late(tmp_path: Path) -> None:
    scenario = parse(HEAD + FAILURE + "wait_to_restore_s: 2\n", "scenario.yaml")
    (variation,) = scenario.variations
    plans = tunnel_plans(scenario, tunnel_planner(scenario, variation))
    work = Work(tmp_path)
    work.events.touch()

    def unlike(network: EmulatedNetwork) -> list[str]:
        return [text for site in network.sites.values() if (text := unlike_plan(site, plans[site.dpid]))]

    with emulated_network(scenario, variation, work, 100) as network:
        make_ready(network, plans, variation, print)
        with FailureInjection(network) as injection:
            injection.silent(scenario.topology.parse_link("s4-s5"))
            wait_until(lambda: unlike(network), "the controller has answered the failure", 30)
        make_ready(network, plans, variation, print)
        assert unlike(network) == []


def test_flows_that_need_not_move_are_neither_lost_nor_reordered_by_a_run_of_traffic_engineering(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(RERUN, tmp_path, capsys)
    assert claim(result, "rows")["held"], claim(result, "rows")
    events = (tmp_path / "out" / "events.jsonl").read_text(encoding="utf-8")
    staying = [flow for flow in result["flows"] if flow["stays"]]
    assert staying
    for flow in staying:
        counts = (flow["sent"] - flow["received"], flow["duplicated"], flow["reordered"])
        assert counts == (0, 0, 0), (flow["name"], flow["reordered_ms"], result["warnings"], events)
