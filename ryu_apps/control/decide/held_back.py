"""Port changes that come while a switch still describes its ports: which of them wait until it has.

They are applied after the description. A port's last change decides its state, and an earlier "down" is a failure that
nobody may miss; changes between them are left out. So few wait, however many a switch sends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ryu_apps.control.decide.live_topology import MAX_UNEXPECTED_PORTS
from ryu_apps.openflow.messages import PortStatus

HeldBack = Mapping[int, tuple[PortStatus, ...]]
"""At most two changes of each port: the last, and before a port that is live again the last that was not."""


def held_back(held: HeldBack, status: PortStatus, port_nos: Collection[int]) -> HeldBack:
    """What waits after one more change.

    Parameters
    ----------
    port_nos
        Ports that the topology gives the switch. Of others, one more than are kept may wait, so that the switch is
        named as one that has too many.
    """
    port_no = status.port.port_no
    if port_no not in held and port_no not in port_nos and len(held.keys() - set(port_nos)) > MAX_UNEXPECTED_PORTS:
        return held
    downs = [before for before in held.get(port_no, ()) if not before.is_live]
    return {**held, port_no: (*downs[-1:], status) if status.is_live else (status,)}


def in_order(held: HeldBack) -> Iterable[PortStatus]:
    """The changes that wait, in the order in which each port sent them."""
    return (status for statuses in held.values() for status in statuses)
