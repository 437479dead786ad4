"""A network that is looked at again and again: what changes between looks is what the page learns."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import pytest

from experiments.cli.main import main
from experiments.live.attach import Attached, Controller, ControllerGoneError
from experiments.live.decide.document import Document, changes, to_json
from experiments.live.decide.places import topology_view
from experiments.live.decide.rest_seen import is_same_network, seen, topology_of
from experiments.live.decide.running import MOST_EVENTS, Seen, advanced, first_view
from experiments.live.hub import Hub
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.live_topology import Expected, LiveTopology
from ryu_apps.control.decide.rest import respond
from ryu_apps.plan.options import PlanOptions
from tests.patience import wait_until

PAIR = ("s4", "s10")


@pytest.fixture
def looked(topology, walks):
    """Looks at the network, one after the other: (function, list of runs)."""
    runs, before = [first_view("attached", "sdfast", "learned", {PAIR: (walks.one(PAIR, frozenset()),)})], [Seen(0.0)]

    def look(t_ms, *failed, **more):
        now = Seen(t_ms, frozenset(map(topology.parse_link, failed)), **more)
        runs.append(advanced(runs[-1], topology, before[-1], now, walks.one))
        before.append(now)
        return runs[-1]

    return look, runs


def test_nothing_new_changes_only_the_time(looked):
    look, runs = looked
    assert changes(runs[0], look(500.0)) == {"end_ms": 500.0}


def test_a_failure_moves_the_pairs_that_cross_it_and_its_repair_moves_them_back(looked):
    look, _ = looked
    look(1000.0, "s9-s10")
    run = look(9000.0)
    (failure,) = run.failures
    assert failure.down == ((1000.0, 9000.0),)
    (pair,) = run.pairs
    assert [(span.from_ms, span.failed, span.phase) for span in pair.spans] == [
        (0.0, (), "usual"),
        (1000.0, ("s9-s10",), "settled"),
        (9000.0, (), "usual"),
    ]
    paths = {each.failed: each.settled for each in pair.paths}
    assert "s9-s10" in paths[()].links
    assert "s9-s10" not in paths["s9-s10",].links
    assert [event.kind for event in run.events] == ["fail", "repair"]


def test_a_failure_began_when_the_first_switch_knew_of_it(looked):
    look, _ = looked
    run = look(1000.0, "s9-s10", known_ms={("s9", "s9-s10"): 620.0, ("s6", "s9-s10"): 640.0})
    run = look(1500.0, "s9-s10", known_ms={("s9", "s9-s10"): 621.0, ("s6", "s9-s10"): 640.0, ("s1", "s9-s10"): 1200.0})
    (failure,) = run.failures
    assert failure.down == ((620.0, None),)
    assert failure.notified == {"s9": 620.0, "s6": 640.0, "s1": 1200.0}
    assert [event.node for event in run.events if event.kind == "notified"] == ["s9", "s6", "s1"]
    assert [event.t_ms for event in run.events] == sorted(event.t_ms for event in run.events)


def test_a_link_that_fails_again_is_another_failure(looked):
    look, _ = looked
    for t_ms, failed in ((1.0, ["s1-s2"]), (2.0, []), (3.0, ["s1-s2"])):
        run = look(t_ms, *failed)
    assert [failure.down for failure in run.failures] == [((1.0, 2.0),), ((3.0, None),)]


def test_changes_are_what_a_page_lacks(looked):
    look, runs = looked
    look(1000.0, "s9-s10", loads_mbps={"s1-s2": 3.5})
    look(2000.0, "s9-s10", "s1-s2", away=frozenset(["s3"]))
    look(3000.0)
    shown = to_json_of(runs[0])
    for old, new in pairwise(runs):
        shown.update(json.loads(json.dumps(changes(old, new))))
        assert shown == to_json_of(new)


def to_json_of(run):
    view = topology_view(load_topology("darkstrand"))
    (value,) = to_json(Document("x", "live", view, (run,)))["runs"]
    return value


def test_old_events_are_forgotten(looked):
    look, _ = looked
    for number in range(MOST_EVENTS // 2 + 2):
        run = look(float(number), *(["s1-s2"] if number % 2 else []), away=frozenset(["s3"] if number % 2 else []))
    assert len(run.events) == MOST_EVENTS
    assert run.events[-1].t_ms == float(number)


# ---- over the REST interface


class Stub:
    """What a controller knows, for the app's own REST functions."""

    def __init__(self, topology):
        self.topology, self.failed = topology, frozenset()
        self._live = LiveTopology(Expected(topology))

    def live_topology(self):
        return self._live

    def failed_links(self):
        return self.failed

    def port_samples(self):
        return {}

    def knowledge(self):
        return ()

    def state(self):
        return {"scheme": "sdfast", "topology": self.topology.name, "options": asdict(PlanOptions(max_failures=1))}


