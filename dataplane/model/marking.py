"""Which packets of a port SQR protects: those that an operator marks by TCP port, DSCP or VLAN id (section V).

Everything that can mark packets reads the same text, as `dscp=46,tcp=443`: scenarios, apps and the command line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mininet_topos.errors import BadInputError

_TCP = 6
_LARGEST = {"tcp_ports": ("tcp", "TCP port", 65535), "dscp": ("dscp", "DSCP", 63), "vlans": ("vlan", "VLAN id", 4094)}
_FIELDS = {word: field for field, (word, _, _) in _LARGEST.items()}
_ENTRY = re.compile(r"([a-z]+)=([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Marking:
    """Packets with one of the TCP ports (source or destination), DSCPs or VLAN ids; all packets if none is given.

    Raises
    ------
    BadInputError
        A value does not fit its field.
    """

    tcp_ports: tuple[int, ...] = ()
    dscp: tuple[int, ...] = ()
    vlans: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for field, (_, name, largest) in _LARGEST.items():
            wrong = [value for value in getattr(self, field) if not 0 <= value <= largest]
            if wrong:
                raise BadInputError(f"protected traffic by {name} {wrong[0]}: give 0 to {largest}")

    @property
    def is_all(self) -> bool:
        """Whether every packet is protected."""
        return not (self.tcp_ports or self.dscp or self.vlans)

    def chooses(self, ip_proto: int, l4_ports: tuple[int, int], dscp: int, vlan: int | None) -> bool:
        """Whether an IPv4 packet is protected; `vlan` is None without a tag."""
        by_port = ip_proto == _TCP and not set(self.tcp_ports).isdisjoint(l4_ports)
        return self.is_all or by_port or dscp in self.dscp or vlan in self.vlans

    def __str__(self) -> str:
        """The text that `parse_marking` reads back."""
        return ",".join(f"{word}={value}" for word, field in _FIELDS.items() for value in getattr(self, field))


EVERY_PACKET = Marking()


def parse_marking(name: str, text: str) -> Marking:
    """Read a marking; an empty text marks every packet.

    Parameters
    ----------
    name
        Where the text stands, for messages.
    text
        Entries `tcp=PORT`, `dscp=VALUE` and `vlan=ID`, separated by commas.

    Raises
    ------
    BadInputError
        An entry that is none of these, or a value that does not fit its field.
    """
    found: dict[str, list[int]] = {field: [] for field in _LARGEST}
    for word in filter(None, (part.strip() for part in text.split(","))):
        entry = _ENTRY.fullmatch(word)
        if entry is None or entry[1] not in _FIELDS:
            raise BadInputError(f"{name} has {word!r}; give entries such as dscp=46, tcp=443 or vlan=7")
        found[_FIELDS[entry[1]]].append(int(entry[2]))
    return Marking(**{field: tuple(dict.fromkeys(values)) for field, values in found.items()})
