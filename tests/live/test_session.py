"""A live network whose emulation is played by a stand-in: what pages ask reaches it, what it logs reaches pages."""

from __future__ import annotations

import subprocess
from contextlib import nullcontext

import pytest

from experiments.live import network as live
from experiments.live import session
from experiments.live.session import run_session
from experiments.live.web_process import Asked
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.runs.run import plan_scenario
from machine.event_log import EventLog
from mininet_topos.catalogue import load_topology
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction
from ryu_apps.plan.addressing import hosts_of
from tests.patience import wait_until

PAIR = ("s1", "s2")
PINGS = "PING\n[%f] 64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.5 ms\n[%f] no answer yet for icmp_seq=2\n"


class StandIn:
    """A network: programs print what ping would; failures are kept and logged."""

    def __init__(self, scenario, _variation, work, _interval):
        self.topology, self.hosts = scenario.topology, hosts_of(scenario.topology)
        self.log, self.programs, self.is_closed = EventLog("emulation", work.events), [], False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_closed = True

    def popen(self, where, argv, **parameters):
        self.programs.append((where, argv))
        at_s = live.time.time()
        return subprocess.Popen(["printf", PINGS % (at_s, at_s + 0.01)], **parameters)


class Broken:
    """What is broken in the stand-in."""

    def __init__(self, network):
        self._network, self._names = network, set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def prepare(self):
        pass

    def _fail(self, kind, target):
        self._names.add(str(target))
        self._network.log.write("inject", kind=kind, target=str(target), live=False)

    def silent(self, link):
        self._fail("silent", link)

    def carrier(self, link):
        self._fail("carrier", link)

    def one_way(self, direction):
        self._fail("one-way", direction)

    def node(self, name):
        self._fail("node", name)

    def restore(self, name):
        self._names.remove(name)
        self._network.log.write("inject", kind="silent", target=name, live=True)

    def broken(self):
        return frozenset(self._names)


@pytest.fixture
def emulated(monkeypatch):
    """Networks that have been built, in order."""
    built = []

    def build(*arguments):
        built.append(StandIn(*arguments))
        return built[-1]

    monkeypatch.setattr(live, "emulated_network", build)
    monkeypatch.setattr(live, "FailureInjection", Broken)
    monkeypatch.setattr(live, "make_ready", lambda *_: None)
    monkeypatch.setattr(live, "PortWatch", lambda *_: nullcontext())
    monkeypatch.setattr(live, "Loads", lambda _: type("Loads", (), {"mbps": lambda self: {"s1-s2": 1.5}})())
    return built


def scenario_of(*schemes):
    topology = load_topology("ring:4")
    variations = tuple(Variation(scheme, "learned" if scheme == "sdfast" else "none") for scheme in schemes)
    return Scenario("ring:4", topology, variations, traffic=(), failures=(), duration_s=0.0)


@pytest.fixture
def network(emulated, tmp_path):
    scenario = scenario_of("sdfast")
    ((variation, planned),) = plan_scenario(scenario).items()
    made = live.LiveNetwork(scenario, (variation, planned), live.work_in(tmp_path, "x"), [PAIR])
    assert made.view.error == "the network is being built"
    made.start(lambda _: None)
    yield made, emulated[0]
    made.close()
    assert emulated[0].is_closed


def port_down(stand_in, node, other):
    port = assign_ports(stand_in.topology).port_of[Direction(node, other)]
    stand_in.log.write("port_status", node=node, port_no=port, live=False)


def test_looks_bring_what_is_logged_and_pinged(network):
    made, stand_in = network
    changed = made.look()
    assert changed["error"] == ""
    assert changed["loads_mbps"] == {"s1-s2": 1.5}
    wait_until(lambda: made.look() and len(made.view.series[0].sent_ms) == 2, "pings are read")
    assert made.view.series[0].counts == {"sent": 2, "lost": 1}
    assert made.act({"do": "fail", "link": "s1-s2", "kind": "silent"}) == ""
    changed = made.look()
    assert [failure["name"] for failure in changed["failures"]] == ["s1-s2"]
    assert [span["phase"] for span in changed["pairs"][0]["spans"]] == ["usual", "broken"]
    port_down(stand_in, "s1", "s2")
    changed = made.look()
    assert changed["pairs"][0]["spans"][-1]["failed"] == ["s1-s2"]
    assert "port_down" in {event["kind"] for event in changed["events"]}
    assert set(made.look()) <= {"end_ms", "series"}


