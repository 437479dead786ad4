"""SQR in an emulated network: a link fails under a stream, nothing is lost, and the link gets its traffic back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dataplane.model.marking import EVERY_PACKET, Marking
from dataplane.sqr import find_agent
from emulation.decide.options import EmulationOptions
from emulation.decide.switch import REPLAY_AGENT
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.scenario.values import Replay
from experiments.testbed.runs.parts import controller_command
from experiments.testbed.runs.virtual_ports import sqr_ports
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import MissingRequirementError
from tests.emulation.numbered import received
from tests.patience import wait_until

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]
RING = Path(__file__).resolve().parents[2] / "examples" / "sqr_ring.json"
MARGIN = 16
DELTA_MS = 5000.0  # longer than BFD and a busy machine need to see a silent failure


MARKED = Marking(dscp=(46,))


@contextmanager
def buffering(folder: Path, marked: Marking) -> Iterator[EmulatedNetwork]:
    """The ring with SQR at both ends of s1-s2; at its end the ring of s1 must have replayed, and dropped nothing."""
    try:
        find_agent()
    except MissingRequirementError as error:
        pytest.skip(str(error))
    network = EmulatedNetwork(
        load_topology(str(RING)),
        EmulationOptions(bfd_interval_ms=100),
        run_dir=folder,
        environment={
            "ARMOR_TOPOLOGY": str(RING),
            "ARMOR_METRIC": "delay",
            "ARMOR_REPLAYED": "s1-s2",
            "ARMOR_MARKED": str(marked),
            "ARMOR_STATS_INTERVAL_S": "0",
            "ARMOR_DISCOVERY_INTERVAL_S": "0",
        },
        parts=(sqr_ports(Replay(("s1-s2",), slots=4096, delta_ms=DELTA_MS, margin=MARGIN, marked=marked), 0.5),),
        controller_command=controller_command("sqr"),
        command="test",
    )
    with network as running:
        running.wait_connected()
        wait_until(lambda: received(running, 5)[0] == list(range(5)), "packets do not pass at all")
        yield running
    lines = [json.loads(line) for line in (folder / "s1" / "sqr-s1.log").read_text(encoding="utf-8").splitlines()]
    assert "detected" in [line.get("event") for line in lines]
    (counters,) = [line for line in lines if "cached" in line]
    assert counters["replayed"] > 0
    assert counters["young"] == counters["pending"] == counters["too_big"] == counters["replay_failed"] == 0


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    with buffering(tmp_path_factory.mktemp("run"), EVERY_PACKET) as running:
        yield running


def test_a_link_that_fails_twice_loses_and_reorders_nothing_and_gets_its_traffic_back(net: EmulatedNetwork) -> None:
    link = net.topology.parse_link("s1-s2")
    with FailureInjection(net) as injection:
        for _ in range(2):
            numbers, sent = received(net, 300, ((0.3, lambda: injection.carrier(link)),))
            assert list(dict.fromkeys(numbers)) == list(range(sent))
            injection.restore(link)
            wait_until(lambda: is_back(net), "the link does not get its traffic back")


def test_a_replay_agent_that_is_killed_at_a_failure_is_started_again_and_the_link_gets_its_traffic_back(
    net: EmulatedNetwork,
) -> None:
    link, restarts = net.topology.parse_link("s1-s2"), len(net.restarts)
    with FailureInjection(net) as injection:
        injection.carrier(link)
        net.kill(REPLAY_AGENT, "s1")
        wait_until(lambda: len(net.restarts) > restarts, "the agent is not started again")
        assert {each.process for each in net.restarts[restarts:]} == {REPLAY_AGENT}
        wait_until(lambda: received(net, 5)[0], "packets do not pass while the link is down")
        injection.restore(link)
        wait_until(lambda: is_back(net), "the link does not get its traffic back")


def test_a_silent_failure_is_detected_by_bfd_and_loses_nothing_either(net: EmulatedNetwork) -> None:
    link = net.topology.parse_link("s1-s2")
    arrived = []

    def fail() -> None:
        injection.silent(link)
        arrived.append(packets(net, "s2", "s1", "rx"))

    with FailureInjection(net) as injection:
        injection.prepare([link])
        numbers, sent = received(net, 1200, ((0.3, fail),))
        assert packets(net, "s2", "s1", "rx") == arrived[0]  # what packet programs send fails as well
        assert list(dict.fromkeys(numbers)) == list(range(sent))
    wait_until(lambda: is_back(net), "the link does not get its traffic back")


def test_marked_packets_survive_a_silent_failure_and_the_others_are_lost_until_bfd_detects_it(tmp_path: Path) -> None:
    with buffering(tmp_path, MARKED) as net, FailureInjection(net) as injection:
        link = net.topology.parse_link("s1-s2")
        injection.prepare([link])
        lost = {}
        for dscp in (*MARKED.dscp, 0):
            numbers, sent = received(net, 800, ((0.3, lambda: injection.silent(link)),), dscp)
            lost[dscp] = sent - len(set(numbers))
            injection.restore(link)
            wait_until(lambda: is_back(net, *MARKED.dscp), "the link does not get its traffic back")
        assert lost[46] == 0
        assert 0 < lost[0] < 800 * 0.7  # the group takes them past the failed link once it is detected


def is_back(net: EmulatedNetwork, dscp: int = 0) -> bool:
    """Whether packets take the link s1-s2 again."""
    before = packets(net, "s1", "s2", "tx")
    numbers, sent = received(net, 20, (), dscp)
    assert list(dict.fromkeys(numbers)) == list(range(sent))  # also on the way back, a packet may be duplicated
    return packets(net, "s1", "s2", "tx") - before >= sent


def packets(net: EmulatedNetwork, node: str, neighbour: str, way: str) -> int:
    """Packets that a switch has sent ("tx") or received ("rx") on the link to a neighbour."""
    port = next(port for (end, port), link in net.ports.direction_at.items() if (end, link.dst) == (node, neighbour))
    said = net.run(node, ["ip", "-j", "-s", "link", "show", "dev", net.interface(node, port)]).stdout
    return int(json.loads(said)[0]["stats64"][way]["packets"])
