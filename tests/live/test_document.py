"""The document of a recorded run: times on one clock, counts as recorded, paths as the plan sends packets."""

from __future__ import annotations

import json
import socket
from itertools import combinations, pairwise

import pytest

from experiments.cli.main import main
from experiments.live.decide.document import FailureView, to_json
from experiments.live.decide.paths import paths_of_pair, planned_paths
from experiments.live.decide.places import SIDE, topology_view
from experiments.live.decide.series import MOST_PACKETS, thinned
from experiments.live.decide.timeline import spans
from experiments.live.replay import read_document
from experiments.live.walks import network_walks
from mininet_topos import toy
from mininet_topos.catalogue import CATALOGUE, load_topology
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction
from ryu_apps.plan.options import PlanOptions
from tests.live import folders
from tests.report.folders import campaign_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return folders.recovered_folder(tmp_path_factory.mktemp("live") / "mine")


@pytest.fixture(scope="module")
def run(folder):
    return read_document(folder).runs[0]


def test_events_stand_on_the_clock_of_the_packets(run):
    at = {(event.kind, event.node): event.t_ms for event in run.events}
    assert at["fail", ""] == pytest.approx(folders.FAILED_MS)
    assert at["repair", ""] == pytest.approx(folders.REPAIRED_MS)
    assert at["port_down", "s9"] == pytest.approx(2013.1)
    assert at["agent_install", "s9"] == pytest.approx(2020.0)
    assert [event.t_ms for event in run.events] == sorted(event.t_ms for event in run.events)


def test_events_before_zero_and_after_the_end_are_left_out(run):
    assert all(0 <= event.t_ms <= run.end_ms for event in run.events)
    assert "port_up" not in {event.kind for event in run.events}


