"""Install in-band control: rows of each switch, and the address of its own interface, before anything connects.

ovs-vswitchd forgets rows when it ends, and in userspace its own interface goes with it. A restart therefore
installs both again; without them the switch, and all behind it, would stay disconnected.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from emulation.decide.in_band import local_lines
from emulation.decide.switch import SwitchSite
from machine.places import CommandError, inside, run_batch, run_program, write_setting
from ryu_apps.plan.in_band.text import bundle_text
from ryu_apps.plan.in_band.values import InBandPlan

_AGAIN_S = 20.0
_POLL_S = 0.02


@dataclass(frozen=True)
class ControlPath:
    """The way of in-band control through the switches of a network.

    Parameters
    ----------
    sites : mapping of switch name to SwitchSite
    pids : mapping of place to a process in it
    """

    plan: InBandPlan
    sites: Mapping[str, SwitchSite]
    pids: Mapping[str, int]

    def install_all(self) -> None:
        """Lay it at every switch, from the controller outwards.

        Raises
        ------
        CommandError
            A switch does not take its rows, or has no interface of its own.
        """
        for node in self.plan.order:
            self.install(node)

    def install(self, node: str) -> None:
        """Lay it at one switch, whose ovs-vswitchd runs; nothing changes where it lies already."""
        site = self.sites[node]
        run_program(
            ["ovs-ofctl", "-O", "OpenFlow13", "bundle", f"unix:{site.mgmt_socket}", "-"],
            stdin=bundle_text(self.plan.plans[site.dpid]),
        )
        pid = self.pids[site.place]
        # Else the kernel would answer for the switch on its ports, and take packets past the bridge.
        write_setting(pid, "ipv4/conf/all/arp_ignore", "1")
        run_batch(pid, ["ip", "-batch", "-"], local_lines(site.bridge, site.dpid))
        # The userspace datapath fills no checksums in.
        run_program(inside(pid, ["ethtool", "-K", site.bridge, "tx", "off"]))

    def install_again(self, node: str) -> None:
        """Lay it at a switch whose ovs-vswitchd has just been started again.

        Raises
        ------
        CommandError
            It was not ready in time.
        """
        deadline = time.monotonic() + _AGAIN_S
        while True:
            try:
                return self.install(node)
            except CommandError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_POLL_S)
