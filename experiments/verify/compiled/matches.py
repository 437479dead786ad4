"""Matches compiled to conditions on integer columns, and addresses to small numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from experiments.verify.growable_arrays import Ints
from mininet_topos.errors import ArmorError
from ryu_apps.plan.interpret import FIELD_BITS, Packet
from ryu_apps.plan.rows import Match

TCI_BITS = 16
ALL_BITS = -1
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


class Kind(NamedTuple):
    """Matches on the same fields: their conditions, and (position, constant, mask) of fields that never vary."""

    terms: tuple[Term, ...]
    constants: tuple[tuple[int, int, int], ...]


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
    """Compiles matches.

    Our packets are untagged or tagged IPv4 with `Packet`'s defaults. A tagged packet's TCI has bit 12 set and an
    untagged one's is 0, so conditions on vlan_vid and vlan_pcp are masked conditions on the TCI.
    """

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self._kinds: dict[tuple[tuple[str, ...], tuple[int | None, ...]], Kind] = {}

    def one(self, match: Match) -> tuple[tuple[Term, ...], list[int]] | None:
        """Conditions of a match and their values; None when no packet of ours can meet it.

        Raises
        ------
        NotCompilableError
            The match names a field that has no column.
        """
        return self._compiled(*(zip(*match, strict=True) if match else ((), (), ())))

    def _compiled(
        self, names: tuple[str, ...], values: Sequence[int], masks: tuple[int | None, ...]
    ) -> tuple[tuple[Term, ...], list[int]] | None:
        terms, constants = self._kind(names, masks)
        if any(constant & mask != values[position] for position, constant, mask in constants):
            return None
        code_of = self.codes.of
        return terms, [
            code_of(values[position]) if column in _ADDRESSES else values[position] << shift
            for position, column, _, shift in terms
        ]

    def bits(self, parts: tuple[tuple[str, int, int, int], ...]) -> tuple[tuple[Term, ...], list[int]] | None:
        """The same for the match of a `learn` action: (field, first bit, number of bits, value)."""
        names, first_bits, lengths, values = zip(*parts, strict=True)
        masks = tuple(
            [
                None if not first and length == FIELD_BITS.get(name, 32) else (1 << length) - 1 << first
                for name, first, length in zip(names, first_bits, lengths, strict=True)
            ]
        )
        shifted = [value << first for value, first in zip(values, first_bits, strict=True)]
        return self._compiled(names, shifted, masks)

    def many(self, matches: list[Match]) -> list[tuple[tuple[Term, ...], Ints, Ints]]:
        """Many matches by kind; the same errors as `one`.

        Returns
        -------
        list of (terms, numbers, values)
            For each kind: its conditions, positions in `matches`, and values of shape (numbers, terms). Matches that no
            packet of ours can meet are left out.
        """
        by_kind: dict[tuple[tuple[str, ...], tuple[int | None, ...]], tuple[list[int], list[tuple[int, ...]]]] = {}
        for number, match in enumerate(matches):
            names, values, masks = zip(*match, strict=True) if match else ((), (), ())
            held = by_kind.get((names, masks))
            if held is None:
                held = by_kind[names, masks] = [], []
            held[0].append(number)
            held[1].append(values)
        found = []
        for (names, masks), (numbers, held_values) in by_kind.items():
            kind = self._kind(names, masks)
            table = np.array(held_values, dtype=np.int64).reshape(len(numbers), len(names))
            met = np.ones(len(numbers), dtype=bool)
            for position, constant, mask in kind.constants:
                met &= table[:, position] == constant & mask
            found.append((kind.terms, np.array(numbers)[met], self._columns(kind, table[met])))
        return found

    def _columns(self, kind: Kind, table: Ints) -> Ints:
        columns = np.empty((len(table), len(kind.terms)), dtype=np.int64)
        for index, (position, column, _, shift) in enumerate(kind.terms):
            columns[:, index] = table[:, position] << shift
            if column in _ADDRESSES:
                addresses, which = np.unique(table[:, position], return_inverse=True)
                columns[:, index] = np.array([self.codes.of(address) for address in addresses.tolist()])[which]
        return columns

    def _kind(self, names: tuple[str, ...], masks: tuple[int | None, ...]) -> Kind:
        found = self._kinds.get((names, masks))
        if found is None:
            found = self._kinds[names, masks] = _kind_of(names, masks)
        return found


def _kind_of(names: tuple[str, ...], masks: tuple[int | None, ...]) -> Kind:
    terms, constants = [], []
    for position, (name, mask) in enumerate(zip(names, masks, strict=True)):
        full = ALL_BITS if mask is None else mask
        if name in _CONSTANT:
            constants.append((position, _CONSTANT[name], full))
        elif name in _VLAN:
            bits, shift = _VLAN[name]
            terms.append(Term(position, "vlan_tci", (full & bits) << shift, shift))
        elif name == "in_port" or name.startswith("reg") or (name in _ADDRESSES and mask is None):
            terms.append(Term(position, name, full, 0))
        else:
            raise NotCompilableError(f"no compiled form of a match on {name}")
    return Kind(tuple(terms), tuple(constants))
