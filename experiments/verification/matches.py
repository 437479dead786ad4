"""Matches compiled to conditions on integer columns, and addresses to small numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mininet_topos.errors import ArmorError
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.rows import Match

TCI_BITS = 16
_ALL_BITS = -1
_VLAN = {"vlan_vid": (0x1FFF, 0), "vlan_pcp": (0x7, 13), "vlan_tci": (0xFFFF, 0)}
_ADDRESSES = ("ipv4_src", "ipv4_dst")
_CONSTANT = {"eth_type": Packet().eth_type, "ip_proto": Packet().ip_proto, "eth_dst": Packet().eth_dst}


class NotCompilableError(ArmorError):
    """A plan uses something that the compiled walker does not speak; the interpreter must do it."""


class Term(NamedTuple):
    """One condition of a match: `column & mask` equals the value of part `position`, shifted left by `shift`."""

    position: int
    column: str
    mask: int
    shift: int


Compiled = tuple[tuple[Term, ...], list[int]]
"""Conditions of a match, and the value of each."""


class Codes:
    """Small numbers for addresses: 0 for the address 0, hosts from 1, others as they are met."""

    def __init__(self, hosts: Iterable[int]) -> None:
        self._code_of = {0: 0}
        self._addresses = [0]
        for address in hosts:
            self.of(address)

    def of(self, address: int) -> int:
        """Code of an address."""
        found = self._code_of.get(address)
        if found is None:
            found = self._code_of[address] = len(self._addresses)
            self._addresses.append(address)
        return found

    def address(self, code: int) -> int:
        """Address of a code."""
        return self._addresses[code]


class Matches:
    """Compiles matches; those that name the same fields share their conditions.

    Our packets are untagged or tagged IPv4 with `Packet`'s defaults. A tagged packet's TCI has bit 12 set and an
    untagged one's is 0, so conditions on vlan_vid and vlan_pcp are masked conditions on the TCI.
    """

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self._kinds: dict[tuple[tuple[str, int | None], ...], tuple[tuple[Term, ...], tuple[int, ...]]] = {}
        self._known: dict[Match, Compiled | None] = {}

    def compiled(self, match: Match) -> Compiled | None:
        """Conditions of a match and their values; None when no packet of ours can meet it.

        Raises
        ------
        NotCompilableError
            The match names a field that has no column.
        """
        if match not in self._known:
            self._known[match] = self._compile(match)
        return self._known[match]

    def _compile(self, match: Match) -> Compiled | None:
        names = tuple([(name, mask) for name, _, mask in match])
        if names not in self._kinds:
            self._kinds[names] = _conditions(names)
        terms, constants = self._kinds[names]
        for position in constants:
            name, value, mask = match[position]
            if _CONSTANT[name] & (_ALL_BITS if mask is None else mask) != value:
                return None
        code_of = self.codes.of
        return terms, [
            code_of(match[position][1]) if column in _ADDRESSES else match[position][1] << shift
            for position, column, _, shift in terms
        ]


def _conditions(names: tuple[tuple[str, int | None], ...]) -> tuple[tuple[Term, ...], tuple[int, ...]]:
    """Conditions of a kind of match, and the positions of fields that are the same in all packets."""
    terms, constants = [], []
    for position, (name, mask) in enumerate(names):
        if name in _CONSTANT:
            constants.append(position)
        elif name in _VLAN:
            bits, shift = _VLAN[name]
            terms.append(Term(position, "vlan_tci", (bits if mask is None else mask & bits) << shift, shift))
        elif name in _ADDRESSES and mask is None:
            terms.append(Term(position, name, _ALL_BITS, 0))
        elif name == "in_port" or name.startswith("reg"):
            terms.append(Term(position, name, _ALL_BITS if mask is None else mask, 0))
        else:
            raise NotCompilableError(f"no compiled form of a match on {name}")
    return tuple(terms), tuple(constants)
