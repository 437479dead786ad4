"""Match fields that a PMT rule may name: widths, prerequisites, and how people write their values.

Names, numbers, widths and prerequisites are those of OpenFlow 1.3.5 section 7.2.3.7 (table 12).
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from ryu_apps.plan.fields import ETH_ARP, ETH_IPV4, ETH_IPV6, ETH_MPLS, IP_ICMP, IP_ICMPV6, IP_SCTP, IP_TCP, IP_UDP
from ryu_apps.plan.ids import VLAN_PRESENT

Needs = tuple[tuple[str, tuple[int, ...]], ...]
"""Other fields that must have one of the listed values for this field to exist."""


@dataclass(frozen=True, slots=True)
class PmtField:
    """One match field.

    Attributes
    ----------
    name
        OXM name, lower case.
    oxm
        Number in the class OFPXMC_OPENFLOW_BASIC.
    n_bits
        Width.
    notation
        How values are written: number, vlan, ipv4, ipv6 or mac.
    needs
        Prerequisites.
    maskable
        Whether a rule may match some of its bits.
    """

    name: str
    oxm: int
    n_bits: int
    notation: str = "number"
    needs: Needs = ()
    maskable: bool = False

    @property
    def full_mask(self) -> int:
        """All ones."""
        return (1 << self.n_bits) - 1

    @property
    def n_bytes(self) -> int:
        """Bytes of a value on the wire; 20 bits of mpls_label travel in four bytes."""
        return 4 if self.name == "mpls_label" else (self.n_bits + 7) // 8


def _transport(name: str, numbers: tuple[int, int], protocol: int) -> tuple[PmtField, ...]:
    needs: Needs = (("eth_type", (ETH_IPV4, ETH_IPV6)), ("ip_proto", (protocol,)))
    return tuple(
        PmtField(f"{name}_{end}", number, 16, needs=needs) for end, number in zip(("src", "dst"), numbers, strict=True)
    )


_IPV4: Needs = (("eth_type", (ETH_IPV4,)),)
_IPV6: Needs = (("eth_type", (ETH_IPV6,)),)
_IP: Needs = (("eth_type", (ETH_IPV4, ETH_IPV6)),)
_ARP: Needs = (("eth_type", (ETH_ARP,)),)
_MPLS: Needs = (("eth_type", (ETH_MPLS,)),)
_ICMP: Needs = (*_IPV4, ("ip_proto", (IP_ICMP,)))
_ICMPV6: Needs = (*_IPV6, ("ip_proto", (IP_ICMPV6,)))

_ALL = (
    PmtField("in_port", 0, 32),
    PmtField("eth_dst", 3, 48, "mac", maskable=True),
    PmtField("eth_src", 4, 48, "mac", maskable=True),
    PmtField("eth_type", 5, 16),
    PmtField("vlan_vid", 6, 13, "vlan", maskable=True),
    PmtField("vlan_pcp", 7, 3),
    PmtField("ip_dscp", 8, 6, needs=_IP),
    PmtField("ip_ecn", 9, 2, needs=_IP),
    PmtField("ip_proto", 10, 8, needs=_IP),
    PmtField("ipv4_src", 11, 32, "ipv4", _IPV4, maskable=True),
    PmtField("ipv4_dst", 12, 32, "ipv4", _IPV4, maskable=True),
    *_transport("tcp", (13, 14), IP_TCP),
    *_transport("udp", (15, 16), IP_UDP),
    *_transport("sctp", (17, 18), IP_SCTP),
    PmtField("icmpv4_type", 19, 8, needs=_ICMP),
    PmtField("icmpv4_code", 20, 8, needs=_ICMP),
    PmtField("arp_op", 21, 16, needs=_ARP),
    PmtField("arp_spa", 22, 32, "ipv4", _ARP, maskable=True),
    PmtField("arp_tpa", 23, 32, "ipv4", _ARP, maskable=True),
    PmtField("arp_sha", 24, 48, "mac", _ARP, maskable=True),
    PmtField("arp_tha", 25, 48, "mac", _ARP, maskable=True),
    PmtField("ipv6_src", 26, 128, "ipv6", _IPV6, maskable=True),
    PmtField("ipv6_dst", 27, 128, "ipv6", _IPV6, maskable=True),
    PmtField("icmpv6_type", 29, 8, needs=_ICMPV6),
    PmtField("icmpv6_code", 30, 8, needs=_ICMPV6),
    PmtField("mpls_label", 34, 20, needs=_MPLS),
    PmtField("mpls_tc", 35, 3, needs=_MPLS),
    PmtField("mpls_bos", 36, 1, needs=_MPLS),
)

PMT_FIELDS: dict[str, PmtField] = {field.name: field for field in _ALL}
BY_OXM: dict[int, PmtField] = {field.oxm: field for field in _ALL}
_MAC = re.compile(r"[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){5}")


def read_value(field: PmtField, text: str) -> tuple[int, int | None]:
    """(value, mask) of what a rule says; mask None = exact.

    Raises
    ------
    ValueError
        With a sentence for the user: not a value of this field, or bits outside the mask.
    """
    value_text, slash, mask_text = text.partition("/")
    value = _number(field, value_text)
    if not slash:
        return value, None
    if not field.maskable:
        raise ValueError(f"{field.name} cannot be masked; write {value_text} alone")
    mask = _mask(field, mask_text)
    if value & ~mask:
        raise ValueError(f"{text} sets bits outside its mask; write {show_value(field, value & mask, mask)}")
    if mask == 0:
        raise ValueError(f"{text} matches every packet; leave {field.name} out")
    return value, None if mask == field.full_mask else mask


def show_value(field: PmtField, value: int, mask: int | None) -> str:
    """The text that `read_value` reads back."""
    if mask is None:
        return _show_number(field, value)
    return f"{_show_number(field, value)}/{_show_number(field, mask)}"


def _number(field: PmtField, text: str) -> int:
    try:
        value = _READERS[field.notation](text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is no {_WANTED[field.notation]}") from None
    top = 0xFFF if field.notation == "vlan" else field.full_mask
    if not 0 <= value <= top:
        raise ValueError(f"{text} does not fit {field.name}, which is 0..{top}")
    return value | VLAN_PRESENT if field.notation == "vlan" else value


def _mask(field: PmtField, text: str) -> int:
    is_prefix = field.notation in ("ipv4", "ipv6") and text.strip().isdecimal()
    if not is_prefix:
        return _number(field, text)
    length = int(text)
    if length > field.n_bits:
        raise ValueError(f"/{length} is longer than the {field.n_bits} bits of {field.name}")
    return field.full_mask >> length ^ field.full_mask


def _read_mac(text: str) -> int:
    if not _MAC.fullmatch(text):
        raise ValueError(text)
    return int("".join(part.zfill(2) for part in text.split(":")), 16)


def _read_integer(text: str) -> int:
    if not re.fullmatch(r"0[xX][0-9a-fA-F]+|[0-9]+", text):
        raise ValueError(text)
    return int(text, 16) if text[:2] in ("0x", "0X") else int(text)


def _show_number(field: PmtField, value: int) -> str:
    if field.notation == "ipv4":
        return str(ipaddress.IPv4Address(value))
    if field.notation == "ipv6":
        return str(ipaddress.IPv6Address(value))
    if field.notation == "mac":
        return ":".join(f"{byte:02x}" for byte in value.to_bytes(6, "big"))
    return f"{value:#06x}" if field.name == "eth_type" else str(value & 0xFFF if field.notation == "vlan" else value)


_READERS = {
    "number": _read_integer,
    "vlan": _read_integer,
    "ipv4": lambda text: int(ipaddress.IPv4Address(text)),
    "ipv6": lambda text: int(ipaddress.IPv6Address(text)),
    "mac": _read_mac,
}
_WANTED = {
    "number": "whole number such as 17 or 0x11",
    "vlan": "VLAN id such as 5",
    "ipv4": "IPv4 address such as 10.0.0.1 or 10.0.0.0/8",
    "ipv6": "IPv6 address such as 2001:db8::1 or 2001:db8::/32",
    "mac": "MAC address such as 00:00:00:00:00:01",
}
