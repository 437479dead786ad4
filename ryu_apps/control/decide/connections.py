"""How many OpenFlow connections are open, and which further ones are refused: settings of all apps, [openflow].

A connection costs the controller milliseconds before its first message. So an address whose connections end without a
handshake, or for what they say, gets no new ones for some time; those that it has go on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ryu_apps.control.decide.allowance import Allowance, Rate
from ryu_apps.control.decide.setting_group import Setting, SettingGroup, whole_between

OFFENCES = Rate(per_s=0.25, at_once=3.0)  # of one address: all come in as soon as it is allowed one again
_MOST_OFFENDERS = 1000


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """OpenFlow connections that may be open, altogether and from one address; per-class connections count, too."""

    max_connections: int = 2048
    max_connections_per_address: int = 1024


@dataclass(slots=True)
class Connections:
    """Connections that are open.

    Attributes
    ----------
    of_address
        How many, by address; none of them 0.
    n_refused
        Connections over a limit so far.
    """

    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    of_address: dict[str, int] = field(default_factory=dict)
    n_open: int = 0
    n_refused: int = 0
    _offences: dict[str, Allowance] = field(default_factory=dict)

    def offended(self, address: str, now_s: float) -> None:
        """A connection from an address has ended without a handshake, or for what it has said."""
        while address not in self._offences and len(self._offences) >= _MOST_OFFENDERS:
            del self._offences[next(iter(self._offences))]
        self._offences.setdefault(address, Allowance(OFFENCES, now_s)).admits(now_s)

    def why_refused(self, address: str, now_s: float) -> str:
        """Why a connection from an address is refused, and count it; empty: it is open from now on."""
        limits, here = self.limits, self.of_address.get(address, 0)
        offences = self._offences.get(address)
        if self.n_open >= limits.max_connections:
            refused = f"{self.n_open} OpenFlow connections are open; raise the setting max_connections of [openflow]"
        elif here >= limits.max_connections_per_address:
            refused = (
                f"it has {here} OpenFlow connections open; raise the setting max_connections_per_address of [openflow]"
            )
        elif offences is not None and offences.is_spent(now_s):
            refused = (
                f"more than one of its connections in {1 / OFFENCES.per_s:g} s had no handshake or sent what is refused"
            )
        else:
            self.of_address[address] = here + 1
            self.n_open += 1
            return ""
        self.n_refused += 1
        return f"a connection from {address} is refused: {refused}, or find out what it is"

    def ended(self, address: str) -> None:
        """A connection from an address that was not refused has ended."""
        self.n_open -= 1
        self.of_address[address] -= 1
        if not self.of_address[address]:
            del self.of_address[address]


_NUMBER = whole_between(1, 1_000_000)
OPENFLOW = SettingGroup(
    "openflow",
    "ARMOR_OPENFLOW_",
    (
        Setting("max_connections", _NUMBER, "2048", "OpenFlow connections that may be open"),
        Setting("max_connections_per_address", _NUMBER, "1024", "OpenFlow connections of one address"),
    ),
    ConnectionLimits,
)
