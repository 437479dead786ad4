"""Random failures under SQR, and both models run on them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from dataplane.model.byte_ring import ByteRing, RingLimits
from dataplane.model.queue_ring import QueueRingOptions, run_queue_ring
from dataplane.model.switch import SqrSwitch, run_byte_rings
from dataplane.model.values import Arrival, Failure, Packet

BACKUP = 9
PORTS = (1, 2, 3, BACKUP)
AMPLE = RingLimits(1000, 1_000_000)


@dataclass(frozen=True)
class Scenario:
    """Packets and one failure, or two at once; `detection` may exceed `delta` where a test wants loss."""

    arrivals: tuple[Arrival, ...]
    failures: tuple[Failure, ...]
    delta: int
    reconfiguration: int

    @property
    def end(self):
        """Return a time by which all has left, if each packet is looked at each tick."""
        last = max([arrival.at for arrival in self.arrivals] + [failure.usable_at for failure in self.failures])
        return last + self.delta + self.reconfiguration + len(self.arrivals) + 2

    def sent(self, port):
        """Return the packets of a port in order, with their times."""
        return [(arrival.at, arrival.packet) for arrival in self.arrivals if arrival.packet.port == port]

    def options(self, **changes):
        """Return the paper's switch for this scenario."""
        return replace(QueueRingOptions(self.delta, self.reconfiguration, PORTS, window=7), **changes)

    def run_paper(self, end=None, **changes):
        """Run the paper's switch."""
        return run_queue_ring(self.arrivals, self.failures, self.options(**changes), end or self.end)

    def run_ring(self, limits=AMPLE, budget=None, backstop=None):
        """Run our rings, one per port that fails."""
        rings = tuple(ByteRing(one.port, one.backup, limits, self.delta, self.reconfiguration) for one in self.failures)
        return run_byte_rings(SqrSwitch(rings, backstop), self.arrivals, self.failures, self.end, budget)


@st.composite
def arrivals(draw, last=90, most=24):
    """Draw packets of two flows on two ports, often several at one time."""
    times = sorted(draw(st.lists(st.integers(0, last), min_size=1, max_size=most)))
    kinds = st.tuples(st.sampled_from((1, 1, 2)), st.integers(60, 1514), st.integers(0, 1))
    return tuple(Arrival(at, Packet(number, *draw(kinds))) for number, at in enumerate(times))


@st.composite
def scenarios(draw, detected_in_time=True, both=None):
    """Draw a failure of port 1, sometimes of port 2 as well, as SB' (same port back) or LRR (another port)."""
    delta = draw(st.integers(1, 25))
    same_port = draw(st.booleans())
    reconfiguration = draw(st.integers(1, 20)) if same_port else 0
    count = 2 if both is True or (both is None and draw(st.booleans())) else 1
    failures = []
    for port in (1, 2)[:count]:
        failed_at = draw(st.integers(0, 70))
        late = draw(st.integers(0, delta) if detected_in_time else st.integers(delta + 1, 3 * delta))
        detected_at = failed_at + late
        backup = port if same_port else BACKUP
        failures.append(Failure(port, backup, failed_at, detected_at, detected_at + reconfiguration))
    return Scenario(draw(arrivals()), tuple(failures), delta, reconfiguration)
