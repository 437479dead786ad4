"""How large a ring must be: rate times delay, in bytes, packets and slots (SQR, equation 1).

The formula bounds what a link can carry, so a burst above its rate cannot break it. It does not hold when packets come
faster than the link sends them (they are cached before the queue of the port), when delta is not a bound of the
detection delay, or when the replay is slower than the arrivals behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from mininet_topos.errors import BadInputError

SLOT_BYTES = 2048
# Preamble and start of frame 8, check sequence 4, gap between frames 12 (IEEE 802.3): on the wire, not in a slot.
WIRE_OVERHEAD_BYTES = 24
SHORTEST_FRAME_BYTES = 60


@dataclass(frozen=True)
class BufferSize:
    """The window in bytes on the wire (as the paper counts), in packets and in their bytes, and what is reserved."""

    window_bytes: int
    packets: int
    frame_bytes: int
    slots: int
    reserved_bytes: int


def buffer_size(rate_mbps: float, delay_ns: int, packet_bytes: int, spare_packets: int = 64) -> BufferSize:
    """Return the size of a ring that covers a delay at a rate.

    Parameters
    ----------
    rate_mbps
        Protected traffic of the port, at most the speed of its link, overhead of the wire included.
    delay_ns
        Bound of the detection delay, plus reconfiguration, event and drain time where packets are held.
    packet_bytes
        Length of the frames without check sequence, as a slot holds them; short ones are padded on the wire.
    spare_packets
        Slots above the window, so that the writer does not meet the reader.

    Returns
    -------
    `packets` rounds up, and counts the packets that begin within a closed interval of `delay_ns`; `slots` is the
    next power of two, of 2 KiB each.

    Raises
    ------
    BadInputError
        A rate, delay or length that is not positive, or a frame longer than a slot holds.
    """
    longest = SLOT_BYTES - 24
    if rate_mbps <= 0 or delay_ns <= 0 or spare_packets < 0:
        raise BadInputError(
            f"no buffer for {rate_mbps} Mbit/s, {delay_ns} ns and {spare_packets} spare packets: "
            "rate and delay must be positive, spare packets not negative"
        )
    if not 0 < packet_bytes <= longest:
        raise BadInputError(f"a frame of {packet_bytes} bytes does not fit a slot: give 1 to {longest}")
    window = Fraction(rate_mbps) * delay_ns / 8000
    wire_bytes = max(packet_bytes, SHORTEST_FRAME_BYTES) + WIRE_OVERHEAD_BYTES
    packets = int(window / wire_bytes) + 1
    slots = 1 << (packets + spare_packets - 1).bit_length()
    return BufferSize(ceil(window), packets, packets * packet_bytes, slots, slots * SLOT_BYTES)
