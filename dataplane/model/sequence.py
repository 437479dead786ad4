"""Sequence numbers of 1+1 protection: the rule that accepts one copy of each packet, and how both ends find together.

P4-Protect, sections 3.3 to 3.5 and 5.4.2. Numbers have n bits (32 on the wire) and wrap; the first packet has number 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mininet_topos.errors import BadInputError

NUMBER_BITS = 32
WINDOW = 1 << 31


def is_new(number: int, last: int, window: int = WINDOW, bits: int = NUMBER_BITS) -> bool:
    """Whether a number is ahead of the last one by 1 to `window`, modulo 2**bits."""
    return 1 <= (number - last) % (1 << bits) <= window


def is_new_by_equations_1_to_3(number: int, last: int, bits: int) -> bool:
    """Tell the same as the paper's equations (1) to (3), with SN_max = 2**bits - 1 and W = 2**(bits - 1).

    With SN_max read as 2**bits, (3) would leave one number out.
    """
    largest, window = (1 << bits) - 1, 1 << (bits - 1)
    if last + window < largest:
        return last < number <= last + window
    return last < number or number < last + window - largest


def is_new_by_equations_4_to_7(number: int, last: int, bits: int) -> bool:
    """Tell the same as the paper's equations (4) to (7), the form for Tofino, with W = 2**(bits - 1)."""
    window = 1 << (bits - 1)
    if number >= window:
        return last < number and number - last <= window
    return last < number or window <= last - number


@dataclass(frozen=True)
class Ingress:
    """The sending end (PTI) of a connection: the last number given."""

    last: int = 0
    bits: int = NUMBER_BITS


@dataclass(frozen=True)
class Egress:
    """The receiving end (PTE) of a connection.

    `history` is an option beyond the paper, 0 by default: so many numbers up to `last` are remembered, and a late
    packet among them is accepted if it never came. Bit k of `seen` stands for `last` - k; what was before the start
    counts as seen.
    """

    last: int = 0
    bits: int = NUMBER_BITS
    window: int = WINDOW
    history: int = 0
    seen: int = -1
    accepted: int = 0
    late: int = 0
    dropped: int = 0

    def __post_init__(self) -> None:
        """Refuse windows that overlap; fit `seen` to the history."""
        if not 1 <= self.window <= 1 << (self.bits - 1):
            raise BadInputError(
                f"a window of {self.window} numbers of {self.bits} bits: give 1 to {1 << (self.bits - 1)}"
            )
        if not 0 <= self.history <= (1 << self.bits) - self.window:
            most = (1 << self.bits) - self.window
            raise BadInputError(f"a history of {self.history} numbers would meet the window: give 0 to {most}")
        object.__setattr__(self, "seen", self.seen & ((1 << self.history) - 1))


def number_packet(ingress: Ingress) -> tuple[Ingress, int]:
    """Return the sending end after a packet, and the packet's number."""
    number = (ingress.last + 1) % (1 << ingress.bits)
    return replace(ingress, last=number), number


def receive(egress: Egress, number: int) -> tuple[Egress, bool]:
    """Take a copy: return the receiving end after it, and whether the copy is forwarded."""
    if is_new(number, egress.last, egress.window, egress.bits):
        ahead = (number - egress.last) % (1 << egress.bits)
        # A shift of more than the history would only make a large number of zeros.
        seen = (egress.seen << ahead) | 1 if ahead < egress.history else 1
        return replace(egress, last=number, seen=seen, accepted=egress.accepted + 1), True
    behind = (egress.last - number) % (1 << egress.bits)
    if behind < egress.history and not egress.seen >> behind & 1:
        seen = egress.seen | 1 << behind
        return replace(egress, seen=seen, accepted=egress.accepted + 1, late=egress.late + 1), True
    return replace(egress, dropped=egress.dropped + 1), False


def after_ingress_restart(egress: Egress, in_flight: int) -> Ingress:
    """Return a sending end that has lost its counter, set ahead of all that may still be on its way.

    Parameters
    ----------
    egress
        The other end as read now; it need not be written.
    in_flight
        Bound of the packets that were sent and not yet received when it was read.

    Returns
    -------
    Its next number is ahead of every older packet's, and new to the other end.

    Raises
    ------
    BadInputError
        So many numbers do not fit the window.
    """
    if not 0 <= in_flight < egress.window:
        raise BadInputError(f"{in_flight} packets in flight do not fit a window of {egress.window}: take less")
    return Ingress((egress.last + in_flight) % (1 << egress.bits), egress.bits)


def after_egress_restart(ingress: Ingress, egress: Egress) -> Egress:
    """Return a receiving end that has lost its counter, set to the last number given, with the options of `egress`.

    No copy of a packet that it may have forwarded before is accepted again; what is in flight is lost, no more.
    """
    return replace(egress, last=ingress.last, bits=ingress.bits, seen=-1)
