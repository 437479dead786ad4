"""Links between switches that the delay line delays: their times, and failures that both ends see."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

import pytest

from emulation.decide.options import EmulationOptions
from emulation.failure_injection import FailureInjection
from emulation.features import kernel_features
from emulation.network import EmulatedNetwork
from mininet_topos import toy
from mininet_topos.topology import with_link_delays

pytestmark = [
    pytest.mark.emulation,
    pytest.mark.skipif(os.geteuid() != 0 or kernel_features().netem, reason="the kernel's own netem delays links here"),
]
LINK_DELAY_MS, JITTER_MS = 4.0, 3.0


@pytest.fixture(scope="module")
def slow_links(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    options = EmulationOptions(bfd_interval_ms=100, link_delays=True)
    topology = with_link_delays(toy.pair(), LINK_DELAY_MS, JITTER_MS)
    with EmulatedNetwork(topology, options, run_dir=tmp_path_factory.mktemp("links"), command="test") as net:
        for node, site in net.sites.items():
            rows = ["in_port=1,actions=output:2", "in_port=2,actions=output:1"]
            for row in rows:
                words = ["ovs-ofctl", "-O", "OpenFlow13", "add-flow", f"unix:{site.mgmt_socket}", row]
                assert net.run(node, words).returncode == 0
        net.wait_bfd_up()
        yield net


def link_round_trips_ms(net: EmulatedNetwork, count: int = 10) -> list[float]:
    said = net.run("h1", ["ping", "-n", "-c", str(count), "-i", "0.02", "-W", "3", net.hosts["s2"].address]).stdout
    return [float(value) for value in re.findall(r"time=([\d.]+) ms", said)]


def test_links_delay_by_delay_and_jitter_and_the_line_has_been_tried_before(slow_links: EmulatedNetwork) -> None:
    times = link_round_trips_ms(slow_links)
    assert len(times) == 10
    assert min(times) >= 2 * LINK_DELAY_MS
    assert len(set(times)) > 1
    assert slow_links.describe()["link_delay_by"] == "delay_line"
    assert slow_links.delay_trial is not None
    assert slow_links.delay_trial.lost < slow_links.delay_trial.sent
    assert not [warning for warning in slow_links.warnings if "not emulated" in warning]


def test_failures_of_a_delayed_link_are_seen_at_both_ends_by_carrier_and_by_bfd(slow_links: EmulatedNetwork) -> None:
    link = slow_links.topology.link_ids[0]

    def wait_live(live: bool) -> None:
        deadline = time.monotonic() + 20
        while [slow_links.live_ports(node)[2] for node in ("s1", "s2")] != [live, live]:
            assert time.monotonic() < deadline, f"the ports are not both {'live' if live else 'down'}"
            time.sleep(0.05)

    with FailureInjection(slow_links) as injection:
        for fail in (injection.carrier, injection.silent):
            wait_live(True)
            fail(link)
            wait_live(False)
            assert link_round_trips_ms(slow_links, 1) == []
            injection.restore(link)
        wait_live(True)
    assert link_round_trips_ms(slow_links, 3)
