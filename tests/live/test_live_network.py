"""What a live network's log, pings and pages say, without a network."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request

import pytest

from experiments.analysis.events import Event
from experiments.live.decide.actions import Fail, FailSwitch, Repair, Send, read_action
from experiments.live.decide.document import Document, to_json
from experiments.live.decide.log_view import LogReader, live_pair
from experiments.live.decide.pings import MOST_PACKETS, Pings
from experiments.live.decide.places import topology_view
from experiments.live.decide.running import first_view
from experiments.live.loads import sent_bytes
from experiments.live.web_process import WebProcess
from mininet_topos.errors import BadInputError, TopologyError
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction, LinkId
from tests.patience import patient_s, wait_until

PAIR = ("s4", "s10")
LINK = LinkId("s9", "s10")
ZERO_S = 500.0
TAG_OF_LINK = 7


@pytest.fixture
def log(topology):
    """A reader, and a function that gives it events at ms after the page's zero."""
    reader = LogReader(topology, ZERO_S, {TAG_OF_LINK: (LINK,)}.__getitem__)

    def write(t_ms, name, source="x", **fields):
        reader.read(Event(ZERO_S + t_ms / 1000, source, name, fields))

    return reader, write


def port_of(topology, link, node):
    other = link.b if node == link.a else link.a
    return assign_ports(topology).port_of[Direction(node, other, link.key)]


def test_a_failure_is_read_from_injection_to_return(topology, log):
    reader, write = log
    port = port_of(topology, LINK, "s9")
    write(1000.0, "inject", kind="silent", target="s9-s10", live=False)
    write(1013.0, "port_status", node="s9", port_no=port, live=False)
    write(1020.0, "port_status", node="s10", port_no=port_of(topology, LINK, "s10"), live=False)
    write(1014.0, "notification", node="s9", tag_id=TAG_OF_LINK)
    write(1800.0, "notification", node="s6", link="s9-s10", since_s=ZERO_S + 1.016)
    write(5000.0, "inject", kind="silent", target="s9-s10", live=True)
    write(9000.0, "return_done", links=["s9-s10"])
    (failure,) = reader.views(9500.0, 10_000.0)
    assert failure.down[0] == pytest.approx((1000.0, 5000.0))
    assert failure.stages == pytest.approx({"detect": 1013.0})
    assert failure.notified == pytest.approx({"s9": 1014.0, "s6": 1016.0})
    assert failure.returned_ms == pytest.approx(9000.0)


def test_states_before_the_failure_and_of_other_ports_are_no_detection(topology, log):
    reader, write = log
    port = port_of(topology, LINK, "s9")
    write(10.0, "port_status", node="s9", port_no=port, live=False)
    write(1000.0, "inject", kind="silent", target="s9-s10", live=False)
    write(1001.0, "port_status", node="s9", port_no=port, live=True)
    write(1002.0, "port_status", node="s9", port_no=port, live=False, is_first=True)
    write(1003.0, "port_status", node="s1", port_no=port_of(topology, LinkId("s1", "s2"), "s1"), live=False)
    (failure,) = reader.views(1100.0, 10_000.0)
    assert failure.stages == {}


def test_routes_of_a_scheme_that_says_nothing_are_back_after_the_wait(log):
    reader, write = log
    write(0.0, "inject", kind="carrier", target="s9-s10", live=False)
    write(100.0, "inject", kind="carrier", target="s9-s10", live=True)
    assert reader.views(150.0, 1000.0)[0].returned_ms is None
    assert reader.views(1200.0, 1000.0)[0].returned_ms == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("target", "links"), [("s9>s10", ("s9-s10",)), ("s12", ("s11-s12", "s12-s13")), ("controller", ())]
)
def test_what_fails_is_a_link_a_direction_a_switch_or_no_part_of_the_map(topology, log, target, links):
    reader, write = log
    write(0.0, "inject", kind="x", target=target, live=False)
    assert {topology.parse_link(link) for link in reader.views(1.0, 0.0)[0].links} == set(
        map(topology.parse_link, links)
    )


def test_packets_are_lost_until_the_failure_is_detected(topology, walks, log):
    reader, write = log
    (pair,) = first_view("x", "sdfast", "learned", {PAIR: walks.every(PAIR)}).pairs
    write(1000.0, "inject", kind="silent", target="s9-s10", live=False)
    write(1013.0, "port_status", node="s9", port_no=port_of(topology, LINK, "s9"), live=False)
    write(5000.0, "inject", kind="silent", target="s9-s10", live=True)
    write(9000.0, "return_done", links=["s9-s10"])
    spans = live_pair(pair, reader.views(9500.0, 1.0), topology, walks.one).spans
    assert [(round(span.from_ms), span.failed, span.phase) for span in spans] == [
        (0, (), "usual"),
        (1000, (), "broken"),
        (1013, ("s9-s10",), "settled"),
        (9000, (), "usual"),
    ]


