"""The silent failure by nftables: chains that drop everything an interface sends, switched by one message.

A rule of a chain can drop a part only: a share at random, or what exceeds a rate.

A chain per interface is prepared beforehand (policy accept, no rule). The switch-over is one netlink batch that
sets policies, so that it takes a system call and not the start of a program (10 to 30 ms). An ingress
drop would be too late: packet sockets, which the userspace datapath reads, see packets before it.

Numbers are those of linux/netfilter/nf_tables.h and linux/netfilter/nfnetlink.h; egress hooks need Linux 5.16.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from emulation.decide.netlink import NLM_F_ACK, NLM_F_REQUEST, attribute, message

TABLE = "armor_failures"
_NFPROTO_NETDEV = 5
_NFNL_SUBSYS_NFTABLES = 10
_NFNL_BATCH_BEGIN, _NFNL_BATCH_END = 0x10, 0x11
_NFT_MSG_NEWCHAIN = 3
_NFTA_CHAIN_TABLE, _NFTA_CHAIN_NAME, _NFTA_CHAIN_POLICY = 1, 3, 5
_NF_DROP, _NF_ACCEPT = 0, 1
_BURST_KBYTES = 8  # less than a whole packet of 1,500 bytes would let none pass


def chain_name(interface: str) -> str:
    """Chain of an interface (nft names may not start with a digit or hold a dash)."""
    return "c_" + interface.replace("-", "_")


def prepare_lines(interfaces: Iterable[str]) -> list[str]:
    """Lines for `nft -f -` that prepare a filter on the egress of each interface, which lets all pass."""
    chains = [
        f"add chain netdev {TABLE} {chain_name(name)} "
        f'{{ type filter hook egress device "{name}" priority 0; policy accept; }}'
        for name in interfaces
    ]
    return [f"add table netdev {TABLE}", *chains]


def loss_rule(percent: float) -> str:
    """Statement that drops a share of the packets, drawn at random."""
    return f"meta random < {round(percent / 100 * 2**32)} drop"


def rate_rule(kbytes_per_s: int) -> str:
    """Statement that drops what exceeds a rate, so that TCP slows down to it."""
    return f"limit rate over {kbytes_per_s} kbytes/second burst {_BURST_KBYTES} kbytes drop"


def rule_lines(interfaces: Iterable[str], rule: str | None) -> list[str]:
    """Lines for `nft -f -` that give prepared filters a rule of their own, or take it away again (None)."""
    if rule is None:
        return [f"flush chain netdev {TABLE} {chain_name(name)}" for name in interfaces]
    return [f"add rule netdev {TABLE} {chain_name(name)} {rule}" for name in interfaces]


def switch_message(live_of: Mapping[str, bool]) -> bytes:
    """Netlink batch that lets packets of interfaces pass (True) or drops them (False), all in one transaction.

    Parameters
    ----------
    live_of : mapping of interface to whether it may send

    Returns
    -------
    To be sent on a NETLINK_NETFILTER socket of the namespace; each chain is acknowledged.
    """
    messages = [_batch_edge(_NFNL_BATCH_BEGIN, 0)]
    for sequence, (interface, live) in enumerate(live_of.items(), start=1):
        attributes = (
            attribute(_NFTA_CHAIN_TABLE, TABLE.encode() + b"\0")
            + attribute(_NFTA_CHAIN_NAME, chain_name(interface).encode() + b"\0")
            + attribute(_NFTA_CHAIN_POLICY, struct.pack(">I", _NF_ACCEPT if live else _NF_DROP))
        )
        kind = _NFNL_SUBSYS_NFTABLES << 8 | _NFT_MSG_NEWCHAIN
        body = struct.pack(">BBH", _NFPROTO_NETDEV, 0, 0) + attributes
        messages.append(message(kind, NLM_F_REQUEST | NLM_F_ACK, sequence, body))
    messages.append(_batch_edge(_NFNL_BATCH_END, len(live_of) + 1))
    return b"".join(messages)


def _batch_edge(kind: int, sequence: int) -> bytes:
    # The resource id (network order) says which subsystem the batch is for.
    return message(kind, NLM_F_REQUEST, sequence, struct.pack(">BBH", 0, 0, _NFNL_SUBSYS_NFTABLES))