@pytest.mark.parametrize(("kind", "target"), [("silent", "s1-s2"), ("carrier", "s1-s2"), ("one-way", "s1>s2")])
def test_links_fail_as_asked_and_are_repaired_under_their_name(network, kind, target):
    made, _ = network
    assert made.act({"do": "fail", "link": "s2-s1", "kind": kind}) == ""
    made.look()
    assert made.view.failures[-1].name == target
    assert "down already" in made.act({"do": "fail", "link": "s1-s2"})
    assert made.act({"do": "repair", "link": "s1-s2"}) == ""
    made.look()
    assert made.view.failures[-1].down[0][1] is not None
    assert "not failed by itself" in made.act({"do": "repair", "link": "s1-s2"})


def test_a_switch_fails_with_all_its_links(network):
    made, _ = network
    assert made.act({"do": "fail", "switch": "s2"}) == ""
    made.look()
    assert set(made.view.failures[-1].links) == {"s1-s2", "s2-s3"}
    assert "down already" in made.act({"do": "fail", "switch": "s2"})
    assert "not failed by itself" in made.act({"do": "repair", "link": "s1-s2"})
    assert made.act({"do": "repair", "switch": "s2"}) == ""


def test_a_flapping_link_stays_up_in_the_end(network, monkeypatch):
    made, _ = network
    monkeypatch.setattr(live, "FLAP_S", 0.02)
    assert made.act({"do": "fail", "link": "s1-s2", "kind": "flap"}) == ""

    def is_over():
        made.look()
        ends = [failure.down[0][1] for failure in made.view.failures]
        return len(ends) == live.FLAPS and None not in ends

    wait_until(is_over, "the link has flapped")
    assert not made._later


def test_traffic_of_a_stream_has_a_port_of_its_own(network):
    made, stand_in = network
    for kind in ("udp", "tcp"):
        assert made.act({"do": "send", "from": "s1", "to": "s3", "kind": kind}) == ""
    servers = [argv for where, argv in stand_in.programs if where == "h3"]
    assert len({argv[-1] for argv in servers}) == 2

    def have_clients():
        made.look()
        return sum(where == "h1" and "-c" in argv for where, argv in stand_in.programs) == 2

    wait_until(have_clients, "clients start")


def test_a_session_acts_on_all_its_networks_and_ends_them(emulated, monkeypatch):
    scenario = scenario_of("sdfast", "shortest")
    said, addresses = [], []

    class Web:
        """Two requests, then Ctrl-C."""

        url = "http://127.0.0.1:1/x/"
        answers, published = [], []

        def __init__(self, document, _port):
            assert [run["scheme"] for run in document["runs"]] == ["sdfast", "shortest"]
            self.requests = iter([None, (1, {"do": "fail", "link": "s1-s2"}), (2, {"do": "fail", "link": "s1-s3"})])

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def asked(self):
            found = next(self.requests, "over")
            if found == "over":
                raise KeyboardInterrupt
            return None if found is None else Asked(*found)

        def answer(self, number, error):
            self.answers.append((number, error))

        def publish(self, run, _changed):
            self.published.append(run)

    monkeypatch.setattr(session, "WebProcess", Web)
    with pytest.raises(KeyboardInterrupt):
        run_session(scenario, plan_scenario(scenario), [PAIR], 0, addresses.append, say=said.append)
    assert addresses == [Web.url]
    assert set(Web.published) == {0, 1}
    assert Web.answers[0] == (1, "")
    assert Web.answers[1][0] == 2
    assert "no link" in Web.answers[1][1]
    assert len(emulated) == 2
    assert all(each.is_closed for each in emulated)
    assert said[-1] == "running; Ctrl-C ends it"