def test_a_failure_beside_the_path_breaks_nothing(topology, walks, log):
    reader, write = log
    (pair,) = first_view("x", "sdfast", "learned", {PAIR: walks.every(PAIR)}).pairs
    write(1000.0, "inject", kind="silent", target="s21-s22", live=False)
    assert {span.phase for span in live_pair(pair, reader.views(2000.0, 1.0), topology, walks.one).spans} == {"usual"}


# ---- actions


def test_actions_are_read(topology):
    assert read_action(topology, {"do": "fail", "link": "s10-s9", "kind": "one-way"}) == Fail(LINK, "one-way")
    assert read_action(topology, {"do": "fail", "link": "s9-s10"}) == Fail(LINK, "silent")
    assert read_action(topology, {"do": "repair", "link": "s9-s10"}) == Repair(LINK)
    assert read_action(topology, {"do": "fail", "switch": "s9"}) == FailSwitch("s9")
    assert read_action(topology, {"do": "repair", "switch": "s9"}) == Repair("s9")
    assert read_action(topology, {"do": "send", "from": "s1", "to": "s9", "kind": "tcp"}) == Send("s1", "s9", "tcp")


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"do": "explode"},
        {"do": "fail"},
        {"do": "fail", "link": "s1-s28"},
        {"do": "fail", "switch": "s99"},
        {"do": "fail", "link": "s9-s10", "kind": "loudly"},
        {"do": "repair", "link": ["s9", "s10"]},
        {"do": "send", "from": "s1", "to": "s1"},
        {"do": "send", "from": "s1", "to": 9},
        {"do": "send", "from": "s1", "to": "s9", "kind": "fax"},
    ],
)
def test_anything_else_is_refused(topology, value):
    with pytest.raises((BadInputError, TopologyError)):
        read_action(topology, value)


# ---- pings


def answer(at_s, number, ms):
    return f"[{at_s:.6f}] 64 bytes from 10.0.0.9: icmp_seq={number} ttl=64 time={ms} ms\n"


def test_pings_are_read_with_their_losses():
    pings = Pings(zero_s=1000.0, interval_s=0.01)
    for line in (
        "PING 10.0.0.9 (10.0.0.9) 56(84) bytes of data.\n",
        answer(1000.0105, 1, 0.5),
        "[1000.030000] no answer yet for icmp_seq=2\n",
        "[1000.040000] no answer yet for icmp_seq=3\n",
        answer(1000.0450, 3, 14.5),
    ):
        pings.read(line)
    series = pings.series("s1", "s9")
    assert series.sent_ms == pytest.approx((10.0, 20.0, 30.5))
    assert series.delay_ms == (0.5, None, 14.5)
    assert series.counts == {"sent": 3, "lost": 1}


def test_numbers_of_pings_count_on_beyond_sixteen_bits_and_old_ones_are_forgotten():
    pings = Pings(zero_s=0.0, interval_s=0.01)
    count = 70_000
    for number in range(1, count):
        pings.read(answer(number / 100, number % 65_536, 1.0))
    series = pings.series("s1", "s9")
    assert len(series.sent_ms) == MOST_PACKETS
    assert list(series.sent_ms) == sorted(series.sent_ms)
    assert series.sent_ms[-1] == pytest.approx(10.0 * (count - 1) - 1.0)


def test_counters_of_interfaces_are_read():
    with open("/proc/net/dev", encoding="utf-8") as file:
        found = sent_bytes(file.read())
    assert found["lo"] >= 0


# ---- the web process


@pytest.fixture
def web(topology, walks):
    pytest.importorskip("uvicorn", reason="Python package uvicorn is not installed")
    run = first_view("x", "sdfast", "learned", {PAIR: (walks.one(PAIR, frozenset()),)})
    with WebProcess(to_json(Document("x", "live", topology_view(topology), (run,))), 0) as process:
        yield process


def ask(web, wanted, kind="application/json"):
    """Status and JSON of the answer to a page's request."""
    data = json.dumps(wanted).encode()
    request = urllib.request.Request(f"{web.url}act", data, {"Content-Type": kind}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=patient_s(20)) as found:
            return found.status, json.load(found)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_pages_follow_and_ask(web):
    with urllib.request.urlopen(f"{web.url}events", timeout=patient_s(20)) as stream:
        first = json.loads(stream.readline().removeprefix(b"data: "))
        assert first["0"]["scheme"] == "sdfast"
        assert stream.readline() == b"\n"
        web.publish(0, {"end_ms": 12.5})
        assert json.loads(stream.readline().removeprefix(b"data: ")) == {"0": {"end_ms": 12.5}}
    assert ask(web, {"do": "fail"}, "text/plain")[0] == 415
    assert ask(web, ["fail"])[0] == 400
    answers = []
    asking = threading.Thread(target=lambda: answers.append(ask(web, {"do": "fail", "link": "s1-s2"})))
    asking.start()
    asked = wait_until(web.asked, "the page's request arrives")
    assert asked.wanted == {"do": "fail", "link": "s1-s2"}
    web.answer(asked.number, "no such luck")
    asking.join()
    assert answers == [(200, {"error": "no such luck"})]


def test_the_web_process_ends_with_its_network(web):
    process = web._process
    web.__exit__(None, None, None)
    assert process.returncode is not None
