"""Packet-ins that a switch dropped and sends again, as the switches of PSO's evaluation do.

"As the load increases, a switch drops more OpenFlow packet-in messages. After dropping, a switch has to retransmit
these messages after their timeouts" (KSII TIIS 13(2), 2019, section 5.3); packets that wait too long leave the switch's
buffer. The paper gives no timeout. Open vSwitch does not retransmit.
"""

from __future__ import annotations

import heapq
import math


class Retransmission:
    """Packets that wait for their next packet-in.

    Parameters
    ----------
    timeout_s
        From a drop to the next try.
    kept_s
        How long the switch keeps a packet after it came; none is retransmitted after that.
    """

    def __init__(self, timeout_s: float, kept_s: float) -> None:
        self._timeout_s, self._kept_s = timeout_s, kept_s
        self._due: list[tuple[float, int]] = []

    @property
    def next_s(self) -> float:
        """When something is due; infinite: nothing waits."""
        return self._due[0][0] if self._due else math.inf

    def add(self, serial: int, came_s: float, now_s: float) -> bool:
        """Take a packet whose packet-in is dropped now; False: it is given up.

        Parameters
        ----------
        came_s
            When the packet came to the switch.
        """
        again_s = now_s + self._timeout_s
        if again_s > came_s + self._kept_s:
            return False
        heapq.heappush(self._due, (again_s, serial))
        return True

    def take(self, now_s: float) -> list[int]:
        """Packets that are due, in order."""
        found = []
        while self.next_s <= now_s:
            found.append(heapq.heappop(self._due)[1])
        return found
