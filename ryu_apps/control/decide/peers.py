"""Who may speak for which switch: the other end of a connection, and the datapath id that it claims.

One ovs-vswitchd has one certificate and one address for all of its bridges, so that each may speak for several ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import NamedTuple

from mininet_topos.errors import BadInputError
from mininet_topos.lines import Line, plain, read_lines
from mininet_topos.wording import shown

MAX_ALLOWED_BYTES = 1_000_000
_KEYS = ("certificate", "address", "dpids")
_EXAMPLE = "write for example: - {certificate: s1, dpids: [1]}"


class Peer(NamedTuple):
    """The other end of a connection.

    Attributes
    ----------
    certificate
        Common name of its certificate; "" in clear.
    """

    address: str
    certificate: str = ""

    def __str__(self) -> str:
        return f"{self.address} (certificate {self.certificate!r})" if self.certificate else self.address


@dataclass(frozen=True)
class AllowList:
    """Datapath ids by the common name of a certificate, and by the address of a switch."""

    of_certificate: Mapping[str, frozenset[int]] = field(default_factory=dict)
    of_address: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def allowed(self, peer: Peer) -> frozenset[int]:
        """Datapath ids that a peer may speak for."""
        none: frozenset[int] = frozenset()
        return self.of_certificate.get(peer.certificate, none) | self.of_address.get(peer.address, none)


def why_refused(dpid: int, peer: Peer, present: Peer | None, allow_list: AllowList | None) -> str | None:
    """Why a connection may not speak for a datapath id; None: it may.

    Parameters
    ----------
    present
        The other end of the connection that speaks for the id now. The same one has come again, and may; another
        one may once that connection has ended.
    allow_list
        None: the first one that comes may.
    """
    if allow_list is not None and dpid not in allow_list.allowed(peer):
        known = ", ".join(map(str, sorted(allow_list.allowed(peer)))) or "none"
        return f"{peer} claims datapath id {dpid:#x}, and may not; ids that it may speak for: {known}"
    if present is not None and present != peer:
        return f"{peer} claims datapath id {dpid:#x}, for which {present} speaks; it is refused while that is connected"
    return None


def read_allow_list(text: str, name: str) -> AllowList:
    """Allow-list of a YAML or JSON text: a list of entries with `certificate` or `address`, and `dpids`.

    Parameters
    ----------
    name
        Of the file, for messages.

    Raises
    ------
    BadInputError
        Something else; the message names the line.
    """
    root = read_lines(text, name)
    if not isinstance(root.value, tuple) or not root.value:
        raise BadInputError(f"{name}:{root.number}: an allow-list is a list of entries; {_EXAMPLE}")
    found: dict[str, dict[str, frozenset[int]]] = {"certificate": {}, "address": {}}
    for line in root.value:
        kind, who, dpids = _entry(line, name)
        found[kind][who] = found[kind].get(who, frozenset()) | dpids
    return AllowList(found["certificate"], found["address"])


def _entry(line: Line, name: str) -> tuple[str, str, frozenset[int]]:
    entry = plain(line)
    place = f"{name}:{line.number}"
    if not isinstance(entry, dict) or "dpids" not in entry or len(entry) != 2 or not set(entry) <= set(_KEYS):
        raise BadInputError(f"{place}: an entry has dpids, and certificate or address; {_EXAMPLE}")
    ((kind, who),) = ((key, value) for key, value in entry.items() if key != "dpids")
    if not isinstance(who, str) or not who or (kind == "address" and not _is_address(who)):
        what = "an IP address" if kind == "address" else "the common name of a certificate"
        raise BadInputError(f"{place}: {kind} is {shown(who)}; give {what}")
    dpids = entry["dpids"]
    if not isinstance(dpids, list) or not all(type(each) is int and 0 < each < 1 << 64 for each in dpids):
        raise BadInputError(f"{place}: dpids is {shown(dpids)}; give a list of datapath ids, as [1, 2]")
    return kind, who, frozenset(dpids)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
