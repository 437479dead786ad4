"""The silent failure by traffic control: a filter behind clsact drops what an interface sends.

For kernels before 5.16, and for networks with packet programs, whose packets nftables does not see. A clsact qdisc
is prepared; the failure adds a filter (matchall whose action is to drop, or a program that takes all), the repair
deletes it.
Numbers are those of linux/pkt_sched.h, linux/pkt_cls.h and linux/rtnetlink.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from emulation.decide.netlink import (
    NLM_F_ACK,
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REQUEST,
    attribute,
    message,
)

_RTM_NEWTFILTER, _RTM_DELTFILTER = 44, 45
_EGRESS = 0xFFFFFFF3  # TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)
_ETH_P_ALL = 0x0003
_FILTER_PRIORITY = 1
_TCMSG = struct.Struct("=BBHiIII")
_GACT = struct.Struct("=IIiii")
_TCA_KIND, _TCA_OPTIONS, _TCA_MATCHALL_ACT, _FIRST_ACTION = 1, 2, 2, 1
_TCA_ACT_KIND, _TCA_ACT_OPTIONS, _TCA_GACT_PARMS = 1, 2, 2
_TC_ACT_SHOT = 2
_TCA_BPF_FD, _TCA_BPF_NAME, _TCA_BPF_FLAGS, _ACT_DIRECT = 6, 7, 8, 1


def prepare_lines(interfaces: Iterable[str]) -> list[str]:
    """Lines for `tc -batch -` that prepare each interface for a drop filter."""
    return [f"qdisc replace dev {name} clsact" for name in interfaces]


def switch_message(live_of: Mapping[int, bool], program: int | None = None) -> bytes:
    """Route-netlink messages that delete (True) or add (False) drop filters; each filter is in the other state now.

    Parameters
    ----------
    live_of : mapping of interface index to whether it may send
    program
        File descriptor of the program that takes packets (sender of the message); default: matchall drops them.

    Returns
    -------
    To be sent on a NETLINK_ROUTE socket of the namespace; each message is acknowledged.
    """
    return b"".join(
        _opening(index, sequence) if live else _shutting(index, sequence, program)
        for sequence, (index, live) in enumerate(live_of.items(), start=1)
    )


def _tcmsg(interface_index: int) -> bytes:
    protocol = int.from_bytes(struct.pack(">H", _ETH_P_ALL), "little" if _is_little() else "big")
    return _TCMSG.pack(0, 0, 0, interface_index, 0, _EGRESS, _FILTER_PRIORITY << 16 | protocol)


def _is_little() -> bool:
    return struct.pack("=H", 1) == struct.pack("<H", 1)


def _opening(interface_index: int, sequence: int) -> bytes:
    return message(_RTM_DELTFILTER, NLM_F_REQUEST | NLM_F_ACK, sequence, _tcmsg(interface_index))


def _shutting(interface_index: int, sequence: int, program: int | None) -> bytes:
    kind, options = _dropping() if program is None else _running(program)
    body = _tcmsg(interface_index) + attribute(_TCA_KIND, kind) + attribute(_TCA_OPTIONS, options)
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    return message(_RTM_NEWTFILTER, flags, sequence, body)


def _running(program: int) -> tuple[bytes, bytes]:
    """Kind and options of a filter that does what a program says."""
    handle, direct = (struct.pack("=I", number) for number in (program, _ACT_DIRECT))
    name = attribute(_TCA_BPF_NAME, b"armor_drop\0")
    return b"bpf\0", attribute(_TCA_BPF_FD, handle) + name + attribute(_TCA_BPF_FLAGS, direct)


def _dropping() -> tuple[bytes, bytes]:
    """Kind and options of a filter that drops."""
    parameters = attribute(_TCA_GACT_PARMS, _GACT.pack(0, 0, _TC_ACT_SHOT, 0, 0))
    action = attribute(_TCA_ACT_KIND, b"gact\0") + attribute(_TCA_ACT_OPTIONS, parameters)
    return b"matchall\0", attribute(_TCA_MATCHALL_ACT, attribute(_FIRST_ACTION, action))
