"""A drop program for silent failures: it also drops what packet programs redirect, which skips netfilter.

Linux marks a packet while programs on an ingress run (`nf_skip_egress`, net/core/dev.c since 5.16), and an nftables
chain on the egress does not see what they redirect. A program on the egress does. It takes every packet and says that
all went well, as a cable that is broken somewhere does: an action that drops would be an error that the sender sees.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from dataplane.libbpf import library, reason
from dataplane.loader import PacketProgramError

_SCHED_CLS = 3  # BPF_PROG_TYPE_SCHED_CLS
_TC_ACT_STOLEN = 4
# r0 = TC_ACT_STOLEN; exit (instructions of 8 bytes: opcode, registers, offset, immediate)
_INSTRUCTIONS = b"\xb7\0\0\0" + _TC_ACT_STOLEN.to_bytes(4, "little") + b"\x95" + bytes(7)
_COUNT = len(_INSTRUCTIONS) // 8


@contextmanager
def drop_program() -> Iterator[int]:
    """A program that takes every packet, as a file descriptor that is closed at the end; filters keep it loaded.

    Raises
    ------
    PacketProgramError
        The kernel refuses.
    MissingRequirementError
        libbpf is not installed.
    """
    instructions = ctypes.create_string_buffer(_INSTRUCTIONS, len(_INSTRUCTIONS))
    handle = library().functions.bpf_prog_load(
        _SCHED_CLS, b"armor_drop", b"Apache-2.0", ctypes.byref(instructions), _COUNT, None
    )
    if handle < 0:
        raise PacketProgramError(f"the kernel refuses the drop program of two instructions: {reason(handle)}")
    try:
        yield handle
    finally:
        os.close(handle)