@contextmanager
def serving(view):
    """The REST interface of a stub: its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, value = respond(view, (), "GET", self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("name", ["darkstrand", "usnet", "grid:3x3"])
def test_the_reported_topology_is_the_controllers(name):
    topology = load_topology(name)
    view = Stub(topology)
    reported = topology_of(json.loads(json.dumps(respond(view, (), "GET", "/armor/topology")[1])))
    assert is_same_network(topology, reported)
    assert topology_view(reported).name == topology_view(topology).name


def test_a_controller_s_failures_reach_the_page(topology):
    view = Stub(topology)
    with serving(view) as url:
        attached = Attached(Controller(f"{url}/", {}), ["h4,h10"])
        attached.look()
        view.failed = frozenset([topology.parse_link("s9-s10")])
        attached.look()
    value = attached.hub.document
    # What is so from the beginning (no switch of the stub is connected) is no event.
    assert [event["kind"] for event in value["runs"][0]["events"]] == ["fail"]
    assert value["source"] == "attached"
    assert value["runs"][0]["scheme"] == "sdfast"
    assert [failure["name"] for failure in value["runs"][0]["failures"]] == ["s9-s10"]
    assert value["runs"][0]["pairs"][0]["spans"][-1]["failed"] == ["s9-s10"]
    # The catalogue's places, which the controller does not report.
    places = [node[axis] for node in value["topology"]["nodes"] for axis in "xy"]
    wanted = [getattr(node, axis) for node in topology_view(topology).nodes for axis in "xy"]
    assert places == pytest.approx(wanted, abs=0.001)


@contextmanager
def followed(attached):
    """The page's run while a thread follows the controller."""
    ended = threading.Event()
    thread = threading.Thread(target=attached.follow, args=(ended,))
    thread.start()
    try:
        yield attached.hub.document["runs"][0]
    finally:
        ended.set()
        thread.join()


def test_a_page_follows_its_controller_until_that_has_gone(topology):
    view = Stub(topology)
    with serving(view) as url:
        attached = Attached(Controller(url, {}), ["s4,s10"])
        with followed(attached) as run:
            view.failed = frozenset([topology.parse_link("s9-s10")])
            wait_until(lambda: run["failures"], "the failure is seen")
            then_ms = run["end_ms"]
            wait_until(lambda: run["end_ms"] > then_ms, "time goes on")
            assert [failure["name"] for failure in run["failures"]] == ["s9-s10"]
            assert run["error"] == ""
    with followed(attached) as run:
        wait_until(lambda: run["error"], "the page says that nobody answers")
        assert "does not answer" in run["error"]
        assert [failure["name"] for failure in run["failures"]] == ["s9-s10"]


def test_times_of_another_machine_s_clock_are_not_believed(topology):
    known = {"knowledge": [{"node": "s1", "link": "s9-s10", "source": "notification", "since_s": 12.0}]}
    answers = {"topology": respond(Stub(topology), (), "GET", "/armor/topology")[1], "knowledge": known}
    answers["ports"] = {
        "ports": [{"node": "s1", "port_no": 2, "tx_mbps": 4.0}, {"node": "s1", "port_no": 1, "tx_mbps": 9.0}]
    }
    assert seen(topology, answers, 5000.0, 10.0).known_ms == {("s1", "s9-s10"): 2000.0}
    assert seen(topology, answers, 5000.0, None).known_ms == {("s1", "s9-s10"): 5000.0}
    assert list(seen(topology, answers, 5000.0, None).loads_mbps.values()) == [4.0]


@pytest.mark.parametrize("url", ["nonsense", "ftp://x", "http://", "http://[::1"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(BadInputError, match="no address"):
        Controller(url, {})


def test_a_controller_that_is_not_there_is_one_sentence(capsys):
    assert main(["live", "--attach", "http://127.0.0.1:9"]) == 2
    assert "does not answer" in capsys.readouterr().err
    with pytest.raises(ControllerGoneError):
        Controller("http://127.0.0.1:9", {}).get("state")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name one of both"),
        (["darkstrand", "--attach", "http://127.0.0.1:9"], "name one of both"),
        (["{folder}", "--pair", "h1,h2"], "--pair is for networks"),
        (["--attach", "http://127.0.0.1:9", "--export", "page.html"], "--export is for folders"),
        (["--attach", "http://127.0.0.1:9", "--scheme", "ffg"], "--scheme is for"),
        (["darkstrand", "--export", "page.html"], "--export is for folders"),
        (["{folder}", "--side-by-side", "ffg"], "--side-by-side is for"),
        (["{folder}", "--out", "page.html"], "--out has no use without --export"),
        (["{folder}", "--token-file", "token"], "--token-file is for --attach"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, arguments, words, capsys):
    assert main(["live", *(each.format(folder=tmp_path) for each in arguments)]) == 2
    assert words in capsys.readouterr().err


# ---- to the pages


def test_each_page_gets_the_whole_run_and_then_what_changes(looked):
    _, runs = looked
    hub = Hub({"runs": [to_json_of(runs[0])]})

    async def listen():
        one, other = hub.updates(), hub.updates()
        first = [await anext(one), await anext(other)]
        hub.publish({"end_ms": 7.0})
        second = [await anext(one), await anext(other)]
        for each in (one, other):
            await each.aclose()
        return first, second

    first, second = asyncio.run(listen())
    assert first[0] == first[1]
    assert json.loads(first[0].removeprefix("data: "))["0"]["scheme"] == "sdfast"
    assert [json.loads(text.removeprefix("data: ")) for text in second] == [{"0": {"end_ms": 7.0}}] * 2
    assert all(text.endswith("\n\n") for text in (*first, *second))
    assert hub.document["runs"][0]["end_ms"] == 7.0


def test_a_page_that_is_far_behind_gets_the_whole_run_again(looked):
    _, runs = looked
    hub = Hub({"runs": [to_json_of(replace(runs[0], name="x"))]})

    async def listen():
        page = hub.updates()
        await anext(page)
        for number in range(100):
            hub.publish({"end_ms": float(number)})
        await asyncio.sleep(0)
        texts = [await anext(page) for _ in range(4)]
        await page.aclose()
        return [json.loads(text.removeprefix("data: "))["0"] for text in texts]

    values = asyncio.run(listen())
    assert values[0]["name"] == "x"
    assert [value["end_ms"] for value in values[1:]] == [value["end_ms"] + 1 for value in values[:-1]]
