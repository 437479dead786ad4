"""Foreign MAC addresses at a switch: those of its own rows, and those that were found before it restarted empty."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from ryu.lib import hub

from machine.event_log import EventLog
from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.frames import Arp
from ryu_apps.control.edge_service import ARP_PACKETS, EdgeService
from ryu_apps.control.faults import Faults
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.fields import ARP_REPLY

pytestmark = pytest.mark.ryu
HOSTS = hosts_of(load_topology("square"))
FOREIGN = 0x0A1122334455


class Switch:
    """Keeps the MAC addresses that it is to deliver to."""

    def __init__(self, node: str) -> None:
        self.node, self.macs, self.posted = node, {}, []
        self.routes: Any = SimpleNamespace(use_macs=self._use)
        self.channel: Any = SimpleNamespace(post=self.posted.append)

    def _use(self, macs: dict[int, int]) -> None:
        self.macs = dict(macs)


@pytest.fixture
def switches() -> dict[str, Switch]:
    return {node: Switch(node) for node in HOSTS}


@pytest.fixture
def service(switches: dict[str, Switch]) -> EdgeService:
    events = EventLog("controller")
    return EdgeService(HOSTS, lambda: switches, events, Faults(events, logging.getLogger("test")))


def answer(node: str) -> Arp:
    """What a host with a MAC address of its own says."""
    return Arp(ARP_REPLY, FOREIGN, HOSTS[node].ipv4, 0, 0)


def test_a_switch_that_restarts_empty_gets_the_foreign_mac_of_its_host_again(service, switches) -> None:
    service.arp_received("s2", 1, answer("s2"))
    hub.sleep(0)
    assert switches["s2"].macs == {HOSTS["s2"].ipv4: FOREIGN}
    switches["s2"] = Switch("s2")
    service.macs_found("s2", {})
    hub.sleep(0)
    assert switches["s2"].macs == {HOSTS["s2"].ipv4: FOREIGN}
    assert switches["s2"].posted  # its host is asked again
    service.macs_found("s1", {})
    hub.sleep(0)
    assert switches["s1"].macs == {}


def test_a_controller_that_restarts_learns_foreign_macs_from_the_rows_of_switches(service, switches) -> None:
    service.macs_found("s2", {HOSTS["s2"].ipv4: FOREIGN})
    hub.sleep(0)
    assert switches["s2"].macs == {HOSTS["s2"].ipv4: FOREIGN}


def test_a_host_that_floods_one_switch_with_arp_does_not_silence_another(service, switches) -> None:
    for _ in range(int(ARP_PACKETS.at_once) + 50):
        service.arp_received("s1", 1, answer("s3"))
    service.arp_received("s2", 1, answer("s2"))
    hub.sleep(0)
    assert switches["s2"].macs == {HOSTS["s2"].ipv4: FOREIGN}
    assert any("ARP packets a second" in fault.text for fault in service._faults.recent)
