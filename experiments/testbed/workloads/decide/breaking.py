"""When paths break under a workload, and what recovery does about it: delays, and the switch's settings for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from mininet_topos.errors import BadInputError

# The replay agent waits so long for a port to be usable again before it sends by it (dataplane/replay_agent/replay.c).
AGENT_SETTLE_MS = 5.0


@dataclass(frozen=True)
class Recovery:
    """A way of recovery. `same_port`: the failed path itself works again (SB'), else traffic goes another way (LRR)."""

    same_port: bool
    replays: bool


@dataclass(frozen=True)
class FailureModel:
    """What breaks how often, and how soon it is known and repaired.

    Attributes
    ----------
    interval_ms
        From one failure to the next.
    detection_ms
        From a failure to its detection.
    down_ms
        From a failure to its repair, the route failure time of SB'.
    bound_ms
        delta: what detection takes at the most on this machine.
    spare_ms
        By how much a replay by the same port comes after its repair.
    """

    interval_ms: float
    detection_ms: float
    down_ms: float
    bound_ms: float
    spare_ms: float

    def hold_ms(self, recovery: Recovery) -> float:
        """How long an agent must hold after the detection (its setting `reconfiguration_ms`).

        Raises
        ------
        BadInputError
            The path comes back sooner than the agent can.
        """
        if not recovery.same_port:
            return 0.0
        hold_ms = self.down_ms - self.detection_ms - AGENT_SETTLE_MS + self.spare_ms
        if hold_ms < 0:
            raise BadInputError(
                f"a path that is down for {self.down_ms:g} ms: the replay agent takes {AGENT_SETTLE_MS:g} ms, give more"
            )
        return hold_ms

    def repaired_in_time(
        self, recovery: Recovery | None, outages_ms: Sequence[float], notified_ms: Sequence[float]
    ) -> list[bool]:
        """Which failures were repaired before the replay by the same port would come, if there is one.

        An agent replays a set time after it is notified, however late the repair is; then SYNs are lost again.

        Parameters
        ----------
        outages_ms, notified_ms
            Of each failure: its repair and its notification, counted from its begin.
        """
        if recovery is None or not recovery.same_port:
            return [True] * len(outages_ms)
        replay_after_ms = self.hold_ms(recovery) + AGENT_SETTLE_MS
        return [
            repaired <= notified + replay_after_ms for repaired, notified in zip(outages_ms, notified_ms, strict=True)
        ]


def failure_times_s(model: FailureModel, seconds: float, seed: int) -> list[float]:
    """When failures begin, in seconds after the start: one in each interval, at a time drawn evenly in its first half.

    Failures that kept time with the flows would hit them all at one place.
    """
    interval_s = model.interval_ms / 1000.0
    count = max(0, ceil(seconds / interval_s) - 1)
    drawn = np.random.default_rng((seed, 3)).uniform(0.0, 0.5 * interval_s, count)
    return [interval_s * (number + 0.5) + float(extra) for number, extra in enumerate(drawn)]
