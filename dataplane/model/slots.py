"""The bytes of a ring slot as program and replay agent share them, and the walk over a ring of slots.

A slot is 2,048 bytes, little-endian: seq (8), time in nanoseconds (8), length (4), padding (4), data (2,024). `seq` is
written last, as tag + 1, so a reader knows a slot that is not written yet from one that was written over.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from dataplane.model.byte_ring import SLOT_DATA_BYTES
from mininet_topos.errors import BadInputError

SLOT_BYTES = 2048
_HEADER = struct.Struct("<QQI4x")


class SlotState(Enum):
    """What a reader finds where a tag should be."""

    READY = "written"
    NOT_YET = "reserved but not committed, or never written"
    OVERWRITTEN = "a later packet stands there"


@dataclass(frozen=True)
class SlotRecord:
    """A slot's content for the tag that it was read for; empty unless READY."""

    state: SlotState
    tag: int
    sent_ns: int = 0
    data: bytes = b""


def pack_slot(tag: int, sent_ns: int, data: bytes) -> bytes:
    """Return the 2,048 bytes of a slot.

    Raises
    ------
    BadInputError
        The frame does not fit.
    """
    if len(data) > SLOT_DATA_BYTES:
        raise BadInputError(f"a frame of {len(data)} bytes does not fit a slot: at most {SLOT_DATA_BYTES}")
    return _HEADER.pack(tag + 1, sent_ns, len(data)) + data.ljust(SLOT_DATA_BYTES, b"\0")


def unpack_slot(slot: bytes, tag: int) -> SlotRecord:
    """Read a slot for a tag; a length that cannot be is a slot that is being written.

    Raises
    ------
    BadInputError
        Not the length of a slot.
    """
    if len(slot) != SLOT_BYTES:
        raise BadInputError(f"a slot has {SLOT_BYTES} bytes, not {len(slot)}: read whole slots")
    sequence, sent_ns, length = _HEADER.unpack_from(slot)
    if sequence > tag + 1:
        return SlotRecord(SlotState.OVERWRITTEN, tag)
    if sequence < tag + 1 or length > SLOT_DATA_BYTES:
        return SlotRecord(SlotState.NOT_YET, tag)
    return SlotRecord(SlotState.READY, tag, sent_ns, slot[_HEADER.size : _HEADER.size + length])


def window(slots: Sequence[bytes], head: int, since_ns: int) -> tuple[SlotRecord, ...]:
    """Read from the newest slot backwards and return what was sent since a time, oldest first.

    Parameters
    ----------
    slots
        The ring; its length is a power of two, tag t stands at t mod length.
    head
        The next tag to be given.
    since_ns
        Oldest time to return, included.

    Returns
    -------
    Consecutive tags up to `head` - 1. NOT_YET ones are among them: another processor is still writing, and the
    replay waits for it there. The walk ends at an older or an overwritten slot, and after one turn.

    Raises
    ------
    BadInputError
        The length is not a power of two.
    """
    if not slots or len(slots) & (len(slots) - 1):
        raise BadInputError(f"a ring of {len(slots)} slots: the number must be a power of two")
    found = []
    for tag in range(head - 1, max(-1, head - 1 - len(slots)), -1):
        record = unpack_slot(slots[tag & (len(slots) - 1)], tag)
        older = record.state is SlotState.READY and record.sent_ns < since_ns
        if older or record.state is SlotState.OVERWRITTEN:
            break
        found.append(record)
    return tuple(reversed(found))
