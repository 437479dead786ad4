"""Load of links, from the byte counters of switch interfaces."""

from __future__ import annotations

import time
from pathlib import Path

from emulation.network import EmulatedNetwork
from mininet_topos.topology import Direction

_SENT_COLUMN = 8  # of the numbers after the name in /proc/net/dev


def sent_bytes(text: str) -> dict[str, int]:
    """Bytes sent by each interface, from /proc/net/dev.

    Examples
    --------
    >>> sent_bytes("Inter-| Receive\\n face |bytes\\n  s1-eth2: 1 2 3 4 5 6 7 8 900 10 11 12 13 14 15 16\\n")
    {'s1-eth2': 900}
    """
    found = {}
    for line in text.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        found[name.strip()] = int(numbers.split()[_SENT_COLUMN])
    return found


class Loads:
    """Rates between two calls of `mbps`."""

    def __init__(self, network: EmulatedNetwork) -> None:
        self._network = network
        self._before_s, self._before = time.monotonic(), self._counters()

    def mbps(self) -> dict[str, float]:
        """Mbit/s of each link since the last call, the larger of its directions."""
        now_s, now = time.monotonic(), self._counters()
        seconds = max(now_s - self._before_s, 1e-3)
        topology, loads = self._network.topology, dict[str, float]()
        for direction, count in now.items():
            rate = max(0.0, (count - self._before.get(direction, count)) * 8e-6 / seconds)
            link = str(topology.link_id(direction))
            loads[link] = max(loads.get(link, 0.0), rate)
        self._before_s, self._before = now_s, now
        return loads

    def _counters(self) -> dict[Direction, int]:
        network = self._network
        counters: dict[str, dict[str, int]] = {}
        found = {}
        for (node, port_no), direction in network.ports.direction_at.items():
            place = network.wiring.place_of.get(node, node)
            if place not in counters:
                counters[place] = sent_bytes(Path(f"/proc/{network.shell_pid(place)}/net/dev").read_text())
            found[direction] = counters[place].get(network.interface(node, port_no), 0)
        return found
