"""What a trace says: the switch's answer for one packet, as values. Pure text to values and back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

from mininet_topos.errors import PlanError
from ryu_apps.plan.dump_parse import parse_flow, split_list
from ryu_apps.plan.fields import ETH_ARP, ETH_IPV4, ETH_MPLS, IP_ICMP, IP_TCP, IP_UDP, openflow_match
from ryu_apps.plan.ids import VLAN_PRESENT
from ryu_apps.plan.interpret import Packet, SwitchResult
from ryu_apps.plan.row_text import flow_text
from ryu_apps.plan.rows import FlowRow

_ACTIONS_LINE = "Datapath actions: "
PUSH_MPLS = re.compile(r"push_mpls\(label=(\d+),tc=(\d),.*\)")
_PUSH_VLAN = re.compile(r"push_vlan\(vid=(\d+),pcp=(\d+)\)")
_CONTROLLER_ID = re.compile(r"controller_id=(\d+)")
_PORT = re.compile(r"b\d+p(\d+)")
_LEARNED_LINE = re.compile(r"^ *-> (table=.* actions=.*)$", re.MULTILINE)
_RECIRCULATION = "recirc("  # in an answer, and at the beginning of the lines that show the second pass
_PCP_SHIFT = 13
_PROTOCOLS = {IP_ICMP: "icmp", IP_TCP: "tcp", IP_UDP: "udp"}

Labels = tuple[tuple[int, int], ...]
"""Label stack entries (label, TC), top first."""


@dataclass(frozen=True, slots=True)
class Forwarding:
    """What one switch did with a packet.

    Attributes
    ----------
    outputs : tuple of (int, int, Labels)
        (port, TCI, labels with their TCs) of every copy sent, in order.
    punts : tuple of (int, int)
        (controller id, TCI) of every copy punted, in order.
    learned
        Rows that `learn` made, in order: of two with one key the last stays.
    """

    outputs: tuple[tuple[int, int, Labels], ...] = ()
    punts: tuple[tuple[int, int], ...] = ()
    learned: tuple[FlowRow, ...] = ()

    def __str__(self) -> str:
        sent = [f"port {port} {_tag_text(tci)}{_labels_text(labels)}" for port, tci, labels in self.outputs]
        punted = [f"controller {number} {_tag_text(tci)}" for number, tci in self.punts]
        rows = [f"learns {flow_text(row)}" for row in self.learned]
        return ", ".join([*rows, *punted, *(sent or ["drop"])])


def _tag_text(tci: int) -> str:
    return f"tag {tci & 0xFFF} pcp {tci >> _PCP_SHIFT}" if tci & VLAN_PRESENT else "untagged"


def _labels_text(labels: Labels) -> str:
    return "".join(f" label {label} tc {tc}" for label, tc in labels)


def expected_forwarding(result: SwitchResult, *, learning: bool) -> Forwarding:
    """The interpreter's answer, as far as a trace can tell (a trace without a packet does not learn)."""
    learned = (replace(row, match=openflow_match(row.match)) for row in result.learned if learning)
    return Forwarding(
        tuple((port_no, packet.vlan_tci, packet.mpls) for port_no, packet, _ in result.outputs),
        tuple((controller_id, packet.vlan_tci) for controller_id, packet in result.punts),
        tuple(learned),
    )


def flow_of(packet: Packet, in_port: int) -> str:
    """A packet in the syntax of `ofproto/trace`."""
    terms = [f"in_port={in_port}"]
    if packet.mpls:
        (label, tc), bottom = packet.mpls[0], int(len(packet.mpls) == 1)
        terms.append(f"mpls,mpls_label={label},mpls_tc={tc},mpls_bos={bottom},mpls_ttl=64")
    elif packet.eth_type == ETH_IPV4:
        terms += [_PROTOCOLS.get(packet.ip_proto, f"ip,nw_proto={packet.ip_proto}"), "nw_ttl=64"]
        terms += [f"nw_src={IPv4Address(packet.ipv4_src)}", f"nw_dst={IPv4Address(packet.ipv4_dst)}"]
        if packet.ip_proto in (IP_TCP, IP_UDP):
            name = _PROTOCOLS[packet.ip_proto]
            terms += [f"{name}_src={packet.l4_src}", f"{name}_dst={packet.l4_dst}"]
    else:
        terms += ["arp,arp_op=1" if packet.eth_type == ETH_ARP else f"dl_type=0x{packet.eth_type:04x}"]
    if packet.vlan_tci & VLAN_PRESENT:
        terms.append(f"vlan_tci=0x{packet.vlan_tci:04x}")
    return ",".join(terms)


def parse_trace(text: str, vlan_tci: int, labels: Labels = ()) -> Forwarding:
    """The switch's answer in the output of `ofproto/trace --names`.

    Parameters
    ----------
    vlan_tci, labels
        TCI (0: untagged) and labels with which the packet came; pushes and pops in the answer change them.

    Raises
    ------
    PlanError
        No answer, an error of the switch (depth, say), or an action that is not understood.
    """
    answers = [line.removeprefix(_ACTIONS_LINE) for line in text.splitlines() if line.startswith(_ACTIONS_LINE)]
    passes = text.count(f"\n{_RECIRCULATION}")
    if len(answers) != 1 + passes or "Translation failed" in text:
        raise PlanError(f"the trace holds {len(answers)} answers, or an error: {text.strip()[-300:]}")
    copies = _Copies(answers)
    copies.read_pass(vlan_tci, labels)
    # A trace abbreviates what dumps spell out.
    learned = (parse_flow(line.replace(" hard=", " hard_timeout=")) for line in _LEARNED_LINE.findall(text))
    return Forwarding(tuple(copies.outputs), tuple(copies.punts), tuple(learned))


class _Copies:
    """Copies of a packet that a switch sends and punts, read from the answers of a trace: one a pass, in order."""

    def __init__(self, answers: list[str]) -> None:
        self._answers = iter(answers)
        self.outputs: list[tuple[int, int, Labels]] = []
        self.punts: list[tuple[int, int]] = []

    def read_pass(self, vlan_tci: int, labels: Labels) -> None:
        """Read the next answer, and where a copy recirculates, its pass in place."""
        answer = next(self._answers)
        for action in split_list(answer):
            port, pushed, punt = _PORT.fullmatch(action), _PUSH_VLAN.fullmatch(action), _CONTROLLER_ID.search(action)
            if port:
                self.outputs.append((int(port[1]), vlan_tci, labels))
            elif label := PUSH_MPLS.fullmatch(action):
                labels = (int(label[1]), int(label[2])), *labels
            elif action == f"pop_mpls(eth_type={ETH_MPLS if labels[1:] else ETH_IPV4:#x})":
                labels = labels[1:]
            elif pushed:
                vlan_tci = int(pushed[2]) << _PCP_SHIFT | VLAN_PRESENT | int(pushed[1])
            elif action == "pop_vlan":
                vlan_tci = 0
            elif action.startswith("userspace(") and punt:
                self.punts.append((int(punt[1]), vlan_tci))
            elif action.removeprefix("clone(ct,").startswith(_RECIRCULATION):
                self.read_pass(vlan_tci, labels)
            elif action not in ("ct", "drop"):
                raise PlanError(f"the trace answers {action!r}, which the parser does not know: {answer}")
