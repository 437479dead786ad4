"""FailureInjection on a real network: each kind breaks what it names and nothing else, and all are undone."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.decide.failure_injection import InjectionStamp, link_senders, node_senders
from emulation.decide.options import EmulationOptions
from emulation.doctor import install_path
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from mininet_topos import toy
from mininet_topos.errors import BadInputError
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction, LinkId
from tests.patience import patient_s, wait_until

LINK = LinkId("s1", "s2")


def test_a_link_is_sent_on_by_one_port_at_each_end() -> None:
    topology = toy.parallel()
    ports = assign_ports(topology)
    for link in topology.link_ids:
        (first, second) = link_senders(ports, topology, link)
        assert {first[0], second[0]} == {link.a, link.b}
        assert ports.direction_at[first].key == ports.direction_at[second].key == link.key


def test_a_node_is_cut_off_on_both_sides_of_every_link() -> None:
    topology = toy.star()
    ports = assign_ports(topology)
    for node in topology.node_names:
        degree = len(topology.links_from[node])
        senders = node_senders(ports, topology, node)
        assert len(set(senders)) == 2 * degree
        assert sum(name == node for name, _ in senders) == degree


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events") / "events.jsonl"


@pytest.fixture(scope="module")
def net(events: Path) -> Iterator[EmulatedNetwork]:
    with EmulatedNetwork(toy.square(), EmulationOptions(bfd_interval_ms=100), events=events) as network:
        network.wait_bfd_up(patient_s(60))
        install_path(network, ["s1", "s2"])
        yield network


def wait_live(net: EmulatedNetwork, node: str, port: int, live: bool) -> None:
    wait_until(lambda: net.live_ports(node)[port] is live, f"{node} port {port} becomes live={live}")


def wait_all_live(net: EmulatedNetwork, node: str) -> None:
    """A busy machine may let a session flap; what a failure takes down stays down."""
    wait_until(lambda: net.live_ports(node) == {1: True, 2: True, 3: True}, f"all ports of {node} are live")


def assert_heals(net: EmulatedNetwork) -> None:
    net.wait_bfd_up(patient_s(60))
    assert net.ping("h1", "h2") == 3


@pytest.mark.emulation
def test_a_silent_failure_is_noticed_by_bfd_at_both_ends_and_nowhere_else(net: EmulatedNetwork) -> None:
    with FailureInjection(net) as injection:
        stamp = injection.silent(LINK)
        assert stamp.kind == "silent"
        assert stamp.target == "s1-s2"
        assert not stamp.live
        assert stamp.before_s <= stamp.after_s <= time.monotonic()
        assert net.ping("h1", "h2", count=2) == 0
        wait_live(net, "s1", 2, live=False)
        wait_live(net, "s2", 2, live=False)
        wait_all_live(net, "s3")
        assert net.bfd_status()["s1", 2].link_up  # the carrier is still there: that is what silent means
        assert injection.restore(LINK).live
        assert_heals(net)


@pytest.mark.emulation
def test_a_one_way_failure_stops_one_direction_only(net: EmulatedNetwork) -> None:
    with FailureInjection(net) as injection:
        injection.one_way(Direction("s2", "s1"))
        received = "/sys/class/net/{}/statistics/rx_packets"

        def count(node: str) -> int:
            return int(net.run(node, ["cat", received.format(net.interface(node, 2))]).stdout)

        at_s1, at_s2 = count("s1"), count("s2")
        net.ping("h1", "h2", count=3)
        assert count("s1") == at_s1
        assert count("s2") >= at_s2 + 3
        injection.restore(Direction("s2", "s1"))
        assert_heals(net)


@pytest.mark.emulation
def test_a_carrier_failure_is_seen_at_both_ends_without_bfd(net: EmulatedNetwork) -> None:
    with FailureInjection(net) as injection:
        injection.carrier(LINK)
        wait_live(net, "s1", 2, live=False)
        wait_live(net, "s2", 2, live=False)
        assert not net.bfd_status()["s2", 2].link_up
        injection.restore(LINK)
        assert_heals(net)


@pytest.mark.emulation
def test_a_silenced_switch_is_missed_by_all_neighbours(net: EmulatedNetwork) -> None:
    with FailureInjection(net) as injection:
        injection.node("s2")
        wait_live(net, "s1", 2, live=False)
        wait_live(net, "s3", 2, live=False)
        wait_all_live(net, "s4")
        injection.restore("s2")
        assert_heals(net)


@pytest.mark.emulation
def test_a_killed_switch_stays_stopped_until_it_is_restored() -> None:
    with (
        EmulatedNetwork(toy.pair(), EmulationOptions(bfd_interval_ms=100)) as small,
        FailureInjection(small) as injection,
    ):
        small.wait_bfd_up(patient_s(60))
        injection.node("s2", kill=True)
        assert not small.is_running("ovs-vswitchd", "s2")
        wait_live(small, "s1", 2, live=False)
        assert small.restarts == ()
        injection.restore("s2")
        small.wait_bfd_up(patient_s(60))
        wait_until(lambda: small.live_ports("s2") == {1: True, 2: True}, "both ports of s2 are live again")


@pytest.mark.emulation
def test_overlapping_failures_add_up(net: EmulatedNetwork) -> None:
    with FailureInjection(net) as injection:
        injection.silent(LINK)
        injection.node("s2")
        injection.restore("s2")
        assert net.ping("h1", "h2", count=1) == 0
        assert injection.broken() == {"s1-s2"}
        injection.restore(LINK)
        assert_heals(net)


@pytest.mark.emulation
def test_the_control_link_of_one_switch_can_fail_alone(net: EmulatedNetwork) -> None:
    def reachable(node: str) -> bool:
        words = ["ping", "-n", "-c", "1", "-W", "1", net.sites[node].control_ip]
        return net.run("controller", words).returncode == 0

    def wait_reachable(node: str) -> None:
        """A ping right after a repair gets the "host unreachable" of an ARP request that began before it."""
        wait_until(lambda: reachable(node), f"{node} is reachable")

    with FailureInjection(net) as injection:
        injection.partition(["s3", "s4"])
        assert not reachable("s3")
        assert not reachable("s4")
        wait_reachable("s1")
        injection.controller("s3")
        injection.restore("s3+s4")
        wait_reachable("s4")
        assert not reachable("s3")
        injection.restore("s3")
        injection.controller("s1")
        assert not reachable("s1")
        wait_reachable("s2")
        injection.controller()
        assert not reachable("s2")
        injection.restore("controller")
        wait_reachable("s2")
        assert not reachable("s1")
    wait_reachable("s1")


def needs_partial_drops(injection: FailureInjection) -> None:
    if not injection.drops_a_part:
        pytest.skip("this kernel cannot drop a part of what an interface sends")


@pytest.mark.emulation
def test_a_lossy_link_loses_a_part_until_it_is_repaired(net: EmulatedNetwork) -> None:
    with FailureInjection(net) as injection:
        needs_partial_drops(injection)
        injection.lossy(LINK, 20)
        words = ["ping", "-n", "-q", "-i", "0.005", "-c", "400", "-W", "1", net.hosts["s2"].address]
        lost = int(net.run("h1", words).stdout.split("% packet loss")[0].split()[-1].split(".")[0])
        assert 15 < lost < 65  # 36 % of 400, both ways; BFD may miss three frames for a while
        assert injection.broken() == {"s1-s2"}
        injection.restore(LINK)
        assert_heals(net)


@pytest.mark.emulation
def test_a_slow_control_link_carries_little_and_recovers(net: EmulatedNetwork) -> None:
    send = "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nfor _ in range(200):\n"
    send += "    try: s.sendto(bytes(1000), (sys.argv[1], 7))\n    except OSError: pass"
    counter = f"/sys/class/net/{net.wiring.control_interface_of['s1']}/statistics/rx_packets"

    def received() -> int:
        before = int(net.run("s1", ["cat", counter]).stdout)
        net.run("controller", [sys.executable, "-c", send, net.sites["s1"].control_ip])
        return int(net.run("s1", ["cat", counter]).stdout) - before

    with FailureInjection(net) as injection:
        needs_partial_drops(injection)
        injection.slow_controller("s1", 20)
        assert 0 < received() < 100  # of 200 kB at once
        injection.restore("s1")
        assert received() >= 200


@pytest.mark.emulation
def test_everything_is_repaired_when_the_experiment_raises(net: EmulatedNetwork) -> None:
    def experiment() -> None:
        with FailureInjection(net) as injection:
            injection.silent(LINK)
            injection.one_way(Direction("s3", "s4"))
            injection.carrier(LinkId("s1", "s4"))
            raise RuntimeError("experiment went wrong")

    with pytest.raises(RuntimeError, match="experiment"):
        experiment()
    assert_heals(net)


@pytest.mark.emulation
def test_failing_or_repairing_what_does_not_exist_is_refused(net: EmulatedNetwork) -> None:
    with FailureInjection(net) as injection:
        with pytest.raises(BadInputError, match="s1-s3"):
            injection.silent(LinkId("s1", "s3"))
        with pytest.raises(BadInputError, match="s1>s3"):
            injection.one_way(Direction("s1", "s3"))
        with pytest.raises(BadInputError, match="s9"):
            injection.node("s9")
        with pytest.raises(BadInputError, match="s9"):
            injection.controller("s9")
        with pytest.raises(BadInputError, match="s9"):
            injection.partition(["s1", "s9"])
        with pytest.raises(BadInputError, match="broken now: nothing"):
            injection.restore(LINK)


@pytest.mark.emulation
def test_every_failure_and_repair_is_an_event_with_both_stamps(net: EmulatedNetwork, events: Path) -> None:
    with FailureInjection(net) as injection:
        failure, repair = injection.silent(LINK), injection.restore(LINK)
    lines = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    injected = [line for line in lines if line["event"] == "inject"][-2:]
    assert [stamp_of(line) for line in injected] == [failure, repair]
    assert injected[0]["t_monotonic_s"] == failure.before_s
    assert_heals(net)


def stamp_of(line: dict[str, object]) -> InjectionStamp:
    return InjectionStamp(**{name: line[name] for name in ("kind", "target", "live", "before_s", "after_s")})  # type: ignore[arg-type]