def test_events_of_an_attempt_that_was_given_up_are_left_out(tmp_path, run):
    path = folders.recovered_folder(tmp_path / "mine")
    events = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    given_up = [{**each, "t_monotonic_s": each["t_monotonic_s"] - 60, "attempt": 1} for each in events]
    last = [{**each, "attempt": 2} for each in events]
    (path / "events.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in (*given_up, *last)))
    assert read_document(path).runs[0].events == run.events


def test_rows_of_an_agent_are_counted_less_those_it_removed(run):
    assert {event.node: event.rows for event in run.events if event.rows} == {"s9": 7}


def test_lost_packets_of_the_series_are_those_of_the_record(run):
    out = next(each for each in run.series if each.way == "out")
    assert sum(delay is None for delay in out.delay_ms) == folders.LOST
    assert (out.source, out.destination) == ("s4", "s10")
    assert next(each for each in run.series if each.way == "back").source == "s10"


def test_captured_packet_is_at_each_switch_later_than_at_the_one_before(run):
    (packet,) = next(each for each in run.series if each.way == "out").captured
    assert packet.nodes[0] == "s4"
    assert len(packet.nodes) == len(packet.links) + 1 == len(packet.at_ms)
    assert list(packet.at_ms) == sorted(packet.at_ms)


def test_a_failure_lasts_until_its_repair_and_its_routes_until_the_return(run):
    (failure,) = run.failures
    ((start, end),) = failure.down
    assert (start, end) == pytest.approx((folders.FAILED_MS, folders.REPAIRED_MS))
    assert failure.returned_ms == pytest.approx(1000 * folders.RETURNED_S)
    assert failure.stages["detect"] == pytest.approx(folders.FAILED_MS + 13.15)


def test_without_a_return_the_link_is_used_again_once_both_ends_report_it_up(tmp_path):
    path = folders.recovered_folder(tmp_path / "mine")
    lines = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    kept = [line for line in lines if line["event"] != "return_done"]
    topology = load_topology("darkstrand")
    ports = assign_ports(topology).port_of
    shared = {"source": "watcher", "event": "port_status", "live": True, "run": "sdfast-learned"}
    for at_s, node, other in ((11.0, "s9", "s10"), (11.5, "s10", "s9"), (12.5, "s9", "s10"), (12.0, "s1", "s2")):
        fields = {"node": node, "port_no": ports[Direction(node, other)], "t_monotonic_s": folders.ZERO_S + at_s}
        kept.append({**shared, **fields})
    (path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
    assert read_document(path).runs[0].failures[0].returned_ms == pytest.approx(11_500.0)


def test_spans_lead_from_the_usual_path_over_the_crankback_and_back(run):
    pair = next(each for each in run.pairs if each.source == "s4")
    assert [(span.phase, span.failed) for span in pair.spans] == [
        ("usual", ()),
        ("broken", ()),
        ("backtracking", ("s9-s10",)),
        ("settled", ("s9-s10",)),
        ("usual", ()),
    ]
    assert [round(span.from_ms, 1) for span in pair.spans[1:]] == [2000.0, 2015.7, 2016.1, 14250.0]
    reverse = next(each for each in run.pairs if each.source == "s10")
    assert "backtracking" not in {span.phase for span in reverse.spans}


def test_a_recovery_that_the_repair_interrupts_is_not_finished_afterwards():
    failure = FailureView("s9-s10", "silent", ("s9-s10",), (), ((10.0, 50.0),), 50.0, {}, {}, 0, 0, 0.0, True)
    row = {"is_affected": True, "first_switchover_ms": 5.0, "last_crankback_ms": 45.0, "first_good_ms": 6.0}
    order = load_topology("darkstrand").link_ids
    found = spans(0.0, [(failure, row)], order)
    assert [(span.from_ms, span.phase) for span in found] == [
        (0.0, "usual"),
        (10.0, "broken"),
        (15.0, "backtracking"),
        (50.0, "usual"),
    ]


def test_every_span_has_its_path(run):
    for pair in run.pairs:
        known = {paths.failed for paths in pair.paths}
        assert {span.failed for span in pair.spans} <= known


def test_the_first_packet_backtracks_as_the_captured_one(run):
    pair = next(each for each in run.pairs if each.source == "s4")
    paths = {each.failed: each for each in pair.paths}
    captured = next(each for each in run.series if each.way == "out").captured[0]
    assert paths["s9-s10",].first.nodes[: len(captured.nodes) - 3] == captured.nodes[:-3]
    assert "s9-s10" in paths[()].settled.links
    assert "s9-s10" not in paths["s9-s10",].settled.links


def walks_on(mode="learned"):
    topology = load_topology("darkstrand")
    return topology, network_walks(topology, "sdfast", PlanOptions(mode=mode, max_failures=1))


@pytest.mark.parametrize("mode", ["learned", "agent"])
def test_walks_are_paths_of_the_topology_that_avoid_failed_links(mode):
    topology, walks = walks_on(mode)
    link_at = {frozenset((link.a, link.b)): str(link) for link in topology.link_ids}
    for paths in paths_of_pair(walks, ("s4", "s10"), (), most_failed=1):
        for walk in (paths.first, paths.settled):
            assert [link_at[frozenset(step)] for step in pairwise(walk.nodes)] == list(walk.links)
            assert not set(walk.links) & set(paths.failed)
        assert paths.settled.outcome == "delivered"
        assert len(set(paths.settled.nodes)) == len(paths.settled.nodes)


def test_sets_that_stand_for_others_give_their_paths():
    """The page's rule: links that no packet meets change nothing."""
    topology, walks = walks_on()
    pair = ("s4", "s10")
    known = {frozenset(each.failed): each for each in paths_of_pair(walks, pair, (), most_failed=2)}
    for links in list(combinations(topology.link_ids, 2))[::9]:
        asked = frozenset(map(str, links))
        fitting = [
            each
            for failed, each in known.items()
            if failed <= asked and not (asked - failed) & {*each.first.links, *each.settled.links}
        ]
        best = max(fitting, key=lambda each: len(each.failed))
        walked = planned_paths(walks, pair, frozenset(links))
        assert (best.first, best.settled) == (walked.first, walked.settled), asked


def test_a_wanted_set_does_not_hide_those_that_contain_it():
    _, walks = walks_on()
    topology = walks(frozenset()).topology
    one = frozenset([topology.parse_link("s9-s10")])
    sets = {frozenset(each.failed) for each in paths_of_pair(walks, ("s4", "s10"), [one])}
    assert sets == {frozenset(each.failed) for each in paths_of_pair(walks, ("s4", "s10"), ())}


@pytest.mark.parametrize("name", [*sorted(CATALOGUE), *sorted(toy.TOYS)])
def test_every_map_fills_its_square_and_names_every_link(name):
    topology = (CATALOGUE.get(name) or toy.TOYS[name])()
    view = topology_view(topology)
    assert [node.name for node in view.nodes] == list(topology.node_names)
    assert [link.name for link in view.links] == list(map(str, topology.link_ids))
    places = [value for node in view.nodes for value in (node.x, node.y)]
    assert min(places) >= -1e-6
    assert max(places) <= SIDE + 1e-6
    assert len({(node.x, node.y) for node in view.nodes}) == len(view.nodes)


def test_thinning_keeps_losses_crankbacks_and_what_surrounds_failures():
    rows = [
        {"sent_s": number / 1000, "arrived_s": None if number == 77_777 else 1.0, "back_hops": int(number == 88_888)}
        for number in range(5 * MOST_PACKETS)
    ]
    kept = thinned(rows, [50_000.0])
    sent = {round(1000 * row["sent_s"]) for row in kept}
    assert {77_777, 88_888, *range(49_500, 50_501)} <= sent
    assert len(kept) < MOST_PACKETS + 1100
    assert thinned(rows[:MOST_PACKETS], []) == rows[:MOST_PACKETS]


def test_json_is_plain_and_complete(folder):
    document = read_document(folder)
    plain = to_json(document)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["format_version"] == 1
    assert plain["runs"][0]["counts"]["lost"] == 7
    assert [run["name"] for run in plain["runs"]] == ["sdfast-learned"]


def test_a_run_that_broke_off_says_why(tmp_path):
    path = folders.recovered_folder(tmp_path / "mine")
    verdict = json.loads((path / "verdict.json").read_text())
    broken = {"run": "sdfast-agent", "scheme": "sdfast", "mode": "agent", "failures": [], "error": "no answer"}
    verdict["runs"].append({**broken, "held": False, "warnings": ["no answer"]})
    (path / "verdict.json").write_text(json.dumps(verdict))
    run = read_document(path).runs[1]
    assert run.error == "no answer"
    assert not run.held
    assert not run.failures
    assert {span.phase for pair in run.pairs for span in pair.spans} == {"usual"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["nowhere"], "no folder of results and no topology"), (["{folder}", "--port", "70000"], "--port")],
)
def test_bad_input_is_one_sentence(folder, arguments, words, capsys):
    assert main(["live", *(each.format(folder=folder) for each in arguments)]) == 2
    assert words in capsys.readouterr().err


def test_a_taken_port_is_refused(folder, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["live", str(folder), "--port", str(port)]) == 2
    assert f"--port {port} cannot be used" in capsys.readouterr().err


def test_a_campaign_is_refused(tmp_path, capsys):
    assert main(["live", str(campaign_folder(tmp_path / "c"))]) == 2
    assert "campaign" in capsys.readouterr().err
