"""Packet fields that rows may name: width, prerequisites, and how Open vSwitch spells them.

Widths, masks and prerequisites are those of OpenFlow 1.3.5 section 7.2.3.7 (table 12); `vlan_tci`, the
registers and the writable `in_port` are Nicira extensions (ovs-fields(7)).
"""

from __future__ import annotations

from dataclasses import dataclass

from ryu_apps.plan.rows import Match

ETH_IPV4, ETH_ARP, ETH_IPV6, ETH_VLAN, ETH_MPLS = 0x0800, 0x0806, 0x86DD, 0x8100, 0x8847
IP_ICMP, IP_TCP, IP_UDP, IP_ICMPV6, IP_SCTP = 1, 6, 17, 58, 132
ARP_REQUEST, ARP_REPLY = 1, 2

Needs = tuple[tuple[str, tuple[int, ...]], ...]
"""Other fields that a match must pin, each to one of the listed values."""


@dataclass(frozen=True, slots=True)
class Field:
    """One packet or metadata field.

    Attributes
    ----------
    name
        Name in rows (OXM name, lower case).
    n_bits
        Width; `vlan_vid` has 13 bits in OpenFlow, bit 12 says that a tag is present.
    ofctl, nxm
        Spelling in a match, and in load, move and learn actions, of ovs-ofctl.
    needs
        Prerequisites. `vlan_pcp` needs a tag, which `needs` cannot say: see `needs_tag`.
    maskable, settable, needs_tag
        Whether a match may mask it, whether actions may write it, whether it exists in tagged packets only.
    nxm_bits
        Width as load, move and learn see it, 0 for `n_bits`: OpenFlow 1.3 ports have 32 bits, NXM's 16.
    """

    name: str
    n_bits: int
    ofctl: str
    nxm: str
    needs: Needs = ()
    maskable: bool = False
    settable: bool = True
    needs_tag: bool = False
    nxm_bits: int = 0

    @property
    def action_bits(self) -> int:
        """Width as load, move and learn see it."""
        return self.nxm_bits or self.n_bits

    @property
    def full_mask(self) -> int:
        """All ones."""
        return (1 << self.n_bits) - 1


_IPV4: Needs = (("eth_type", (ETH_IPV4,)),)
_IP: Needs = (("eth_type", (ETH_IPV4, ETH_IPV6)),)
_ARP: Needs = (("eth_type", (ETH_ARP,)),)
_TCP: Needs = (("ip_proto", (IP_TCP,)),)
_UDP: Needs = (("ip_proto", (IP_UDP,)),)
_MPLS: Needs = (("eth_type", (ETH_MPLS,)),)
N_REGISTERS = 8

# In the order in which Open vSwitch prints a match.
_ALL = (
    *(Field(f"reg{n}", 32, f"reg{n}", f"NXM_NX_REG{n}", maskable=True) for n in range(N_REGISTERS)),
    Field("metadata", 64, "metadata", "OXM_OF_METADATA", maskable=True),
    Field("in_port", 32, "in_port", "NXM_OF_IN_PORT", nxm_bits=16),
    Field("eth_type", 16, "dl_type", "NXM_OF_ETH_TYPE", settable=False),
    Field("vlan_vid", 13, "vlan_vid", "OXM_OF_VLAN_VID", maskable=True, needs_tag=True),
    Field("vlan_pcp", 3, "dl_vlan_pcp", "OXM_OF_VLAN_PCP", needs_tag=True),
    Field("vlan_tci", 16, "vlan_tci", "NXM_OF_VLAN_TCI", maskable=True),
    Field("eth_src", 48, "dl_src", "NXM_OF_ETH_SRC", maskable=True),
    Field("eth_dst", 48, "dl_dst", "NXM_OF_ETH_DST", maskable=True),
    Field("ipv4_src", 32, "nw_src", "NXM_OF_IP_SRC", _IPV4, maskable=True),
    Field("ipv4_dst", 32, "nw_dst", "NXM_OF_IP_DST", _IPV4, maskable=True),
    Field("arp_spa", 32, "arp_spa", "NXM_OF_ARP_SPA", _ARP, maskable=True),
    Field("arp_tpa", 32, "arp_tpa", "NXM_OF_ARP_TPA", _ARP, maskable=True),
    Field("ip_proto", 8, "nw_proto", "NXM_OF_IP_PROTO", _IP, settable=False),
    Field("arp_op", 16, "arp_op", "NXM_OF_ARP_OP", _ARP),
    Field("arp_sha", 48, "arp_sha", "NXM_NX_ARP_SHA", _ARP, maskable=True),
    Field("arp_tha", 48, "arp_tha", "NXM_NX_ARP_THA", _ARP, maskable=True),
    Field("ip_dscp", 6, "ip_dscp", "OXM_OF_IP_DSCP", _IP),
    Field("ip_ecn", 2, "nw_ecn", "NXM_NX_IP_ECN", _IP),
    Field("mpls_label", 20, "mpls_label", "OXM_OF_MPLS_LABEL", _MPLS),
    Field("mpls_tc", 3, "mpls_tc", "OXM_OF_MPLS_TC", _MPLS),
    Field("mpls_bos", 1, "mpls_bos", "OXM_OF_MPLS_BOS", _MPLS, settable=False),
    Field("tcp_src", 16, "tcp_src", "NXM_OF_TCP_SRC", _TCP, maskable=True),
    Field("tcp_dst", 16, "tcp_dst", "NXM_OF_TCP_DST", _TCP, maskable=True),
    Field("udp_src", 16, "udp_src", "NXM_OF_UDP_SRC", _UDP, maskable=True),
    Field("udp_dst", 16, "udp_dst", "NXM_OF_UDP_DST", _UDP, maskable=True),
)

FIELDS: dict[str, Field] = {field.name: field for field in _ALL}
IPV4_FIELDS = frozenset({"ipv4_src", "ipv4_dst", "arp_spa", "arp_tpa"})
MAC_FIELDS = frozenset({"eth_src", "eth_dst", "arp_sha", "arp_tha"})

_VID_BITS, _PCP_SHIFT = 0x1FFF, 13  # the id and the bit "tagged"; the PCP stands above


def openflow_match(match: Match) -> Match:
    """The same match with `vlan_tci` (Nicira) said by `vlan_vid` and `vlan_pcp` (OpenFlow 1.3), where they can.

    Examples
    --------
    >>> openflow_match((("vlan_tci", 0x10CB, 0x1FFF),))
    (('vlan_vid', 4299, None),)
    """
    tags = [(value, mask) for name, value, mask in match if name == "vlan_tci"]
    if not tags:
        return match
    value, mask = tags[0][0], 0xFFFF if tags[0][1] is None else tags[0][1]
    vid_mask, pcp_mask = mask & _VID_BITS, mask >> _PCP_SHIFT
    if pcp_mask not in (0, 7) or (pcp_mask and not value & mask & 0x1000):
        return match
    rest = [part for part in match if part[0] != "vlan_tci"]
    if vid_mask:
        rest.append(("vlan_vid", value & _VID_BITS, None if vid_mask == _VID_BITS else vid_mask))
    if pcp_mask:
        rest.append(("vlan_pcp", value >> _PCP_SHIFT, None))
    return tuple(sorted(rest))
